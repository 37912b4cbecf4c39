package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/task"
	"github.com/gauze-mcp/gauze/internal/taskrun"
)

// taskJSON is a task as --json prints it. Fields are only ever added.
type taskJSON struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Goal      string        `json:"goal,omitempty"`
	Status    string        `json:"status"`
	Exit      int           `json:"exit_status"`
	Resume    string        `json:"resume,omitempty"` // the command that continues
	Steps     int           `json:"steps,omitempty"`
	Remaining []string      `json:"remaining,omitempty"`
	NumCalls  int           `json:"calls"`
	Tokens    int           `json:"tokens,omitempty"`
	Cost      float64       `json:"cost,omitempty"`
	Started   time.Time     `json:"started"`
	Changed   time.Time     `json:"changed"`
	Stopped   *task.Stopped `json:"stopped,omitempty"`
	Summary   string        `json:"summary,omitempty"`
	Timeline  []taskEvent   `json:"timeline,omitempty"`
	Error     string        `json:"error,omitempty"`
}

// taskEvent is one entry of the timeline.
type taskEvent struct {
	Time time.Time       `json:"time"`
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data,omitempty"`
}

// shownTask returns a task for --json.
func shownTask(id string, s *task.State, active bool) taskJSON {
	out := taskJSON{
		ID: id, Name: s.Plan.Name, Goal: s.Plan.Goal, Status: s.Status(), Exit: s.ExitStatus(), Steps: len(s.Plan.Steps), NumCalls: len(s.Calls),
		Tokens: s.Spent.Tokens, Cost: s.Spent.Cost, Started: s.Begun, Changed: s.Changed, Stopped: s.Stopped,
	}
	if s.Done != nil {
		out.Summary = s.Done.Summary
		return out
	}
	out.Remaining = s.Remaining()
	out.Status = statusOf(s, active)
	if !active {
		out.Resume = "gauze task resume " + id
	}
	return out
}

// statusOf returns the status of a task: one that says it runs, but that no process runs, was
// killed.
func statusOf(s *task.State, active bool) string {
	if s.Status() == task.StatusRunning && !active {
		return "killed"
	}
	if s.Stopped != nil && active {
		return task.StatusRunning
	}
	return s.Status()
}

func taskListCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all tasks, newest first",
		Long:    "List all tasks, newest first. A task that no process runs and that did not write why it\nstopped was killed; it can be resumed like any other.",
		Example: "gauze task list\ngauze task list --json",
		Args:    cobra.NoArgs,
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
		shown := taskJSON{ID: one.ID, Status: "unreadable", Changed: one.Last}
		if one.State != nil {
			shown = shownTask(one.ID, one.State, one.Active)
		} else {
			shown.Error = redact.Passage(one.Err.Error())
		}
		if _, err := w.Write(jsonLine(shown)); err != nil {
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
		status, calls := "unreadable", "-"
		if one.State != nil {
			status, calls = statusOf(one.State, one.Active), fmt.Sprint(len(one.State.Calls))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", one.ID, status, calls, one.Last.Local().Format("2006-01-02 15:04:05"))
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
		Args:    cobra.ExactArgs(1),
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
	entries, damage := s.Entries(ctx, id)
	if len(entries) == 0 {
		return damage
	}
	state, err := task.Fold(entries)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON {
		shown := shownTask(id, state, s.Running(id))
		for _, e := range entries {
			shown.Timeline = append(shown.Timeline, taskEvent{e.Time, e.Kind, e.Data})
		}
		_, err = out.Write(jsonLine(shown))
	} else {
		_, err = io.WriteString(out, timeline(id, state, entries)+state.Report(id, time.Now()))
	}
	if err != nil {
		return err
	}
	return damage
}

// timeline returns the entries of a task as text.
func timeline(id string, state *task.State, entries []task.Entry) string {
	text := fmt.Sprintf("%s  %s\n", id, redact.Quote(state.Plan.Name))
	at := func(e task.Entry, format string, args ...any) {
		text += e.Time.Local().Format("15:04:05") + "  " + fmt.Sprintf(format, args...) + "\n"
	}
	for _, e := range entries {
		switch e.Kind {
		case task.KindStarted:
			at(e, "started")
		case task.KindResumed:
			at(e, "resumed")
		case task.KindDone:
			at(e, "done")
		case task.KindStopped:
			var d task.Stopped
			_ = json.Unmarshal(e.Data, &d) // Fold has read it
			at(e, "stopped: %s", d.Why)
		case task.KindDecided:
			var d task.Decided
			_ = json.Unmarshal(e.Data, &d)
			at(e, "decided about call %d: %s", d.Call, d.Decision)
		case task.KindVerdict:
			var d task.Judged
			_ = json.Unmarshal(e.Data, &d)
			at(e, "! %s is %s: %s (%s)", d.Server, d.Health, redact.Passage(d.Reason), d.Action)
		case task.KindChosen:
			var d task.Chosen
			_ = json.Unmarshal(e.Data, &d)
			at(e, "the model chose %s: %s", d.Action, redact.Passage(d.Reason))
		case task.KindOutcome:
			var d task.Outcome
			_ = json.Unmarshal(e.Data, &d)
			at(e, "%s %s", marks[d.Status], callLine(state.Calls[d.Call-1]))
		case task.KindIntent:
			var d task.Intent
			_ = json.Unmarshal(e.Data, &d)
			if c := state.Calls[d.Call-1]; c.Outcome == nil {
				at(e, "? %s", callLine(c))
			}
		}
	}
	return text
}
