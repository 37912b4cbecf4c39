package agenttools

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// TaskReport is a task as it is now.
type TaskReport struct {
	ID        string     `json:"id"`
	State     string     `json:"state"`
	Steps     int        `json:"steps,omitempty"` // of the plan
	StepsDone int        `json:"steps_done,omitempty"`
	Remaining []string   `json:"remaining,omitempty"`
	Why       string     `json:"why,omitempty"`      // it stopped, with the diagnosis and the remedy
	Calls     []TaskCall `json:"calls,omitempty"`    // the latest, with their results
	Timeline  []string   `json:"timeline,omitempty"` // the latest entries
	Next      string     `json:"next,omitempty"`
}

// TaskFound is the result of get_task.
type TaskFound struct {
	Task TaskReport `json:"task" jsonschema:"state: running, done, server-dead, needs-decision, needs-person, failed, stuck, budget-spent, model-unavailable, tool-changed, interrupted or killed"`
}

func (f TaskFound) text() string { return f.Task.text() }

// TaskCall is one call of a task.
type TaskCall struct {
	Step    string `json:"step,omitempty"`
	Item    int    `json:"item,omitempty"`
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Outcome string `json:"outcome"`
	Said    string `json:"said,omitempty"`
	Cut     bool   `json:"cut,omitempty"`
	Healed  string `json:"healed,omitempty"`
}

// TaskRun is the result of run_task and resume_task.
type TaskRun struct {
	ActionStatus
	Task *TaskReport `json:"task,omitempty" jsonschema:"as in get_task"`
}

func (r TaskRun) text() string {
	if r.Task == nil {
		return r.ActionStatus.text()
	}
	return r.Task.text()
}

// Limits of a report.
const (
	maxReportedCalls = 50
	maxReportedLines = 50
	maxSaid          = 2000      // bytes of each result
	maxSaidAll       = 32 << 10  // bytes of all results
	maxSaidOne       = 100 << 10 // bytes of the results of one step, if only that is asked for
)

// reportTask reports on a task, or on the calls of one step.
func (c *call) reportTask(id, step string) (*TaskReport, error) { return c.reportRun(id, step, 0) }

// reportRun reports on a task as a run left it, or as it is now if number is 0.
func (c *call) reportRun(id, step string, number int) (*TaskReport, error) {
	store, err := c.service.tasks.open()
	if err != nil {
		return nil, err
	}
	if entries, err := store.Entries(c.ctx, id); len(entries) == 0 {
		return nil, err
	}
	run := c.service.tasks.last(id)
	active := run != nil && run.Running() || run == nil && store.Running(id) // before the entries: its last ones are among them
	entries, err := store.Entries(c.ctx, id)
	if number > 0 {
		if run != nil && run.number != number {
			run, active = nil, false
		}
		runs := runsIn(entries)
		active = active && number == len(runs)
		entries = entries[:runs[min(number, len(runs))-1].end]
	}
	state, foldErr := task.Fold(entries)
	if foldErr != nil {
		return nil, errors.Join(err, foldErr)
	}
	active = active && (number == 0 || state.Stopped == nil)
	now := taskcli.Summarize(id, state, active)
	out := &TaskReport{ID: id, State: now.Status, Steps: now.Steps, StepsDone: now.Done, Remaining: limited(state.Remaining()), Why: whyOf(state, active)}
	if err != nil {
		out.Why = redact.Passage(err.Error()) // a damaged log
	} else if run != nil && !active && run.Err() != nil {
		out.Why = redact.Passage(run.Err().Error())
	}
	out.Calls = callsOf(state, step)
	if step == "" {
		out.Timeline = timelineOf(state, entries)
	}
	if out.Next = nextOf(id, out.State, step); !active && state.Done == nil && !state.Resumable() {
		out.Next = "it would stop in the same way again: tell the user why, correct the plan and call run_task"
	}
	return out, nil
}

func whyOf(s *task.State, active bool) string {
	switch {
	case s.Done != nil:
		return s.Passage(s.Done.Summary)
	case s.Stopped == nil || active:
		return ""
	}
	parts := []string{s.Stopped.Message}
	if !s.Stopped.Since.IsZero() {
		parts = append(parts, "It has been unavailable since "+s.Stopped.Since.Format(time.RFC3339)+".")
	}
	for _, more := range []string{s.Stopped.Diagnosis, s.Stopped.Remedy} {
		if more != "" {
			parts = append(parts, more)
		}
	}
	return s.Passage(strings.Join(parts, " "))
}

