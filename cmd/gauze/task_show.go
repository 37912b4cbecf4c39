package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
)

func taskListCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all tasks, newest first",
		Long:    "List all tasks, newest first. A task that is not running and did not record why it\nstopped was killed; it can be resumed like any other. A task whose log lost entries is damaged:\ngauze task show says what is missing, and gauze task rm removes it.",
		Example: "gauze task list\ngauze task list --json",
		Args:    atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withTask(cmd, func(ctx context.Context, s *taskrun.Store) error {
				all, err := s.List(ctx)
				if err != nil {
					return err
				}
				return taskcli.List(cmd.OutOrStdout(), all, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for each task")
	return cmd
}

func taskShowCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "show [flags] ID",
		Short:   "Show what a task did, what was healed, and why it stopped",
		Long:    "Show the timeline of a task: every call with its attempts, what gauze repaired, verdicts\nabout servers, and why the task stopped.",
		Example: "gauze task show weekly-report-k3x7qa",
		Args:    oneTask,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTask(cmd, func(ctx context.Context, s *taskrun.Store) error {
				return showTask(ctx, cmd, s, args[0], asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the task and its timeline as JSON")
	return cmd
}

// showTask prints a task. Of a damaged one it prints what is intact, and returns the error.
func showTask(ctx context.Context, cmd *cobra.Command, s *taskrun.Store, id string, asJSON bool) error {
	if entries, err := s.Entries(ctx, id); len(entries) == 0 {
		return err
	}
	active := s.Running(id) // before the entries: its last ones are among them
	entries, damage := s.Entries(ctx, id)
	state, err := task.Fold(entries)
	if err != nil {
		return err
	}
	if err := taskcli.Show(cmd.OutOrStdout(), taskcli.Ref{ID: id}, state, entries, active, asJSON); err != nil {
		return err
	}
	return damage
}
