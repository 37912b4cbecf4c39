// Package correct asks a model to correct a tool call that was rejected, once, and checks what it
// answers. It does no I/O except through the model.
//
//	classify.go   Classify: which rejections can be corrected, and why; one table
//	policy.go     Policy: what the user configured for a server or a tool
//	correct.go    Ask: one question, one checked Proposal
package correct

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/llm"
)

// Kind is why a call was rejected.
type Kind string

// Class says what may be done about a rejected call.
type Class struct {
	Kind        Kind
	Correctable bool   // different arguments may help, and asking for them is harmless
	NoEffect    bool   // the server rejected the arguments before it ran the tool
	Reason      string // why, for people
}

// Rejection is how a call failed.
type Rejection struct {
	Text string // the server's words, or those of the repair gate
	Code int    // of a JSON-RPC error; 0 for a result that is an error
	// Unsent means that the repair gate rejected the call, so the server never received it.
	Unsent bool
	// Misfit means that the arguments do not match the tool's schema.
	Misfit bool
}

// Classify returns the class of a rejection. Unknown kinds are not correctable.
func Classify(r Rejection) Class { return Class{} }

// Call is a rejected call.
type Call struct {
	Tool      string
	About     string // the tool's description
	Schema    *repair.Schema
	Arguments []byte // as the caller sent them
	Safe      bool   // the tool is read-only or idempotent
	Tried     []repair.Change
	Rejection Rejection
	Class     Class
	// Secrets hides values that are secrets, beyond those that Ask recognizes itself.
	Secrets func(string) string
}

// Proposal is a correction that matches the schema and passed the closed-world gate.
type Proposal struct {
	Arguments []byte          // with the caller's secrets put back
	Changes   []repair.Change // what differs, secrets masked
	// Send means that the corrected call may be sent, once. Otherwise it is only shown to the
	// caller: the first call may have had an effect, or the gate was open and the tool writes.
	Send   bool
	Opened bool   // a value is not from the caller or the schema, and the policy allows that
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
	ErrNotCorrectable = errors.New("the failure cannot be corrected by different arguments")
	ErrNoModel        = errors.New("no model is configured")
	ErrDeclined       = errors.New("the model did not correct the call")
	ErrUnfit          = errors.New("the model's arguments do not match the schema")
	ErrInvented       = errors.New("the model's arguments contain a value that the caller did not send")
	ErrUnchanged      = errors.New("the model returned the same arguments")
)

// Ask asks the model for corrected arguments. It asks at most one question. The Consultation is
// valid even if there is an error, and zero if no question was asked.
func Ask(ctx context.Context, model llm.Model, c Call, p Policy) (Proposal, Consultation, error) {
	return Proposal{}, Consultation{}, ErrNoModel
}
