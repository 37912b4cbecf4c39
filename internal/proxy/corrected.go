package proxy

import (
	"errors"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/correct"
	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/repair"
)

// What is said about a correction: to the model that made the call, and in events.

// notSentBecause returns why a proposal is only shown to the caller; empty: it may be sent.
func notSentBecause(k *correction) string {
	switch {
	case k.proposal.Send:
		return ""
	case k.policy.OfferOnly:
		return "the policy for this tool does not allow it"
	case k.proposal.Opened:
		return "it contains values that the caller did not send"
	case len(k.proposal.Dropped) > 0:
		return "it leaves out values that the caller sent"
	case !k.call.Safe && !k.call.Class.NoEffect:
		return "the rejected call may have had an effect"
	}
	return "only the caller can tell whether it means the same"
}

// withOffer adds a correction that is not sent to the refusal of a call.
func (k *correction) withOffer(refusal *fault.Fault) *fault.Fault {
	if !k.offered {
		return refusal
	}
	offered := *refusal
	offered.Message, offered.Report = correct.Offer(refusal.Message, refusal.Report, k.proposal)
	return &offered
}

// addTo adds what became of a correction to what is added to a response: a correction that was not
// sent, or both failures.
func (k *correction) addTo(added repair.Addition, said response) repair.Addition {
	const mark = fault.ModelMark + "] "
	text := strings.TrimPrefix(added.Explanation, mark)
	switch {
	case k.offered:
		text, added.Report = correct.Offer(text, added.Report, k.proposal)
	case k.sent && said.failed:
		added.Note = "" // it recommends the corrected arguments
		both := correct.BothFailed(k.call.Rejection.Text, k.proposal.Changes, said.all)
		text = strings.TrimSuffix(both+"\n\n"+text, "\n\n")
	}
	if text != "" {
		added.Explanation = mark + text
	}
	return added
}

// history words the first failure of a call whose corrected form was lost, as the detail of its fault.
func (k *correction) history() string {
	return "the first call was rejected: " + redact.Quote(k.call.Rejection.Text) + "; a model then corrected its arguments: " + k.changed()
}

// changed describes the changes of a proposal, without secrets.
func (k *correction) changed() string {
	var all []string
	for _, change := range k.proposal.Changes {
		all = append(all, change.String())
	}
	return redact.Passage(strings.Join(all, "; "))
}

// reportProposed reports a correction that was not sent, and offers it to the caller.
func (s *Session) reportProposed(c *call, k *correction, why string) {
	k.offered = true
	s.noteUncorrected(k)
	s.count(func(n *Counters) { n.Proposed++ })
	s.emitCorrection(event.Proposed, c, k, why)
}

// reportUncorrected reports a question that led to no correction, unless none was asked.
func (s *Session) reportUncorrected(c *call, k *correction, err error) {
	if errors.Is(err, correct.ErrOff) || errors.Is(err, correct.ErrNotCorrectable) || errors.Is(err, correct.ErrNoModel) {
		return
	}
	s.noteUncorrected(k)
	s.count(func(n *Counters) { n.Uncorrected++ })
	s.emitCorrection(event.Uncorrected, c, k, err.Error())
}

// reportCorrected reports the end of a call that was sent with corrected arguments.
func (s *Session) reportCorrected(c *call, failed bool) {
	k := c.correction
	if k == nil || !k.sent {
		return
	}
	detail := k.changed()
	if failed {
		s.noteUncorrected(k)
		detail += "; the corrected call failed as well"
	}
	s.count(func(n *Counters) { n.Corrected++ })
	s.emitCorrection(event.Corrected, c, k, detail)
}

func (s *Session) emitCorrection(kind event.Kind, c *call, k *correction, detail string) {
	s.Events.Emit(event.Event{
		Kind: kind, Server: s.Name, Method: "tools/call", Tool: k.call.Tool, Detail: s.secrets.Load().Redact(detail), Took: k.asked.Took,
		Model: &event.Consultation{
			Model: k.asked.Model, InputTokens: k.asked.Usage.InputTokens, OutputTokens: k.asked.Usage.OutputTokens, Cost: k.asked.Usage.Cost,
			Reason: k.proposal.Reason, Before: k.asked.Before, After: k.asked.After,
		},
	})
}

// noteUncorrected remembers not to ask about the same call again for a while.
func (s *Session) noteUncorrected(k *correction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uncorrected == nil || len(s.uncorrected) >= maxUncorrected {
		s.uncorrected = map[uint64]time.Time{}
	}
	s.uncorrected[k.sign] = time.Now().Add(askAgainAfter)
}
