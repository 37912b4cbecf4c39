package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/task"
)

// view prints tasks.
type view struct {
	at   *cluster
	json bool
}

func (v *view) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&v.json, "json", false, "print the task as JSON, and report no progress")
}

// shown is a task as --json prints it, with the names that gauze task show --json uses.
type shown struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Status    string        `json:"status"`
	Exit      int           `json:"exit_status"`
	Resume    string        `json:"resume,omitempty"`
	Remaining []string      `json:"remaining,omitempty"`
	NumCalls  int           `json:"calls"`
	Started   time.Time     `json:"started"`
	Changed   time.Time     `json:"changed"`
	Stopped   *task.Stopped `json:"stopped,omitempty"`
	Timeline  []task.Entry  `json:"timeline,omitempty"`
}

func (v *view) shown(id string, s *task.State, timeline []task.Entry) shown {
	out := shown{ID: id, Name: s.Plan.Name, Status: s.Status(), Exit: s.ExitStatus(), NumCalls: len(s.Calls),
		Started: s.Begun, Changed: s.Changed, Stopped: s.Stopped, Timeline: timeline}
	if s.Done == nil {
		out.Remaining, out.Resume = s.Remaining(), v.resume(id)
	}
	return out
}

// resume returns the command that continues a task.
func (v *view) resume(id string) string { return v.command("resume") + id }

// command returns the start of a command that finds the task again.
func (v *view) command(name string) string {
	text := "gauze-temporal task " + name
	if v.at.address != "" {
		text = "gauze task " + name + " --temporal " + v.at.address
	}
	if v.at.namespace != "" {
		text += " --namespace " + v.at.namespace
	}
	return text + " "
}

// report prints how a task ended, with the commands for the cluster, and returns its exit status.
func (v *view) report(cmd *cobra.Command, id string, s *task.State) error {
	text := v.words(id, s)
	if v.json {
		if err := json.NewEncoder(cmd.OutOrStdout()).Encode(v.shown(id, s, nil)); err != nil {
			return err
		}
		text = ""
		if s.Done == nil {
			text = v.resume(id) + "\n"
		}
	}
	if _, err := io.WriteString(cmd.ErrOrStderr(), text); err != nil {
		return err
	}
	if status := s.ExitStatus(); status != 0 {
		return exitStatus(status)
	}
	return nil
}

// words returns the report of a task.
func (v *view) words(id string, s *task.State) string {
	return strings.NewReplacer("gauze task resume ", v.command("resume"), "gauze task decide ", v.command("decide")).Replace(s.Report(id, time.Now()))
}

// show prints the timeline and the report.
func (v *view) show(cmd *cobra.Command, id string, entries []task.Entry) error {
	s, err := task.Fold(entries)
	if err != nil {
		return err
	}
	if v.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(v.shown(id, s, entries))
	}
	text := fmt.Sprintf("%s  %s\n", id, redact.Quote(s.Plan.Name))
	for _, e := range entries {
		if line := describe(s, e); line != "" {
			text += e.Time.Local().Format(time.TimeOnly) + "  " + line + "\n"
		}
	}
	_, err = io.WriteString(cmd.OutOrStdout(), text+v.words(id, s))
	return err
}

// tell returns a function that reports new entries, and once that no worker answers.
func (v *view) tell(cmd *cobra.Command) func(*task.State, []task.Entry, error) {
	if v.json {
		return nil
	}
	warned := false
	return func(s *task.State, entries []task.Entry, err error) {
		if err != nil && !warned {
			warned = true
			fmt.Fprintf(cmd.ErrOrStderr(), "gauze: still waiting: %v\n", err)
		}
		for _, e := range entries {
			if line := describe(s, e); line != "" && e.Kind != task.KindDone && e.Kind != task.KindStopped {
				fmt.Fprintln(cmd.ErrOrStderr(), line)
			}
		}
	}
}

// describe returns one entry as a line, or nothing.
func describe(s *task.State, e task.Entry) string {
	switch e.Kind {
	case task.KindStarted, task.KindResumed, task.KindDone:
		return e.Kind
	case task.KindStopped:
		return "stopped: " + string(dataOf[task.Stopped](e).Why)
	case task.KindDecided:
		d := dataOf[task.Decided](e)
		return fmt.Sprintf("decided about call %d: %s", d.Call, d.Decision)
	case task.KindVerdict:
		d := dataOf[task.Judged](e)
		return fmt.Sprintf("! %s is %s: %s (%s)", d.Server, d.Health, redact.Passage(d.Reason), d.Action)
	case task.KindChosen:
		d := dataOf[task.Chosen](e)
		return fmt.Sprintf("the model chose %s: %s", d.Action, redact.Passage(d.Reason))
	case task.KindOutcome:
		d := dataOf[task.Outcome](e)
		c := s.Calls[d.Call-1]
		line := fmt.Sprintf("call %d  %s  %s/%s  %s  %s", d.Call, c.Step, c.Server, redact.Quote(c.Tool), d.Status, d.Took.Round(time.Millisecond))
		if d.Status != task.OK {
			first, _, _ := strings.Cut(d.Text, "\n")
			line += "  " + redact.Quote(first)
		}
		return line
	}
	return ""
}

// dataOf returns the data of an entry that Fold has read.
func dataOf[T any](e task.Entry) (data T) {
	_ = json.Unmarshal(e.Data, &data)
	return data
}
