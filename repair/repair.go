// Package repair repairs the arguments of MCP tool calls, or explains to the model what to change.
// It links neither the MCP SDK nor the gauze supervisor, so that agents and gateways of any kind can
// use it.
//
// [Arguments] validates and repairs the arguments of one call. [Execute] does for any function that
// runs a tool what gauze does for a server's tools: it repairs arguments by rules, repeats a call that
// failed for a reason that may be over soon, and asks a model once about a call that failed because of
// its arguments.
package repair

import (
	"encoding/json"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
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
	Path   string          `json:"path"`             // where the value is, such as items.0.id
	Before json.RawMessage `json:"before,omitempty"` // the value that was sent, or nil if there was none
	After  json.RawMessage `json:"after,omitempty"`  // the new value, or nil if the value was removed
	Rule   string          `json:"rule"`             // describes the repair in a few words
	Tier   Tier            `json:"tier"`             // how certain the repair is
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

// Options configures [Arguments]. The zero value of each field is its default.
type Options struct {
	// Tool is the name of the tool. It is used in messages, and to recognize arguments that are
	// wrapped in an object with that name.
	Tool string
	// SilentOnly allows only repairs of [TierSilent]. Use it for tools that are neither read-only nor
	// idempotent.
	SilentOnly bool
	// Explain words Result.Message, for example in a different language. It gets the usual message,
	// which it may return with an addition, and the details to word a different one. If it returns ""
	// the usual message is used. Result.Details stays as it is.
	Explain func(Explanation) string
}

// Explanation is why a call was refused, or its arguments rejected by the server.
type Explanation struct {
	Tool    string          // the name of the tool that was called
	Message string          // what the model reads, unless Explain says otherwise
	Details json.RawMessage // Message for programs, as in Result
}

// Arguments validates the arguments of a tool call against the tool's input schema. Arguments that
// do not match are repaired if that does not change their meaning: "5" becomes 5, Celsius becomes
// celsius, null for an optional field is removed, a Python literal becomes JSON. What cannot be
// repaired is refused with a message that a model can act on. Valid arguments are not changed.
//
// arguments is what a model wrote, and need not be JSON; it is nil if the call has none. If the schema
// cannot be checked safely, the outcome is [Unverified]. Compiled schemas are cached.
func Arguments(schema, arguments json.RawMessage, o Options) Result {
	gate := repair.Gate{Authoritative: true, Explain: wording(o.Explain)}
	d := gate.Admit(repair.Call{Tool: o.Tool, Arguments: arguments}, repair.Only{Schema: repair.Compile(schema), Safe: !o.SilentOnly})
	result := Result{Outcome: Outcome(d.Verdict.String()), Arguments: d.Arguments, Changes: changes(d.Receipt.Changes),
		Notes: d.Receipt.Notes, Reason: d.Reason}
	if d.Verdict == repair.Refused {
		refusal := d.Refusal()
		result.Arguments, result.Message, result.Details = nil, refusal.Message, refusal.Report
	}
	return result
}

// wording returns the function for a repair gate; nil: there is none.
func wording(explain func(Explanation) string) func(repair.Explanation) string {
	if explain == nil {
		return nil
	}
	return func(e repair.Explanation) string { return explain(Explanation(e)) }
}

func changes(made []repair.Change) (public []Change) {
	for _, c := range made {
		public = append(public, Change{Path: c.Path, Before: c.Before, After: c.After, Rule: c.Rule, Tier: Tier(c.Tier)})
	}
	return public
}
