// Package correct asks a model to correct a tool call that was rejected, once, and checks what it
// answers. It does no I/O except through the model.
//
//	classify.go   Classify: which rejections can be corrected, and why; the table is failures.txt
//	policy.go     Policy: what the user configured for a server or a tool
//	correct.go    Ask: one question, one checked Proposal
//	question.go   what the model is asked, with prompt.txt
//	words.go      how a Proposal and two failures are worded
//	transient.go  failures that are likely to be over soon
//	token.go      failures because of an access token
package correct

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/llm"
)

// Call is a rejected call.
type Call struct {
	Tool      string
	About     string // the tool's description
	Goal      string // what the caller wants, if the client said so
	Schema    *repair.Schema
	Arguments []byte // as the caller sent them
	Safe      bool   // the tool only reads; an idempotent call with different arguments is a different call
	Tried     []repair.Change
	Rejection Rejection
	Class     Class
	// Secrets hides values that are secrets, beyond those that Ask recognizes itself.
	Secrets func(string) string
}

// Proposal is a correction that matches the schema and passed the closed-world gate. Its Arguments have
// the caller's secrets put back.
type Proposal struct {
	repair.Proposal
	// Send means that the corrected call may be sent, once. Otherwise it is only shown to the
	// caller: the first call may have had an effect, or the tool writes and only the caller can tell
	// whether the correction means the same. Tools that only read get it unless there is a Doubt.
	Send   bool
	Model  string // the model's name, cleaned
	Reason string // the model's, cleaned
}

// Consultation is what asking a model cost, whether or not a Proposal came of it.
type Consultation struct {
	Model  string
	Usage  llm.Usage
	Took   time.Duration
	Before json.RawMessage // the arguments as the model saw them
	After  json.RawMessage // the model's arguments as it sent them; nil if it sent none
}

// Errors of Ask. The original failure always remains the answer to the caller.
var (
	ErrOff            = errors.New("correction is off")
	ErrNotCorrectable = errors.New("changing the arguments would not fix this failure")
	ErrNoModel        = errors.New("no model is configured")
	ErrDeclined       = errors.New("the model did not correct the call")
	ErrUnfit          = repair.ErrUnfit
	ErrInvented       = repair.ErrInvented
	ErrUnchanged      = repair.ErrUnchanged
)

// Ask asks the model for corrected arguments. It asks at most one question. The Consultation is
// valid even if there is an error, and zero if no question was asked.
func Ask(ctx context.Context, model llm.Model, c Call, p Policy) (Proposal, Consultation, error) {
	if c.Schema == nil {
		c.Schema = repair.Compile(nil)
	}
	if c.Class.Kind == "" {
		c.Class = ClassifyCall(c.Rejection, c.Schema, c.Arguments)
	}
	switch {
	case p.Off:
		return Proposal{}, Consultation{}, ErrOff
	case !p.Allows(c.Class):
		return Proposal{}, Consultation{}, fmt.Errorf("%w: %s", ErrNotCorrectable, c.Class.Reason)
	case model == nil || p.NoModel:
		return Proposal{}, Consultation{}, ErrNoModel
	}
	if len(c.Arguments) > maxArguments {
		return Proposal{}, Consultation{}, fmt.Errorf("%w: the arguments are larger than %d KB", ErrNotCorrectable, maxArguments>>10)
	}
	masked, err := c.Schema.Mask(c.Arguments, c.Secrets)
	if err != nil {
		return Proposal{}, Consultation{}, fmt.Errorf("%w: %w", ErrNotCorrectable, err)
	}
	if p.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.Timeout)
		defer cancel()
	}
	asked := time.Now()
	answer, err := model.Ask(ctx, c.question(masked, p))
	cost := Consultation{Model: answer.Model, Usage: answer.Usage, Took: time.Since(asked), Before: masked.Arguments}
	if err != nil {
		return Proposal{}, cost, fmt.Errorf("the model did not answer: %w", err)
	}
	proposal, after, err := c.check(answer.JSON, masked, p)
	proposal.Model, cost.After = plaintext.Cap(c.remark(masked, answer.Model), maxName), after
	return proposal, cost, err
}

