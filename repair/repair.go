// Package repair repairs the arguments of MCP tool calls, or explains to the model what to change.
// It links neither the MCP SDK nor the gauze supervisor, so that agents and gateways of any kind can
// use it.
package repair

import (
	"encoding/json"

	"github.com/gauze-mcp/gauze/internal/repair"
)

// Outcome is the result of checking the arguments of a call.
type Outcome string

const (
	Valid      Outcome = "valid"      // the arguments match the schema and were not changed
	Repaired   Outcome = "repaired"   // the arguments were changed and match the schema now
	Refused    Outcome = "refused"    // the arguments do not match the schema, and cannot be repaired
	Unverified Outcome = "unverified" // the schema cannot be checked, or not completely
)

// Result is the result of [Arguments].
type Result struct {
	// Outcome says which of the other fields are set.
	Outcome Outcome
	// Arguments is what to send. If nothing was changed it is the input, byte for byte. It is nil if
	// the arguments were refused.
	Arguments json.RawMessage
	// Changes lists every change, in the order in which they were made. Secrets are masked.
	Changes []Change
	// Notes lists what is odd about arguments that match the schema, such as a misspelled key.
	Notes []string
	// Message tells the model that made the call why it was refused and what to change.
	Message string
	// Details is Message for programs: a JSON object with type, summary, issues, schema,
	// suggestions and validExample.
	Details json.RawMessage
	// Reason says why the arguments could not be verified.
	Reason string
}

// Change is a receipt for one repair.
type Change struct {
	Path   string          `json:"path"`             // Path is where the value is, such as items.0.id.
	Before json.RawMessage `json:"before,omitempty"` // Before is the value that was sent, or nil if there was none.
	After  json.RawMessage `json:"after,omitempty"`  // After is the new value, or nil if the value was removed.
	Rule   string          `json:"rule"`             // Rule describes the repair in a few words.
	Tier   Tier            `json:"tier"`             // Tier is how certain the repair is.
}

// String describes the change in one line.
func (c Change) String() string {
	return repair.Change{Path: c.Path, Before: c.Before, After: c.After, Rule: c.Rule, Tier: repair.Tier(c.Tier)}.String()
}

// Tier is how certain a repair is.
type Tier int

const (
	TierSilent Tier = 1 // the repair is the only reading of the value, such as 5 for "5"
	TierTold   Tier = 2 // there may be other readings, so the model should be told
)

// Option configures [Arguments].
type Option func(*options)

type options struct {
	tool       string
	silentOnly bool
	explain    func(Explanation) string
}

// ForTool sets the name of the tool. It is used in messages, and to recognize arguments that are
// wrapped in an object with that name.
func ForTool(name string) Option { return func(o *options) { o.tool = name } }

// SilentOnly allows only repairs of [TierSilent]. Use it for tools that are neither read-only nor
// idempotent.
func SilentOnly() Option { return func(o *options) { o.silentOnly = true } }

// Explanation is why a call was refused.
type Explanation struct {
	Tool    string          // Tool is the name of the tool that was called.
	Message string          // Message is what the model reads, unless [Explain] says otherwise.
	Details json.RawMessage // Details is Message for programs, as in Result.
}

// Explain sets a function that words Result.Message, for example in a different language. It gets the
// usual message, which it may return with an addition, and the details to word a different one. If it
// returns "" the usual message is used. Result.Details stays as it is.
func Explain(word func(Explanation) string) Option { return func(o *options) { o.explain = word } }

// Arguments validates the arguments of a tool call against the tool's input schema. Arguments that
// do not match are repaired if that does not change their meaning: "5" becomes 5, Celsius becomes
// celsius, null for an optional field is removed, a Python literal becomes JSON. What cannot be
// repaired is refused with a message that a model can act on. Valid arguments are not changed.
//
// arguments is what a model wrote, and need not be JSON; it is nil if the call has none. If the schema
// cannot be checked safely, the outcome is [Unverified]. Compiled schemas are cached.
func Arguments(schema, arguments json.RawMessage, opts ...Option) Result {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	gate := repair.Gate{Authoritative: true}
	if o.explain != nil {
		gate.Explain = func(e repair.Explanation) string { return o.explain(Explanation(e)) }
	}
	d := gate.Admit(repair.Call{Tool: o.tool, Arguments: arguments}, repair.Only{Schema: repair.Compile(schema), Safe: !o.silentOnly})
	result := Result{Outcome: Outcome(d.Verdict.String()), Arguments: d.Arguments, Notes: d.Receipt.Notes, Reason: d.Reason}
	for _, c := range d.Receipt.Changes {
		result.Changes = append(result.Changes, Change{Path: c.Path, Before: c.Before, After: c.After, Rule: c.Rule, Tier: Tier(c.Tier)})
	}
	if d.Verdict == repair.Refused {
		refusal := d.Refusal()
		result.Arguments, result.Message, result.Details = nil, refusal.Message, refusal.Report
	}
	return result
}
