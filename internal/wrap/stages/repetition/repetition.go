// Package repetition is the stage that sends a call once more if a tool that only reads answered with an
// error that is likely to be over soon, such as a timeout. The first answer is held until then, and the call
// gets it if it cannot be sent again.
package repetition

import (
	"cmp"
	"context"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
)

// Stage repeats the calls of one session.
type Stage struct {
	kernel.Bystander
	Kernel *kernel.Session
	Mode   func(tool string) repair.Mode
	Policy func(tool string) correct.Policy
	Redact func(string) string       // masks secrets
	Pause  func(ctx context.Context) // waits before a call is sent again; default: for correct.RepeatPause
}

// repetition is a call that failed with a transient error, and what came of it.
type repetition struct {
	kind   correct.Kind
	said   string // the first answer
	first  string // the same without secrets
	silent bool   // the user wants no notes
	sent   bool   // it was sent again
}

var repetitionOf = kernel.NewSlot[*repetition]()

// Respond holds the response to a call that is sent again.
func (s *Stage) Respond(c *kernel.Call, r *kernel.Response) kernel.Ruling {
	if !r.Failed || repetitionOf.Of(c) != nil {
		return kernel.Pass
	}
	mode := s.Mode(c.Tool())
	facts := s.Kernel.Facts(c)
	if mode == repair.ModeOff || !facts.Current || facts.Mute || !facts.Harmless {
		return kernel.Pass
	}
	sent, conn := s.Kernel.Sent(c)
	kind, found := correct.Transient(correct.Rejection{Text: r.All, Code: r.Code}, c.Arguments())
	if !found || !s.Policy(c.Tool()).Repeats(kind) || !correct.FitsTwice(conn.LastHeard().Sub(sent), cmp.Or(facts.MaxTime, facts.Timeout)) || !s.Kernel.Spend() {
		return kernel.Pass
	}
	again := &repetition{kind: kind, said: r.All, first: s.Redact(r.All), silent: mode == repair.ModeSilent}
	repetitionOf.Keep(c, again)
	return kernel.Hold(func(ctx context.Context, h *kernel.Held) {
		s.pause(ctx)
		if h.StillReads(ctx) && h.SendAgain("the tool reported "+kind.Describe(), func() { again.sent = true }) {
			return
		}
		h.Pass()
	})
}

// pause waits before a call is sent again, or until ctx ends.
func (s *Stage) pause(ctx context.Context) {
	if s.Pause != nil {
		s.Pause(ctx)
		return
	}
	pause.For(ctx, correct.RepeatPause)
}

// Add adds to a response, or a fault, that it is about the second attempt.
func (s *Stage) Add(c *kernel.Call, r *kernel.Response, added *kernel.Addition) {
	again := repetitionOf.Of(c)
	if again == nil || !again.sent || again.silent {
		return
	}
	const mark = fault.ModelMark + "] "
	switch {
	case r.Message == nil:
		added.Blocks = append(added.Blocks, mark+again.note(r))
	case r.Failed:
		added.Explanation = join(mark+again.note(r), added.Explanation)
	default:
		added.Note = join(mark+again.note(r), added.Note)
	}
}

// End records that the repetition saved the call.
func (s *Stage) End(c *kernel.Call, e *kernel.EndedCall) {
	if repetitionOf.Of(c) != nil && e.Outcome == kernel.OutcomeOK && e.Saved != kernel.SavedCorrected {
		e.Saved, e.Without = kernel.SavedReplayed, c.Without()
	}
}

func join(first, second string) string {
	if second == "" {
		return first
	}
	return first + "\n\n" + second
}

// note words that a call was sent again.
func (r *repetition) note(said *kernel.Response) string {
	first := r.first
	if said.Failed && said.All == r.said {
		first = "" // the response says it
	}
	return correct.Repeated(r.kind, first, said.Failed)
}
