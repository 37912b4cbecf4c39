package gauze

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/correct"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/llm"
)

// Executor corrects tool calls that fail because of their arguments, whatever runs the tools: pass
// each call through [Execute]. The zero value repairs calls by rules, and repeats calls of read-only
// tools that fail for a reason that may be over soon; with a Model it also corrects what rules cannot
// repair. An Executor is safe for concurrent use if its fields are not changed.
type Executor struct {
	// Model is asked for corrected arguments when a call has failed. Default: no model is asked.
	Model llm.Model
	// Policy is which failures are corrected. If it is Disabled, every call is passed on as it came.
	Policy CorrectionPolicy
	// Strict means that a call that does not match the tool's schema, and cannot be repaired or
	// corrected, fails without being dispatched. Its error contains a [Fault] with
	// [CodeArgumentsInvalid]. Without Strict it is dispatched as it came, and corrected if it fails.
	Strict bool
	// Explain words the error of a call that Strict refuses. It gets the usual message, and returns what
	// to use instead, or "" to keep it.
	Explain func(Explanation) string
	// OnEvent is called for every call that was repaired or repeated, and for every question to the
	// model. It is called before Execute returns, possibly from several goroutines.
	OnEvent func(Event)
}

// Tool is what an [Executor] needs to know about a tool. Only the name is required.
type Tool struct {
	Name        string          // Name is the name of the tool.
	Description string          // Description is what the tool does, for the model.
	Schema      json.RawMessage // Schema is the input schema. Without it, nothing is repaired by rules.
	ReadOnly    bool            // ReadOnly means that the tool changes nothing.
	Idempotent  bool            // Idempotent means that a second call has no further effect.
}

// safe reports whether a wrong call of the tool does no harm if it is sent again.
func (t Tool) safe() bool { return t.ReadOnly || t.Idempotent }

// ToolOf returns a tool as an MCP server lists it.
func ToolOf(t *mcp.Tool) Tool {
	tool := Tool{Name: t.Name, Description: t.Description}
	if raw, err := json.Marshal(t.InputSchema); err == nil && string(raw) != "null" {
		tool.Schema = raw // otherwise any arguments match
	}
	if hints := t.Annotations; hints != nil {
		tool.ReadOnly, tool.Idempotent = hints.ReadOnlyHint, hints.IdempotentHint
	}
	return tool
}

// Execute runs a tool call by dispatch, which can be any function that runs a tool. A call that
// succeeds is passed through: its result is returned as it is, and no model is asked.
//
// If the call fails because of its arguments, the Executor's model is asked once for corrected
// ones, and dispatch is called once more with them. Values of the model's own, which neither the
// caller sent nor the schema declares, are dispatched only to a tool that is ReadOnly, only in
// arguments that were rejected or missing, and only if the policy is Open. Since dispatch
// receives the corrected arguments, its own checks apply to them. It may mark errors with
// [ArgumentError]; JSON-RPC errors and an [mcp.CallToolResult] with IsError are understood. Failures
// of other kinds, such as a missing permission or an error that is not known, are never corrected.
//
// If a tool that is ReadOnly fails for a reason that may be over soon ([RejectionTimeout],
// [RejectionConnection], [RejectionModel]), dispatch is called once more with the same arguments, after
// half a second, if the caller's time allows it. No model is needed for that. The second answer counts:
// its error wraps that of dispatch, and an [mcp.CallToolResult] says in its content what happened.
//
// Without a correction or a repetition, the result and the error are those of dispatch. If the corrected call
// fails, or must not be sent because the first one may have had an effect, the error is a
// [*CorrectionError]; an [mcp.CallToolResult] remains one, and says so in its content.
func Execute[R any](ctx context.Context, e *Executor, tool Tool, arguments json.RawMessage, dispatch func(context.Context, json.RawMessage) (R, error)) (R, error) {
	var result R
	x, err := e.begin(tool, arguments)
	if err != nil {
		return result, err
	}
	first := x.refused
	var ran attempt[R]
	if first.err == nil {
		ran = runCall(ctx, &x.corrector, tool, x.arguments, dispatch)
		if first = ran.failure(); first.err == nil {
			return ran.answer()
		}
	}
	found := x.correct(ctx, first)
	switch {
	case found == nil && x.refused.err != nil:
		return result, x.refused.err
	case found == nil:
		return ran.answer()
	case !found.Send:
		return answer(ran.result, first, failedCall{}, x.failed(first, failedCall{}, found))
	}
	if ran.note != "" {
		tool.ReadOnly = false // one repetition is enough
	}
	again := runCall(ctx, &x.corrector, tool, found.Arguments, dispatch)
	second := again.failure()
	x.sent(found, second.err)
	if second.err != nil {
		return answer(again.result, first, second, x.failed(first, second, found))
	}
	again.result = as(x.stamped(again.result, found), again.result)
	return again.answer()
}

