package gauze

import (
	"encoding/json"

	"github.com/gauze-mcp/gauze/internal/repair"
)

// Change is the receipt for one repair: where, the value before and after, and the rule.
type Change = repair.Change

// RepairResult is the result of RepairArguments.
type RepairResult struct {
	Outcome   string          // valid, repaired, refused or unverified
	Arguments json.RawMessage // what to send; the original bytes if nothing was changed, nil if refused
	Changes   []Change        // every change, with secrets masked
	Notes     []string        // likely mistakes in arguments that match the schema, such as a misspelled key
	Message   string          // if refused: tells the model what to change
	Details   json.RawMessage // if refused: Message for programs, with type, summary, issues, schema, suggestions and validExample
	Reason    string          // if unverified: why the arguments could not be checked
}

// RepairOption configures RepairArguments.
type RepairOption func(*repair.Options)

// ForTool sets the name of the tool. It is used in messages, and to recognize arguments that are
// wrapped in an object with that name.
func ForTool(name string) RepairOption { return func(o *repair.Options) { o.Tool = name } }

// SilentOnly allows only repairs that have a single reading. Use it for tools that are neither
// read-only nor idempotent.
func SilentOnly() RepairOption { return func(o *repair.Options) { o.Tier = repair.Silent } }

// RepairArguments validates the arguments of a tool call against the tool's input schema. Arguments
// that do not match are repaired if that does not change their meaning: "5" becomes 5, Celsius
// becomes celsius, null for an optional field is removed, a Python literal becomes JSON. The rest is
// refused with a message that a model can act on. Valid arguments are not changed.
//
// arguments is what a model wrote, and need not be JSON; nil if the call has none. If the schema
// cannot be checked safely, or only formats such as dates do not match, the outcome is unverified.
// Compiled schemas are cached.
func RepairArguments(schema, arguments json.RawMessage, opts ...RepairOption) RepairResult {
	o := repair.Options{Tier: repair.Told}
	for _, opt := range opts {
		opt(&o)
	}
	gate := repair.Gate{Authoritative: true}
	d := gate.Admit(repair.Call{Tool: o.Tool, Arguments: arguments}, repair.Only{Schema: repair.Compile(schema), Safe: o.Tier == repair.Told})
	result := RepairResult{
		Outcome: d.Verdict.String(), Arguments: d.Arguments,
		Changes: d.Receipt.Changes, Notes: d.Receipt.Notes, Reason: d.Reason,
	}
	if d.Verdict == repair.Refused {
		refusal := d.Refusal()
		result.Arguments, result.Message, result.Details = nil, refusal.Message, refusal.Report
	}
	return result
}