// check decides about the answer of a model.
func (c *Call) check(answer []byte, masked *repair.Masked, p Policy) (Proposal, json.RawMessage, error) {
	reply, err := readReply(answer)
	reason := c.remark(masked, reply.reason)
	if err != nil {
		if reason != "" {
			err = fmt.Errorf("%w: %s", err, reason)
		}
		return Proposal{}, nil, err
	}
	arguments, err := masked.Restore(reply.arguments)
	if err != nil {
		return Proposal{}, reply.arguments, fmt.Errorf("%w: %w", ErrInvented, err)
	}
	o := repair.ProposeOptions{Tool: c.Tool, Goal: c.Goal, About: c.About}
	if !c.Rejection.Unsent {
		o.Said = c.Rejection.Text
	}
	found, err := c.Schema.Propose(c.Arguments, arguments, o)
	if errors.Is(err, ErrUnfit) {
		// The rules may repair what the model wrote. The result has to pass the same gate.
		if out := c.Schema.Arguments(arguments, repair.Options{Tool: c.Tool, Tier: repair.Told}); out.Verdict == repair.Repaired {
			found, err = c.Schema.Propose(c.Arguments, out.Arguments, o)
		}
	}
	if err == nil && found.Opened && c.hide(masked, string(found.Shown)) != string(found.Shown) {
		err = fmt.Errorf("%w: the value may be a secret", ErrInvented)
	}
	if err != nil {
		return Proposal{}, reply.arguments, err
	}
	return Proposal{Proposal: found, Reason: reason, Send: c.maySend(found, p)}, reply.arguments, nil
}

// maySend reports whether a corrected call may be sent instead of the rejected one. A tool that writes
// gets only what the caller sent, in a form that has no second reading.
func (c *Call) maySend(found repair.Proposal, p Policy) bool {
	switch {
	case p.OfferOnly || !c.harmless():
		return false
	case found.Tier <= repair.Told && !found.Opened:
		return c.Safe || !found.Touched
	}
	return c.Safe && !p.Closed && found.Doubt == "" && trust.Of(trust.Agent, trust.Read) == trust.Allowed
}

// harmless reports whether the rejected call had no effect that the corrected one would add to.
func (c *Call) harmless() bool { return c.Safe || c.Rejection.Unsent || c.Class.NoEffect }

// reply is the answer of a model.
type reply struct {
	arguments json.RawMessage
	reason    string
}

func readReply(answer []byte) (r reply, err error) {
	fields, ok := repair.ReadObject(answer)
	if !ok {
		return r, fmt.Errorf("%w: its answer is not a JSON object", ErrDeclined)
	}
	corrected := true
	for key, value := range fields {
		switch key {
		case "arguments":
			r.arguments = value
		case "corrected":
			ok = json.Unmarshal(value, &corrected) == nil
		case "reason":
			ok = json.Unmarshal(value, &r.reason) == nil
		default:
			ok = false
		}
		if !ok {
			return r, fmt.Errorf("%w: its answer is not in the requested format", ErrDeclined)
		}
	}
	if !corrected && r.arguments != nil {
		return r, fmt.Errorf("%w: it returned arguments but reported that it had not corrected them", ErrDeclined)
	}
	if !corrected || r.arguments == nil {
		return r, ErrDeclined
	}
	if r.arguments[0] != '{' {
		return r, fmt.Errorf("%w: they are not a JSON object", ErrUnfit)
	}
	return r, nil
}

// Limits of a model's reason and of its name, in characters.
const (
	maxReason = 200
	maxName   = 60
)

// remark returns text of a model that can be shown.
func (c *Call) remark(masked *repair.Masked, text string) string {
	return plaintext.Cap(oneLine(c.hide(masked, plaintext.Clean(text))), maxReason)
}

// hide removes secrets from text.
func (c *Call) hide(masked *repair.Masked, text string) string {
	text = redact.Text(masked.Text(text))
	if c.Secrets != nil {
		text = c.Secrets(text)
	}
	return text
}
