package task

import (
	"fmt"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// Status names of a task that is not stopped.
const (
	StatusDone    = "done"
	StatusRunning = "running" // or ended without writing that it stopped
)

// Status returns how the task is doing, as one word.
func (s *State) Status() string {
	switch {
	case s.Done != nil:
		return StatusDone
	case s.Stopped != nil:
		return string(s.Stopped.Why)
	}
	return StatusRunning
}

// ExitStatus returns the status with which a command that ran the task exits.
func (s *State) ExitStatus() int {
	switch {
	case s.Done != nil:
		return 0
	case s.Stopped == nil:
		return 1
	}
	switch s.Stopped.Why {
	case ServerDead:
		return 3
	case NeedsDecision, NeedsPerson:
		return 4
	case Interrupted:
		return 130
	}
	return 1
}

// doneSteps counts the steps before the one the task is at.
func (s *State) doneSteps() int {
	if s.Done != nil {
		return len(s.Plan.Steps)
	}
	switch d := s.nextStep(); {
	case d.Intent != nil:
		return s.indexOf(d.Intent.Step)
	case d.Stop != nil:
		return s.indexOf(d.Stop.Step)
	}
	return len(s.Plan.Steps)
}

// Remaining returns the ids of the steps that are not done.
func (s *State) Remaining() (ids []string) {
	for _, step := range s.Plan.Steps[s.doneSteps():] {
		ids = append(ids, step.ID)
	}
	return ids
}

// maxListed limits the steps or tools that a message lists.
const maxListed = 8

// listed returns the first names of a list.
func listed(names []string) string {
	text := strings.Join(names[:min(len(names), maxListed)], ", ")
	if len(names) > maxListed {
		text += fmt.Sprintf(" and %d more", len(names)-maxListed)
	}
	return text
}

// Report returns what the user reads when the task ends: what happened, the diagnosis, what was
// done, what remains, and the command that continues. now is for durations.
func (s *State) Report(id string, now time.Time) string {
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if s.Done != nil {
		add("The task %q is done: %s.", s.Plan.Name, s.progress())
		if s.Done.Summary != "" {
			add("%s", s.Passage(s.Done.Summary))
		}
		return b.String()
	}
	stop := s.Stopped
	if stop == nil {
		add("The task %q is not complete: %s.", s.Plan.Name, s.progress())
	} else {
		add("%s", s.Passage(stop.Message))
		if !stop.Since.IsZero() {
			add("It has been unavailable since %s (%s).", stop.Since.Local().Format("15:04:05"), max(0, now.Sub(stop.Since)).Round(time.Second))
		}
		if stop.Diagnosis != "" {
			add("Reported: %s", s.Passage(stop.Diagnosis))
		}
		if stop.Remedy != "" {
			add("%s", s.Passage(stop.Remedy))
		}
		add("Done: %s.", s.progress())
		if rest := s.Remaining(); len(rest) > 0 {
			add("Remaining: %s.", listed(rest))
		}
		if stop.Why == NeedsDecision {
			add("Check whether it took effect, then run one of:")
			for _, decision := range Decisions {
				add("  gauze task decide %s %s", id, decision)
			}
		}
	}
	if !s.Resumable() {
		add("Resuming would not help: the step would fail in the same way. Correct it in")
		add("the file, then resume; completed steps are not repeated:")
		add("  gauze task resume --file FILE %s", id)
		return b.String()
	}
	if isDead := stop != nil && stop.Why == ServerDead; isDead && s.Plan.Servers[stop.Server].Configured == "" && !s.Plan.ByModel() {
		add("Once the server works, resume the task. If you changed the file, add --file FILE.")
	}
	add("gauze task resume %s", id)
	return b.String()
}

// Resumable reports whether resuming the task can change how it ended. It cannot if the step where
// it stopped refers to a value that the recorded results do not have, or makes a call that always
// fails.
func (s *State) Resumable() bool {
	switch stop := s.Stopped; {
	case s.Done != nil:
		return false
	case s.corrected, stop == nil, stop.Why != StepFailed, s.Plan.ByModel():
		return true
	case stop.Call == 0:
		return false
	default:
		return !s.hopeless(s.Calls[stop.Call-1])
	}
}

// progress says how much was done.
func (s *State) progress() string {
	calls := plaintext.Count(len(s.Calls), "call")
	if s.Plan.ByModel() {
		return calls
	}
	return fmt.Sprintf("%d of %s, %s", s.doneSteps(), plaintext.Count(len(s.Plan.Steps), "step"), calls)
}
