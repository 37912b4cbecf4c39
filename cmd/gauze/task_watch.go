package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
)

// taskProgress shows a task while it runs: a line for each call that ended and, on a terminal, a bar
// below them.
type taskProgress struct {
	w    io.Writer
	show func(string) // replaces the line of the bar
}

func newTaskProgress(w io.Writer, quiet bool) *taskProgress {
	if quiet {
		w = io.Discard
	}
	return &taskProgress{w, terminal.Progress(w, quiet)}
}

// tell shows an entry.
func (p *taskProgress) tell(state *task.State, e task.Entry) {
	if line := taskcli.Progress(state, e); line != "" {
		p.line(line)
	}
	p.show(taskcli.Bar(state))
}

// line prints a line above the bar.
func (p *taskProgress) line(text string) {
	p.end()
	fmt.Fprintln(p.w, text)
}

// end removes the bar.
func (p *taskProgress) end() { p.show("") }

func taskWatchCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "watch [flags] ID",
		Short: "Follow a task that is running in another process",
		Long: "Show what a task has done and is doing, until it stops. Ctrl-C stops the\n" +
			"output, not the task. The exit status is that of the task.",
		Example: "gauze task watch weekly-report-k3x7qa\n" +
			"gauze task watch --json weekly-report-k3x7qa",
		Args: oneTask,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTask(cmd, func(ctx context.Context, s *taskrun.Store) error {
				ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
				defer stop()
				return watchTask(ctx, cmd, s, args[0], asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each entry as a JSON object, and the task at the end")
	return cmd
}

// watchInterval is how often the journal is read for new entries.
const watchInterval = 200 * time.Millisecond

// watchTask shows the entries of a task until no process runs it.
func watchTask(ctx context.Context, cmd *cobra.Command, s *taskrun.Store, id string, asJSON bool) error {
	out, progress := cmd.OutOrStdout(), newTaskProgress(cmd.ErrOrStderr(), asJSON)
	look := time.NewTicker(watchInterval)
	defer look.Stop()
	if _, err := s.Entries(ctx, id); err != nil {
		return err
	}
	var state *task.State
	for shown := 0; ; {
		active := s.Running(id) // before the entries: its last ones are among them
		entries, err := s.Entries(ctx, id)
		if ctx.Err() != nil {
			progress.end()
			return interrupted
		}
		if err != nil {
			return err
		}
		if state, err = task.Fold(entries); err != nil {
			return err
		}
		for _, e := range entries[min(shown, len(entries)):] {
			progress.end()
			if err := taskcli.Entry(out, state, e, asJSON); err != nil {
				return err
			}
		}
		shown = len(entries)
		if !active {
			break
		}
		progress.show(taskcli.Bar(state))
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
	progress.end()
	f := taskFlags{json: asJSON}
	return f.report(cmd, id, state)
}
