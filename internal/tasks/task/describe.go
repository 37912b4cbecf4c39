package task

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
)

// Describe returns an entry as one line for a person, or nothing if it says nothing new. s is a state
// after the entry.
func (s *State) Describe(e Entry) string {
	switch e.Kind {
	case KindStarted, KindResumed, KindDone:
		return e.Kind
	case KindReplanned:
		return "continued with a corrected file"
	case KindStopped:
		d := known[Stopped](e)
		return fmt.Sprintf("stopped: %s", d.Why)
	case KindDecided:
		d := known[Decided](e)
		return fmt.Sprintf("decision for call %d: %s", d.Call, d.Decision)
	case KindVerdict:
		d := known[Judged](e)
		action := d.Action
		if d.By == verdict.ByModel {
			action += ", decided by the model"
		}
		return fmt.Sprintf("! %s is %s: %s (%s)", s.Quote(d.Server), d.Health, s.Quote(d.Reason), action)
	case KindChosen:
		d := known[Chosen](e)
		return fmt.Sprintf("the model chose %s: %s", d.Action, s.Quote(d.Reason))
	case KindOutcome:
		d := known[Outcome](e)
		return marks[d.Status] + " " + s.Line(s.Calls[d.Call-1])
	case KindIntent:
		d := known[Intent](e)
		if c := s.Calls[d.Call-1]; c.Outcome == nil {
			return "? " + s.Line(c)
		}
	}
	return ""
}

// known decodes the data of an entry that was applied, which has shown that it can be decoded.
func known[T any](e Entry) (data T) {
	_ = json.Unmarshal(e.Data, &data)
	return data
}

var marks = map[Status]string{OK: "✓", Failed: "✗", Lost: "?"}

// Line describes a call on one line.
func (s *State) Line(c *Call) string {
	name := c.Step
	if name == "" {
		name = fmt.Sprintf("call %d", c.Call)
	} else if c.Item > 0 {
		name += fmt.Sprintf("[%d]", c.Item)
	}
	text := fmt.Sprintf("%s  %s/%s", s.Quote(name), s.Quote(c.Server), s.Quote(c.Tool))
	if c.Attempt > 1 {
		text += fmt.Sprintf("  attempt %d", c.Attempt)
	}
	if c.Outcome == nil {
		return text + "  outcome unknown"
	}
	text += "  " + c.Outcome.Took.Round(time.Millisecond).String()
	if len(c.Outcome.Healed) > 0 {
		text += "  " + strings.Join(c.Outcome.Healed, ", ")
	}
	if c.Outcome.Status != OK {
		first, _, _ := strings.Cut(strings.TrimSpace(c.Outcome.told()), "\n")
		text += "  " + s.Quote(first)
	}
	return text
}
