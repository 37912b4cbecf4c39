package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
)

func taskRemoveCommand() *cobra.Command {
	allDone := false
	cmd := &cobra.Command{
		Use:   "rm [flags] ID...",
		Short: "Remove tasks and their logs",
		Long: "Remove tasks and their logs. Running tasks are not removed. A removed task cannot be\n" +
			"shown or resumed.\n\n" +
			"gauze removes old tasks automatically when a new one starts: completed tasks after 30 days, and\n" +
			"all others 180 days after they last ran.",
		Example: "gauze task rm weekly-report-k3x7qa\ngauze task rm --all-done",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case allDone && len(args) > 0:
				return usage(cmd, errors.New("pass either --all-done or task IDs"))
			case !allDone && len(args) == 0:
				return usage(cmd, errors.New("missing ID: pass one shown by gauze task list, or --all-done"))
			}
			return withTask(cmd, func(ctx context.Context, s *taskrun.Store) error {
				if allDone {
					return removeDone(ctx, cmd, s)
				}
				return removeTasks(ctx, cmd, s, args)
			})
		},
	}
	cmd.Flags().BoolVar(&allDone, "all-done", false, "remove all completed tasks")
	return cmd
}

// removeTasks removes each task that it can, and returns the errors of the others.
func removeTasks(ctx context.Context, cmd *cobra.Command, s *taskrun.Store, ids []string) error {
	var failed []error
	for _, id := range ids {
		switch err := s.Remove(ctx, id); {
		case errors.Is(err, taskrun.ErrRunning):
			failed = append(failed, fmt.Errorf("the task %s is running. To stop it first:\n  gauze task stop %s", id, id))
		case err != nil:
			failed = append(failed, err)
		default:
			fmt.Fprintf(cmd.OutOrStdout(), "Removed %s.\n", id)
		}
	}
	return errors.Join(failed...)
}

func removeDone(ctx context.Context, cmd *cobra.Command, s *taskrun.Store) error {
	ids, err := s.RemoveDone(ctx)
	for _, id := range ids {
		fmt.Fprintf(cmd.OutOrStdout(), "Removed %s.\n", id)
	}
	if err == nil && len(ids) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "No completed tasks to remove.")
	}
	return err
}
