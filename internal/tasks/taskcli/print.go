package taskcli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// ExitStatuses documents the exit statuses of commands that run a task.
const ExitStatuses = "Exit status: 0 if the task is done, 1 if it failed, is stuck, has no model or has spent its\n" +
	"budget, 2 for invalid usage, an invalid file, an unknown task or an unusable journal, 3 if a\n" +
	"server is dead, 4 if you must decide or act, 130 if it was interrupted. The last line on\n" +
	"stderr is the command that resumes the task, if it can be resumed."

// Ref is how a command line names a task.
type Ref struct {
	Flags string // that find the task, such as --temporal HOST:PORT; empty for tasks of this machine
	ID    string
}

// String returns the arguments that name the task.
func (r Ref) String() string { return strings.TrimPrefix(r.Flags+" "+r.ID, " ") }

// Resume returns the command that continues the task.
func (r Ref) Resume() string { return "gauze task resume " + r.String() }

// Task is a task as --json prints it. Fields are only ever added.
type Task struct {
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
	Timeline  []Event       `json:"timeline,omitempty"`
	Error     string        `json:"error,omitempty"`
}

// Event is one entry of the timeline.
type Event struct {
	Time time.Time       `json:"time"`
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Shown returns a task for --json. active reports whether a process or a cluster runs it.
func Shown(ref Ref, s *task.State, active bool) Task {
	out := Task{
		ID: ref.ID, Name: s.Hide(s.Plan.Name), Goal: s.Hide(s.Plan.Goal), Status: Status(s, active), Exit: s.ExitStatus(), Steps: len(s.Plan.Steps), NumCalls: len(s.Calls),
		Tokens: s.Spent.Tokens, Cost: s.Spent.Cost, Started: s.Begun, Changed: s.Changed, Stopped: s.StoppedHidden(),
	}
	if s.Done != nil {
		out.Summary = s.Hide(s.Done.Summary)
		return out
	}
	out.Remaining = s.Remaining()
	if !active && s.Resumable() {
		out.Resume = ref.Resume()
	}
	return out
}

// Status returns the status of a task: one that says it runs, but that is not active, was killed.
func Status(s *task.State, active bool) string {
	switch {
	case s.Status() == task.StatusRunning && !active:
		return "killed"
	case s.Stopped != nil && active:
		return task.StatusRunning
	}
	return s.Status()
}

// Begin writes the id of a task that is about to run: if the command is killed, nothing else says it.
func Begin(stderr io.Writer, id string) {
	_, _ = fmt.Fprintf(stderr, "Task %s begins.\n", id) // the task does not need a reader
}

// Report writes how a task ended: for people to stderr, as JSON to stdout. The last line on stderr is
// the command that resumes the task, if it can be resumed.
func Report(stdout, stderr io.Writer, ref Ref, s *task.State, asJSON bool) error {
	text := s.Report(ref.String(), time.Now())
	if asJSON {
		if err := plaintext.WriteJSON(stdout, Shown(ref, s, false)); err != nil {
			return err
		}
		text = ""
		if s.Resumable() {
			text = ref.Resume() + "\n"
		}
	}
	_, _ = io.WriteString(stderr, text) // the status of the task counts, also if its terminal is gone
	return nil
}

// Show writes a task with its timeline, without secrets in it.
func Show(w io.Writer, ref Ref, s *task.State, entries []task.Entry, active, asJSON bool) error {
	if asJSON {
		shown := Shown(ref, s, active)
		for _, e := range entries {
			shown.Timeline = append(shown.Timeline, Event{e.Time, e.Kind, redact.JSON(e.Data, s.Hide)})
		}
		return plaintext.WriteJSON(w, shown)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", ref.ID, s.Quote(s.Plan.Name))
	for _, e := range entries {
		_ = Entry(&b, s, e, false) // a Builder does not fail
	}
	_, err := io.WriteString(w, b.String()+s.Report(ref.String(), time.Now()))
	return err
}

// Entry writes one entry of the timeline, unless it says nothing new.
func Entry(w io.Writer, s *task.State, e task.Entry, asJSON bool) (err error) {
	if asJSON {
		return plaintext.WriteJSON(w, Event{e.Time, e.Kind, redact.JSON(e.Data, s.Hide)})
	}
	if line := s.Describe(e); line != "" {
		_, err = fmt.Fprintf(w, "%s  %s\n", e.Time.Local().Format(time.TimeOnly), line)
	}
	return err
}

// Progress returns what a command that runs a task prints about a new entry, or nothing.
func Progress(s *task.State, e task.Entry) string {
	if e.Kind == task.KindOutcome || e.Kind == task.KindVerdict {
		return s.Describe(e)
	}
	return ""
}
