package gauze

import (
	"encoding/json"

	"github.com/gauze-mcp/gauze/repair"
)

// RepairResult is the result of [RepairArguments].
type RepairResult = repair.Result

// Change is a receipt for one repair.
type Change = repair.Change

// RepairOption configures [RepairArguments].
type RepairOption = repair.Option

// ForTool sets the name of the tool. It is used in messages, and to recognize arguments that are
// wrapped in an object with that name.
func ForTool(name string) RepairOption { return repair.ForTool(name) }

// SilentOnly allows only repairs that are the only reading of a value. Use it for tools that are
// neither read-only nor idempotent.
func SilentOnly() RepairOption { return repair.SilentOnly() }

// Explanation is why a call was refused, or its arguments rejected by the server.
type Explanation = repair.Explanation

// Explain sets a function that words the message of a call that is refused.
func Explain(word func(Explanation) string) RepairOption { return repair.Explain(word) }

// RepairArguments validates the arguments of a tool call against the tool's input schema. It repairs
// what it can without changing the meaning, and explains to the model what cannot be repaired. It is
// Arguments of package [github.com/gauze-mcp/gauze/repair], which has the details.
func RepairArguments(schema, arguments json.RawMessage, opts ...RepairOption) RepairResult {
	return repair.Arguments(schema, arguments, opts...)
}
