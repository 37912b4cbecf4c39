package gauze

import (
	"encoding/json"

	"github.com/gauze-mcp/gauze/internal/repair"
)

// Change is a receipt of one repair: where, what was there, what is there
// now, and by which rule.
type Change = repair.Change

// RepairResult is what became of the arguments of one call.
type RepairResult struct {
	Outcome   string          // valid, repaired, refused or unverified
	Arguments json.RawMessage // what to send: the very bytes that came, if nothing was changed; nil if refused
	Changes   []Change        // of repaired arguments: all that was changed
	Notes     []string        // what the caller may want to know although the arguments fit, such as a misspelt key
	Message   string          // of refused arguments: what the model that made the call should read
	Details   json.RawMessage // the same for programs: type, summary, issues, schema, suggestions, validExample
	Reason    string          // of unverified arguments: why they could not be checked, or not in full
}

// RepairOption says more about a call.
type RepairOption func(*repair.Options)

// ForTool names the tool, for the message, and because models wrap arguments
// in it.
func ForTool(name string) RepairOption { return func(o *repair.Options) { o.Tool = name } }

// SilentOnly keeps to repairs that have one reading only. It is meant for
// tools that are neither read-only nor idempotent.
func SilentOnly() RepairOption { return func(o *repair.Options) { o.Tier = repair.Silent } }

// RepairArguments holds the arguments of a tool call against the tool's input
// schema. What can be repaired without changing its meaning is repaired, with
// a receipt for each change: "5" for 5, Celsius for celsius, null for an
// optional, Python for JSON. The rest is refused with a message that a model
// can act on. Valid arguments are never touched.
//
// arguments may be nil for a call without any, and need not be JSON: it is
// what a model wrote. A schema that cannot be checked safely is no error; the
// outcome is then unverified. Schemas are compiled once and remembered.
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