// callsOf returns the latest calls, or those of a step.
func callsOf(s *task.State, step string) (all []TaskCall) {
	each, left := maxSaid, maxSaidAll
	if step != "" {
		each, left = maxSaidOne, maxSaidOne
	}
	for i := len(s.Calls) - 1; i >= 0 && len(all) < maxReportedCalls; i-- {
		c := s.Calls[i]
		if step != "" && c.Step != step {
			continue
		}
		one := TaskCall{Step: s.Quote(c.Step), Item: c.Item, Server: s.Quote(c.Server), Tool: s.Quote(c.Tool), Outcome: "unknown"}
		switch {
		case c.Decision != "":
			one.Outcome = "decided: " + c.Decision
		case c.Outcome != nil:
			one.Outcome, one.Healed = string(c.Outcome.Status), strings.Join(c.Outcome.Healed, ", ")
			said := saidIn(s, c.Outcome)
			one.Said = plaintext.Cap(said, max(0, min(each, left)))
			one.Cut = len(one.Said) < len(said) || c.Outcome.TooLarge > 0
			left -= len(one.Said)
		}
		all = append([]TaskCall{one}, all...)
	}
	return all
}

// saidIn returns the text of a result, line by line without what cannot be seen.
func saidIn(s *task.State, o *task.Outcome) string {
	text := o.Text
	if text == "" {
		text = string(o.JSON)
	}
	var lines []string
	for line := range strings.Lines(plaintext.Cap(text, 2*maxSaidOne)) {
		lines = append(lines, s.Hide(plaintext.Clean(line)))
	}
	return strings.Join(lines, "\n")
}

func timelineOf(s *task.State, entries []task.Entry) (lines []string) {
	for i := len(entries) - 1; i >= 0 && len(lines) < maxReportedLines; i-- {
		if text := s.Describe(entries[i]); text != "" {
			lines = append([]string{entries[i].Time.UTC().Format(time.TimeOnly) + " " + s.Quote(text)}, lines...)
		}
	}
	return lines
}

// nextOf says what to do about a task in this state.
func nextOf(id, state, step string) string {
	resume := fmt.Sprintf("call resume_task with {\"id\": %q}", id)
	switch state {
	case task.StatusDone:
		if step == "" {
			return "the results are in calls; call get_task with step for a truncated result"
		}
		return ""
	case task.StatusRunning:
		return fmt.Sprintf("call get_task with {\"id\": %q, \"wait_seconds\": 30}", id)
	case string(task.NeedsDecision):
		return fmt.Sprintf("ask the user whether the last call took effect, then call resume_task with {\"id\": %q, \"decision\": \"done\"}, \"repeat\" or \"skip\"", id)
	case string(task.NeedsPerson):
		return "tell the user what is required; once it is done, " + resume
	case string(task.ServerDead):
		return "tell the user; heal_server may repair a configured server; once it works, " + resume
	}
	return "tell the user why it stopped; to continue, " + resume
}

func (r TaskReport) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", r.ID, r.State)
	if r.Steps > 0 {
		fmt.Fprintf(&b, ", %d of %s done", r.StepsDone, plural(r.Steps, "step"))
	}
	if r.Why != "" {
		b.WriteString("\n" + r.Why)
	}
	for _, line := range r.Timeline {
		b.WriteString("\n" + line)
	}
	for _, c := range r.Calls {
		name := c.Step
		if name == "" {
			name = c.Tool
		}
		fmt.Fprintf(&b, "\n%s: %s", name, c.Outcome)
		if c.Said != "" {
			b.WriteString(": " + c.Said)
		}
		if c.Cut {
			b.WriteString(" [cut]")
		}
	}
	if r.Next != "" {
		b.WriteString("\nnext: " + r.Next)
	}
	return b.String()
}

// taskFailure returns an error of the journal with the next step in terms of these tools.
func taskFailure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, taskrun.ErrRunning):
		return failure("the task is already running in another process", "call get_task to see its progress")
	}
	return err
}
