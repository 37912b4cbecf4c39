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

// ForTool is [repair.ForTool].
func ForTool(name string) RepairOption { return repair.ForTool(name) }

// SilentOnly is [repair.SilentOnly].
func SilentOnly() RepairOption { return repair.SilentOnly() }

// RepairArguments is [repair.Arguments]: it validates the arguments of a tool call against the tool's
// input schema, repairs what it can without changing the meaning, and explains the rest to the model.
// Programs that use nothing else of this package import package repair, which does not link the
// supervisor.
func RepairArguments(schema, arguments json.RawMessage, opts ...RepairOption) RepairResult {
	return repair.Arguments(schema, arguments, opts...)
}
