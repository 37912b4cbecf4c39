package gauze

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/correct"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/llm"
)

// corrector asks a model about failed calls, for Executor and Middleware.
type corrector struct {
	model   llm.Model // nil if there is none
	policy  correct.Policy
	onEvent func(Event)
}

// correction is a call that a model corrected.
type correction struct {
	correct.Proposal
	asked correct.Consultation
	call  correct.Call
}

// ask asks the model once. It returns nil if that does not lead to a correction, or if ctx is
// done. Every question is reported, whatever comes of it.
func (c *corrector) ask(ctx context.Context, call correct.Call) *correction {
	if c.model == nil || ctx.Err() != nil {
		return nil
	}
	proposal, asked, err := correct.Ask(ctx, guarded{c.model}, call, c.policy)
	found := &correction{proposal, asked, call}
	if err == nil {
		err = ctx.Err() // a caller that is gone must not have its call sent
	}
	switch {
	case err != nil && asked.Before != nil:
		c.report(EventUncorrected, found, err.Error())
	case err == nil && !proposal.Send:
		c.report(EventProposed, found, found.NotSent(call, c.policy))
	}
	if err != nil {
		return nil
	}
	return found
}

// sent reports that a corrected call was sent. failure is how it failed, or nil.
func (c *corrector) sent(found *correction, failure error) {
	detail := correct.Describe(found.Changes)
	if failure != nil {
		detail += "; the corrected call failed: " + failure.Error()
	}
	c.report(EventCorrected, found, detail)
}

func (c *corrector) report(kind EventKind, found *correction, detail string) {
	c.emit(Event{Kind: kind, Tool: found.call.Tool, Detail: detail, Took: found.asked.Took, Model: publicConsultation(found.asked, found.Reason)})
}

func (c *corrector) emit(e Event) {
	if c.onEvent != nil {
		e.Time, e.Method, e.Detail = time.Now(), "tools/call", environSecrets().Quote(e.Detail)
		c.onEvent(e)
	}
}

// failed returns the error of a call that failed with and without a correction, or whose correction
// was not sent.
func (c *corrector) failed(first, second failedCall, found *correction) *CorrectionError {
	e := &CorrectionError{
		Tool: found.call.Tool, First: first.err, Second: second.err,
		Changes: publicChanges(found.Changes), Model: found.asked.Model, Reason: found.Reason,
	}
	if second.err != nil {
		e.text = correct.BothFailed(first.err.Error(), found.Changes, second.err.Error())
		return e
	}
	e.Offered = found.Arguments
	explanation := first.err.Error() + "\nA corrected call was not sent: " + found.NotSent(found.call, c.policy) + "."
	e.text, _ = correct.Offer(explanation, nil, found.Proposal)
	return e
}

// receipt adds a correction to the receipt of its call, after the changes that rules made.
func (f *correction) receipt(r *repair.Receipt, tried []repair.Change) {
	r.Changes = slices.Concat(tried, f.Changes)
	r.Model, r.Reason = f.asked.Model, f.Reason
}

// guarded is a model that returns when ctx is done and does not panic, even if its implementation
// does.
type guarded struct{ llm.Model }

// Ask implements [llm.Model].
func (g guarded) Ask(ctx context.Context, q llm.Question) (llm.Answer, error) {
	type answer struct {
		llm.Answer
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if problem := recover(); problem != nil {
				a.err = fmt.Errorf("the model panicked: %v", problem)
			}
			answers <- a
		}()
		a.Answer, a.err = g.Model.Ask(ctx, q)
	}()
	select {
	case a := <-answers:
		return a.Answer, a.err
	case <-ctx.Done():
		return llm.Answer{}, ctx.Err()
	}
}

// environSecrets returns the secrets of this process's environment.
func environSecrets() redact.Secrets { return redact.EnvironSecrets(os.Environ()) }
