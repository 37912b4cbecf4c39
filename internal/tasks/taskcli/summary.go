package taskcli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
)

// Summary is what every view says about a task: the list and the bar on a terminal, the pages of the
// dashboard, the report for an agent. Its texts are safe to show.
type Summary struct {
	ID, Name, Status string
	Steps, Done      int // of the plan; Steps is 0 if a model chooses the calls
	Calls            int
	Last             time.Time
	Why              string      // it stopped, or cannot be read
	State            *task.State // nil if the log cannot be read
}

// Summarize returns the summary of a task. active reports whether a process runs it.
func Summarize(id string, s *task.State, active bool) Summary {
	out := Summary{ID: id, Name: s.Quote(s.Plan.Name), Status: Status(s, active), Steps: len(s.Plan.Steps), Calls: len(s.Calls), Last: s.Changed, State: s}
	out.Done = out.Steps - len(s.Remaining())
	if s.Stopped != nil && !active {
		out.Why = s.Passage(s.Stopped.Message)
	}
	return out
}

// SummarizeListed returns the summary of a task in a list.
func SummarizeListed(one taskrun.Listed, active bool) Summary {
	if one.State == nil {
		return Summary{ID: one.ID, Status: one.Trouble(), Last: one.Last, Why: redact.Passage(one.Err.Error())}
	}
	return Summarize(one.ID, one.State, active)
}

// List writes all tasks as a table, or as a line of JSON each.
func List(w io.Writer, all []taskrun.Listed, asJSON bool) error {
	if len(all) == 0 && !asJSON {
		_, err := fmt.Fprintln(w, "No tasks yet. Run one with:\n  gauze task run FILE")
		return err
	}
	rows := [][]string{{"ID", "STATUS", "CALLS", "LAST CHANGE"}}
	for _, one := range all {
		s, calls, last := SummarizeListed(one, one.Active), "-", "-"
		if asJSON {
			if err := plaintext.WriteJSON(w, listedJSON(one, s)); err != nil {
				return err
			}
			continue
		}
		if s.State != nil {
			calls = fmt.Sprint(s.Calls)
		}
		if !one.Last.IsZero() {
			last = one.Last.Local().Format(time.DateTime)
		}
		rows = append(rows, []string{s.ID, s.Status, calls, last})
	}
	if asJSON {
		return nil
	}
	text, _ := terminal.Table(rows, nil)
	_, err := io.WriteString(w, text)
	return err
}

func listedJSON(one taskrun.Listed, s Summary) Task {
	if s.State == nil {
		return Task{ID: s.ID, Status: s.Status, Changed: s.Last, Error: s.Why}
	}
	return Shown(Ref{ID: s.ID}, s.State, one.Active)
}

// Bar returns how far a task is, on one line, or nothing if it is not running.
func Bar(state *task.State) string {
	const width = 24
	if state.Done != nil || state.Stopped != nil {
		return ""
	}
	s := Summarize("", state, true)
	text := plaintext.Count(s.Calls, "call")
	if s.Steps > 0 {
		full := s.Done * width / s.Steps
		text = fmt.Sprintf("[%s%s] %d of %s", strings.Repeat("#", full), strings.Repeat(".", width-full), s.Done, plaintext.Count(s.Steps, "step"))
	}
	if n := s.Calls; n > 0 && state.Calls[n-1].Outcome == nil {
		text += "  " + strings.TrimSuffix(state.Line(state.Calls[n-1]), "  outcome unknown")
	}
	return text
}
