package proxy

import (
	"context"
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

// withHistory adds the first failure of a call to the result of its corrected form, which failed.
func (k *correction) withHistory(result []byte) []byte {
	if k == nil || !k.sent {
		return result
	}
	return withText(result, fault.ModelMark+"] This is about the call with corrected arguments. Corrected by a model: "+k.changed()+
		"\nThe server had rejected the first call: "+redact.Quote(k.call.Rejection.Text))
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
func (s *Session) reportProposed(k *correction, why string) {
	k.offered = true
	s.noteUncorrected(k)
	s.count(func(n *Counters) { n.Proposed++ })
	s.emitCorrection(event.Proposed, k, why)
}

// reportUncorrected reports a question that led to no correction, unless none was asked.
func (s *Session) reportUncorrected(k *correction, err error) {
	if errors.Is(err, correct.ErrOff) || errors.Is(err, correct.ErrNotCorrectable) || errors.Is(err, correct.ErrNoModel) {
		return
	}
	if !errors.Is(err, context.Canceled) { // by the client: that says nothing about the model
		s.noteUncorrected(k)
	}
	s.count(func(n *Counters) { n.Uncorrected++ })
	s.emitCorrection(event.Uncorrected, k, err.Error())
}

// How a corrected call ended.
const (
	succeeded   = ""
	failedAgain = "; the corrected call failed as well"
	cancelled   = "; the client cancelled the corrected call"
)

// reportCorrected reports the end of a call that was sent with corrected arguments.
func (s *Session) reportCorrected(c *call, ending string) {
	k := c.correction
	if k == nil || !k.sent { // no call was corrected
		return
	}
	if ending == failedAgain {
		s.noteUncorrected(k)
	}
	s.count(func(n *Counters) { n.Corrected++ })
	s.emitCorrection(event.Corrected, k, k.changed()+ending)
}

func (s *Session) emitCorrection(kind event.Kind, k *correction, detail string) {
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