// answer returns a failure that has been corrected. Two results that are errors become one.
func answer[R any](result R, first, second failedCall, e *CorrectionError) (R, error) {
	if first.result == nil || second.err != nil && second.result == nil {
		return result, e
	}
	explained := *first.result
	note := fault.ModelMark + "] " + strings.TrimPrefix(e.text, first.err.Error()+"\n") // the content says it already
	explained.Content = append(slices.Clone(explained.Content), &mcp.TextContent{Text: note})
	return as(&explained, result), nil
}

// as returns value if it has the type R, and otherwise the other value.
func as[R any](value any, otherwise R) R {
	if v, ok := value.(R); ok {
		return v
	}
	return otherwise
}

// execution is one call on its way through an Executor.
type execution struct {
	corrector
	tool      Tool
	schema    *repair.Schema
	explain   func(repair.Explanation) string
	original  json.RawMessage  // as the caller sent them
	arguments json.RawMessage  // as they are dispatched
	tried     []repair.Change  // by rules
	misfit    *repair.Decision // about arguments that do not match the schema; nil if they do
	refused   failedCall       // a call that Strict does not dispatch
}

// begin repairs a call by rules.
func (e *Executor) begin(tool Tool, arguments json.RawMessage) (*execution, error) {
	policy, err := e.Policy.internal()
	if err != nil {
		return nil, fmt.Errorf("gauze: Executor.Policy: %w", err)
	}
	x := &execution{corrector: corrector{e.Policy.model(e.Model), policy, e.OnEvent}, tool: tool, explain: internalExplain(e.Explain), original: arguments, arguments: arguments}
	if policy.Off {
		return x, nil
	}
	x.schema = repair.Compile(tool.Schema)
	if len(tool.Schema) == 0 {
		return x, nil
	}
	switch d := x.admit(arguments); d.Verdict {
	case repair.Repaired:
		x.arguments, x.tried = d.Arguments, d.Receipt.Changes
		x.emit(Event{Kind: EventRepaired, Tool: tool.Name, Detail: correct.Describe(x.tried), Count: len(x.tried)})
	case repair.Refused:
		x.misfit = d
		if e.Strict {
			x.refused = refusedCall(d.Refusal())
		}
	}
	return x, nil
}

// admit validates arguments against the tool's schema.
func (x *execution) admit(arguments []byte) *repair.Decision {
	gate := repair.Gate{Authoritative: true, Explain: x.explain}
	d := gate.Admit(repair.Call{Tool: x.tool.Name, Arguments: arguments},
		repair.Only{Schema: x.schema, About: x.tool.Description, Safe: x.tool.safe()})
	return &d
}

// refusedCall returns the failure of a call that is not dispatched.
func refusedCall(f *fault.Fault) failedCall {
	public := decodeFault(f.JSON())
	public.Report = f.Report
	return failedCall{err: &faultError{errors.New(f.Message), public}, text: f.Message}
}

// correct asks for a correction of a call that failed. It returns nil if there is none.
func (x *execution) correct(ctx context.Context, first failedCall) *correction {
	if x.policy.Off || x.model == nil || ctx.Err() != nil {
		return nil
	}
	rejection, class := first.rejection(x.arguments, x.misfit)
	if class.Kind == correct.Unknown {
		class = correct.ClassifyCall(rejection, x.schema, x.arguments)
	}
	found := x.ask(ctx, correct.Call{
		Tool: x.tool.Name, About: x.tool.Description, Goal: goalOf(ctx), Schema: x.schema, Arguments: x.original,
		Safe: x.tool.ReadOnly, Tried: x.tried, Rejection: rejection, Class: class, Secrets: environSecrets().Redact,
	})
	if found != nil && x.admit(found.Arguments).Adjusted(found.Arguments) {
		return nil // cannot happen: a correction matches the schema
	}
	return found
}

// stamped adds the receipt to the result of a corrected call, if it is an MCP result.
func (x *execution) stamped(result any, found *correction) any {
	answer, ok := result.(mcp.Result)
	if !ok {
		return result
	}
	d := x.admit(found.Arguments)
	found.receipt(&d.Receipt, x.tried)
	stamped, _ := withAddition(d.Answered(d.Arguments, failure(answer, nil)), answer, nil)
	return stamped
}
