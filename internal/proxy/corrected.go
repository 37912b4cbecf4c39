package proxy

import (
	"errors"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/correct"
	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
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
		return "it contains values that you did not send"
	case !k.call.Class.NoEffect:
		return "the rejected call may have had an effect"
	}
	return "it changes values of a call that may write"
}

// offer words a correction that was not sent, for the model that made the call.
func (k *correction) offerBecause(why string) string {
	line := "Call that would pass: " + plaintext.Clean(string(k.asked.After))
	if len(line) > maxOfferLen {
		return ""
	}
	return fault.ModelMark + "] A model corrected this call. The corrected call was not sent, because " + why +
		". Check it before you send it.\n" + line
}

// maxOfferLen is the length of the longest call that is shown to the caller.
const maxOfferLen = 6 << 10

// withOffer adds an offer to the refusal of a call.
func withOffer(refusal *fault.Fault, offer string) *fault.Fault {
	if offer == "" {
		return refusal
	}
	offered := *refusal
	offered.Message += "\n\n" + strings.TrimPrefix(offer, fault.ModelMark+"] ")
	return &offered
}

// bothFailures words the failure of a call that failed again after its correction.
func (s *Session) bothFailures(k *correction) string {
	return "The call was first rejected: " + quoteFirst(s.secrets.Load(), k) + ". A model then corrected the arguments: " +
		changesOf(k) + ". The corrected call failed as well."
}

func quoteFirst(secrets *redact.Secrets, k *correction) string {
	return `"` + secrets.Quote(k.call.Rejection.Text) + `"`
}

// maxShownChanges limits the changes in one sentence.
const maxShownChanges = 5

// changesOf describes the changes of a proposal, without secrets.
func changesOf(k *correction) string {
	var all []string
	for _, change := range k.proposal.Changes[:min(len(k.proposal.Changes), maxShownChanges)] {
		all = append(all, change.String())
	}
	if len(k.proposal.Changes) > maxShownChanges {
		all = append(all, "and more")
	}
	return redact.Passage(strings.Join(all, "; "))
}

// explain adds what became of a correction to the explanation of a failed response.
func (s *Session) explainCorrection(k *correction, said response, explanation string) string {
	added := k.offer
	if k.sent && said.failed {
		added = fault.ModelMark + "] " + s.bothFailures(k)
	}
	if explanation == "" || added == "" {
		return explanation + added
	}
	return explanation + "\n\n" + added
}

// reportProposed reports a correction that was not sent, and offers it to the caller.
func (s *Session) reportProposed(c *call, k *correction, why string) {
	k.offer = k.offerBecause(why)
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
	detail := changesOf(k)
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
