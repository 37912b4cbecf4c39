package gauze

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/execute"
	gate "github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/repair"
)

// GoalKey is the key in the _meta of a tool call under which a client may say, as a string, what the
// call is for. A model that corrects the call reads it. The server receives it as well, as it
// receives all of _meta; gauze puts none of its text into the arguments of a call that it sends.
const GoalKey = fault.GoalKey

// ToolOf returns a tool as an MCP server lists it, for repair.Execute.
func ToolOf(t *mcp.Tool) repair.Tool {
	tool := repair.Tool{Name: t.Name, Description: t.Description}
	if raw, err := json.Marshal(t.InputSchema); err == nil && string(raw) != "null" {
		tool.Schema = raw // otherwise any arguments match
	}
	if hints := t.Annotations; hints != nil {
		tool.ReadOnly, tool.Idempotent = hints.ReadOnlyHint, hints.IdempotentHint
	}
	return tool
}

func init() { execute.UseResults(sdkResults{}) }

// sdkResults reads and writes results of the official MCP SDK.
type sdkResults struct{}

// Failure implements [execute.Results].
func (sdkResults) Failure(result any, err error) execute.Failure {
	if err != nil {
		f := execute.Failure{Err: err, Text: err.Error(), Fault: FaultOf(err), Lost: errors.Is(err, mcp.ErrConnectionClosed)}
		if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
			f.Text, f.Code = rpc.Message, int(rpc.Code)
		}
		return f
	}
	answer, ok := result.(*mcp.CallToolResult)
	if !ok || answer == nil || !answer.IsError {
		return execute.Failure{}
	}
	f := execute.Failure{Result: answer, Text: failure(answer, nil).Text, Err: answer.GetError(), Fault: FaultOf(answer)}
	if f.Err == nil {
		f.Err = errors.New(cmp.Or(f.Text, "the tool returned an error"))
	}
	f.Lost = errors.Is(f.Err, mcp.ErrConnectionClosed)
	return f
}

// Note implements [execute.Results].
func (sdkResults) Note(result any, err error, text string) (any, error) {
	if rpc, ok := err.(*jsonrpc.Error); ok {
		explained := *rpc
		explained.Message += "\n\n" + text
		return result, &explained
	}
	answer, ok := result.(*mcp.CallToolResult)
	if err != nil || !ok || answer == nil {
		return execute.Errors{}.Note(result, err, text)
	}
	explained := *answer
	explained.Content = append(slices.Clone(answer.Content), &mcp.TextContent{Text: text})
	return &explained, nil
}

// Stamp implements [execute.Results].
func (sdkResults) Stamp(d *gate.Decision, result any) any {
	answer, ok := result.(mcp.Result)
	if !ok {
		return result
	}
	stamped, _ := withAddition(d.Answered(d.Arguments, failure(answer, nil)), answer, nil)
	return stamped
}

// withAddition adds to a response what the gate has to say about the call. An error stays an error. A
// result is copied first, because it may be the tool's own.
func withAddition(added gate.Addition, result mcp.Result, err error) (mcp.Result, error) {
	var rpc *jsonrpc.Error
	if added.Explanation != "" && errors.As(err, &rpc) {
		explained := *rpc
		explained.Message += "\n\n" + added.Explanation
		if explained.Data == nil {
			explained.Data, _ = json.Marshal(map[string]json.RawMessage{fault.ReportKey: added.Report})
		}
		return result, &explained
	}
	if added.Explanation != "" && err != nil {
		return result, fmt.Errorf("%w\n\n%s", err, added.Explanation)
	}
	answer, ok := result.(*mcp.CallToolResult)
	if !ok || err != nil || answer == nil || added.Receipt == nil && added.Report == nil && added.Explanation == "" {
		return result, err
	}
	stamped := *answer
	stamped.Meta = mcp.Meta{}
	maps.Copy(stamped.Meta, answer.Meta)
	if added.Receipt != nil {
		stamped.Meta[fault.ReceiptKey] = added.Receipt
	}
	if added.Report != nil {
		stamped.Meta[fault.ReportKey] = added.Report
	}
	stamped.Content = slices.Clone(answer.Content)
	for _, text := range []string{added.Note, added.Explanation} {
		if text != "" && answer.InputRequests == nil { // a result that requests input has no content
			stamped.Content = append(stamped.Content, &mcp.TextContent{Text: text})
		}
	}
	return &stamped, nil
}

// failure reads how the server says that a call failed.
func failure(result mcp.Result, err error) gate.Response {
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		return gate.Response{Text: rpc.Message, Code: int(rpc.Code)}
	}
	answer, ok := result.(*mcp.CallToolResult)
	if !ok || err != nil || answer == nil || !answer.IsError {
		return gate.Response{}
	}
	lines := make([]string, len(answer.Content))
	for i, block := range answer.Content {
		text, ok := block.(*mcp.TextContent)
		if !ok {
			return gate.Response{}
		}
		lines[i] = text.Text
	}
	return gate.Response{Text: strings.Join(lines, "\n")}
}
