package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
)

// view prints the tasks of a cluster.
type view struct {
	at   *cluster
	json bool
}

func (v *view) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&v.json, "json", false, "print the task as JSON, without progress")
}

// report prints how a task ended, and returns its exit status.
func (v *view) report(cmd *cobra.Command, id string, s *task.State) error {
	if err := taskcli.Report(cmd.OutOrStdout(), cmd.ErrOrStderr(), v.at.ref(id), s, v.json); err != nil {
		return err
	}
	if status := s.ExitStatus(); status != 0 {
		return exitStatus(status)
	}
	return nil
}

// show prints the timeline and the report.
func (v *view) show(cmd *cobra.Command, id string, entries []task.Entry) error {
	s, err := task.Fold(entries)
	if err != nil {
		return err
	}
	return taskcli.Show(cmd.OutOrStdout(), v.at.ref(id), s, entries, s.Status() == task.StatusRunning, v.json)
}

// teller is told about new entries, and about each look without an answer.
type teller func(*task.State, []task.Entry, error)

// progress returns a function that reports calls on stderr.
func (v *view) progress(cmd *cobra.Command) teller {
	return v.waiting(cmd, func(s *task.State, e task.Entry) {
		if line := taskcli.Progress(s, e); line != "" && !v.json {
			fmt.Fprintln(cmd.ErrOrStderr(), line)
		}
	})
}

// follow returns a function that prints every entry on stdout.
func (v *view) follow(cmd *cobra.Command) teller {
	return v.waiting(cmd, func(s *task.State, e task.Entry) { _ = taskcli.Entry(cmd.OutOrStdout(), s, e, v.json) })
}

// waiting returns a function that reports once for each reason why nothing answers, and passes
// entries on.
func (v *view) waiting(cmd *cobra.Command, entry func(*task.State, task.Entry)) teller {
	said := ""
	return func(s *task.State, entries []task.Entry, err error) {
		switch {
		case err == nil:
			said = ""
		case v.at.explained(err).Error() != said && !v.json:
			said = v.at.explained(err).Error()
			fmt.Fprintf(cmd.ErrOrStderr(), "gauze: still waiting: %s\n", said)
		}
		for _, e := range entries {
			entry(s, e)
		}
	}
}
