package execute

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/llm"
)

// Corrector asks a model about failed calls.
type Corrector struct {
	Model   llm.Model // nil if there is none
	Policy  correct.Policy
	OnEvent func(event.Event) // may be nil
}

// Correction is a call that a model corrected.
type Correction struct {
	correct.Proposal
	Asked correct.Consultation
	Call  correct.Call
}

// Ask asks the model once. It returns nil if that does not lead to a correction, or if ctx is
// done. Every question is reported, whatever comes of it.
func (c *Corrector) Ask(ctx context.Context, call correct.Call) *Correction {
	if c.Model == nil || ctx.Err() != nil {
		return nil
	}
	proposal, asked, err := correct.Ask(ctx, Guarded{c.Model}, call, c.Policy)
	found := &Correction{proposal, asked, call}
	if err == nil {
		err = ctx.Err() // a caller that is gone must not have its call sent
	}
	switch {
	case err != nil && asked.Before != nil:
		c.report(event.Uncorrected, found, err.Error())
	case err == nil && !proposal.Send:
		c.report(event.Proposed, found, found.NotSent(call, c.Policy))
	}
	if err != nil {
		return nil
	}
	return found
}

// Sent reports that a corrected call was sent. failure is how it failed, or nil.
func (c *Corrector) Sent(found *Correction, failure error) {
	detail := correct.Describe(found.Changes)
	if failure != nil {
		detail += "; the corrected call failed: " + failure.Error()
	}
	c.report(event.Corrected, found, detail)
}

func (c *Corrector) report(kind event.Kind, found *Correction, detail string) {
	c.Emit(event.Event{Kind: kind, Tool: found.Call.Tool, Detail: detail, Took: found.Asked.Took, Model: consultation(found.Asked, found.Reason)})
}

// Emit reports an event, without secrets.
func (c *Corrector) Emit(e event.Event) {
	if c.OnEvent != nil {
		e.Time, e.Method, e.Detail = time.Now(), "tools/call", EnvironSecrets().Quote(e.Detail)
		c.OnEvent(e)
	}
}

// Receipt adds a correction to the receipt of its call, after the changes that rules made.
func (f *Correction) Receipt(r *repair.Receipt, tried []repair.Change) {
	r.Changes = slices.Concat(tried, f.Changes)
	r.Model, r.Reason = f.Asked.Model, f.Reason
}

// Guarded is a model that returns when ctx is done and does not panic, even if its implementation
// does.
type Guarded struct{ llm.Model }

// Ask implements [llm.Model].
func (g Guarded) Ask(ctx context.Context, q llm.Question) (llm.Answer, error) {
	type answer struct {
		llm.Answer
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if problem := recover(); problem != nil {
				a.err = fmt.Errorf("the model client panicked: %v", problem)
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

// EnvironSecrets returns the secrets of this process's environment.
func EnvironSecrets() redact.Secrets { return redact.EnvironSecrets(os.Environ()) }

func consultation(c correct.Consultation, reason string) *event.Consultation {
	return &event.Consultation{
		Model: c.Model, InputTokens: c.Usage.InputTokens, OutputTokens: c.Usage.OutputTokens, Cost: c.Usage.Cost,
		Reason: reason, Before: c.Before, After: c.After,
	}
}
