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
func (k *correction) changed() string { return redact.Passage(correct.Describe(k.proposal.Changes)) }

// places lists what a proposal changes, without values.
func (k *correction) places() string {
	paths := make([]string, len(k.proposal.Changes))
	for i, change := range k.proposal.Changes {
		paths[i] = change.Path
	}
	return strings.Join(paths, ", ")
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
	s.mu.Lock()
	s.counters.Corrected++
	s.tally.corrected++
	s.mu.Unlock()
	s.emitCorrection(event.Corrected, k, k.places()+ending)
}

// emitCorrection emits the event of a question, once for each, and counts what it cost.
func (s *Session) emitCorrection(kind event.Kind, k *correction, detail string) {
	s.count(func(n *Counters) {
		n.ModelInputTokens += uint64(max(0, k.asked.Usage.InputTokens))
		n.ModelOutputTokens += uint64(max(0, k.asked.Usage.OutputTokens))
		n.ModelCost += k.asked.Usage.Cost
	})
	s.emit(nil, event.Event{
		Kind: kind, Client: k.client, Call: k.number, Method: "tools/call", Tool: k.call.Tool, Took: k.asked.Took,
		Detail: s.secrets.Load().Redact(detail), Changes: s.changesOf(&repair.Receipt{Changes: k.proposal.Changes, Reason: k.proposal.Reason}),
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
