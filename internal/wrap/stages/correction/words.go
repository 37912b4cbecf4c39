package correction

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
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

// Add adds what became of a correction to a response or a fault: a correction that was not sent, or both
// failures.
func (s *Stage) Add(c *kernel.Call, r *kernel.Response, added *kernel.Addition) {
	k := correctionOf.Of(c)
	switch {
	case k == nil:
	case r.Message != nil:
		k.addTo(added, r)
	case k.sent:
		added.Blocks = append(added.Blocks, fault.ModelMark+"] This result is for a corrected call. A model corrected the arguments: "+k.changed()+
			"\nThe server rejected the original call: "+redact.Quote(k.call.Rejection.Text))
	}
}

func (k *correction) addTo(added *kernel.Addition, said *kernel.Response) {
	const mark = fault.ModelMark + "] "
	text := strings.TrimPrefix(added.Explanation, mark)
	switch {
	case k.offered:
		text, added.Report = correct.Offer(text, added.Report, k.proposal)
	case k.sent && said.Failed:
		added.Note = "" // it recommends the corrected arguments
		both := correct.BothFailed(k.call.Rejection.Text, k.proposal.Changes, said.All)
		text = strings.TrimSuffix(both+"\n\n"+text, "\n\n")
	}
	if text != "" {
		added.Explanation = mark + text
	}
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
func (s *Stage) reportProposed(k *correction, why string) {
	k.offered = true
	s.noteUncorrected(k)
	s.emit(event.Proposed, k, why)
}

// reportUncorrected reports a question that led to no correction, unless none was asked.
func (s *Stage) reportUncorrected(k *correction, err error) {
	if errors.Is(err, correct.ErrOff) || errors.Is(err, correct.ErrNotCorrectable) || errors.Is(err, correct.ErrNoModel) {
		return
	}
	if !errors.Is(err, context.Canceled) { // by the client: that says nothing about the model
		s.noteUncorrected(k)
	}
	s.emit(event.Uncorrected, k, err.Error())
}

// How a corrected call ended.
const (
	succeeded   = ""
	failedAgain = "; the corrected call also failed"
	cancelled   = "; the client cancelled the corrected call"
)

// End reports the end of a call that was sent with corrected arguments.
func (s *Stage) End(c *kernel.Call, e *kernel.EndedCall) {
	k := correctionOf.Of(c)
	if k == nil || !k.sent {
		return
	}
	ending := failedAgain
	switch e.Outcome {
	case kernel.OutcomeOK:
		ending = succeeded
		if k.refusal == nil { // without gauze, a call that strict mode refuses would have been sent
			e.Saved, e.Without = kernel.SavedCorrected, c.Without()
		}
	case kernel.OutcomeCancelled:
		ending = cancelled
	}
	if ending == failedAgain {
		s.noteUncorrected(k)
	}
	s.emit(event.Corrected, k, k.places()+ending)
}

// emit emits the event of a question, once for each.
func (s *Stage) emit(kind event.Kind, k *correction, detail string) {
	s.Kernel.Emit(event.Event{
		Kind: kind, Client: k.client, Call: k.number, Method: "tools/call", Tool: k.call.Tool, Took: k.asked.Took,
		Detail: s.Redact(detail), Changes: s.Gate.Changes(&repair.Receipt{Changes: k.proposal.Changes, Reason: k.proposal.Reason}),
		Model: &event.Consultation{
			Model: k.asked.Model, InputTokens: k.asked.Usage.InputTokens, OutputTokens: k.asked.Usage.OutputTokens, Cost: k.asked.Usage.Cost,
			Reason: k.proposal.Reason, Before: k.asked.Before, After: k.asked.After,
		},
	})
}

// noteUncorrected remembers not to ask about the same call again for a while.
func (s *Stage) noteUncorrected(k *correction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uncorrected == nil || len(s.uncorrected) >= maxUncorrected {
		s.uncorrected = map[uint64]time.Time{}
	}
	s.uncorrected[k.sign] = time.Now().Add(askAgainAfter)
}
