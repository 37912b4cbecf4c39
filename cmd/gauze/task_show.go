package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/task"
	"github.com/gauze-mcp/gauze/internal/taskcli"
	"github.com/gauze-mcp/gauze/internal/taskrun"
)

func taskListCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all tasks, newest first",
		Long:    "List all tasks, newest first. A task that no process runs and that did not write why it\nstopped was killed; it can be resumed like any other. One whose log lost entries is damaged:\ngauze task show says what is missing, and gauze task rm removes it.",
		Example: "gauze task list\ngauze task list --json",
		Args:    atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withTask(cmd, func(ctx context.Context, s *taskrun.Store) error {
				all, err := s.List(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return listTasksJSON(cmd.OutOrStdout(), all)
				}
				return listTasks(cmd.OutOrStdout(), all)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for each task")
	return cmd
}

func listTasksJSON(w io.Writer, all []taskrun.Listed) error {
	for _, one := range all {
		shown := taskcli.Task{ID: one.ID, Status: one.Trouble(), Changed: one.Last}
		if one.State != nil {
			shown = taskcli.Shown(taskcli.Ref{ID: one.ID}, one.State, one.Active)
		} else {
			shown.Error = redact.Passage(one.Err.Error())
		}
		if err := taskcli.WriteJSON(w, shown); err != nil {
			return err
		}
	}
	return nil
}

func listTasks(w io.Writer, all []taskrun.Listed) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "No tasks yet. Run one with:\n  gauze task run FILE")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATUS\tCALLS\tLAST CHANGE")
	for _, one := range all {
		status, calls, last := one.Trouble(), "-", "-"
		if one.State != nil {
			status, calls = taskcli.Status(one.State, one.Active), fmt.Sprint(len(one.State.Calls))
		}
		if !one.Last.IsZero() {
			last = one.Last.Local().Format(time.DateTime)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", one.ID, status, calls, last)
	}
	return table.Flush()
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
