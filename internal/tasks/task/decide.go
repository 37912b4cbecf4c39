package task

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Decide records what a person decided about the call whose outcome is unknown: it took effect
// (done), it is sent again (repeat), or the task goes on without it (skip).
func Decide(ctx context.Context, log Log, id, decision string) (*State, error) {
	if !slices.Contains(Decisions, decision) {
		return nil, InvalidDecision(decision)
	}
	s, err := stateOf(ctx, log, id)
	if err != nil {
		return nil, err
	}
	call := s.Undecided()
	if call == nil {
		return s, fmt.Errorf("the task %s is not waiting for a decision: it is %s", id, s.Status())
	}
	e := entry(KindDecided, Decided{call.Call, decision}, time.Now())
	if e.Seq, err = log.Append(ctx, id, s.Seq, e); err != nil {
		return s, err
	}
	return s, s.Apply(e)
}

// InvalidDecision returns the error for a decision that is not one of Decisions.
func InvalidDecision(decision string) error {
	return fmt.Errorf("invalid decision %q: must be %s", redact.Quote(decision), strings.Join(Decisions, ", "))
}

// stateOf returns the state of a task in a log.
func stateOf(ctx context.Context, log Log, id string) (*State, error) {
	entries, err := log.Entries(ctx, id)
	if err != nil {
		return nil, err
	}
	return Fold(entries)
}

// Undecided returns the call that a person must decide about, or nil. That a task was killed before
// it could say so makes no difference. A decision can be changed until the task is resumed.
func (s *State) Undecided() *Call {
	if s.Done != nil || len(s.Calls) == 0 {
		return nil
	}
	c := s.Calls[len(s.Calls)-1]
	waits := s.Stopped != nil && s.Stopped.Why == NeedsDecision
	decided := c.Decision != "" && !s.pending
	known := c.Outcome != nil && (c.Outcome.Status != Lost || c.Outcome.Delivery == Unsent)
	if decided || known || !waits && s.mayRepeat(c) {
		return nil
	}
	return c
}
