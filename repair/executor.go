package repair

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/mend/execute"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
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
	Policy Policy
	// Strict means that a call that does not match the tool's schema, and cannot be repaired or
	// corrected, fails without being dispatched, and so does one that cannot be checked, for example
	// because a key occurs twice. Its error contains a [fault.Fault] with [fault.ArgumentsInvalid].
	// Without Strict it is dispatched as it came, and corrected if it fails.
	Strict bool
	// Explain words the error of a call that Strict refuses. It gets the usual message, and returns what
	// to use instead, or "" to keep it.
	Explain func(Explanation) string
	// OnEvent is called for every call that was repaired or repeated, and for every question to the
	// model. It is called before Execute returns, possibly from several goroutines.
	OnEvent func(event.Event)
}

// Tool is what an [Executor] needs to know about a tool. Only the name is required.
type Tool struct {
	Name        string          // name of the tool
	Description string          // what the tool does, for the model
	Schema      json.RawMessage // input schema; without it, nothing is repaired by rules
	ReadOnly    bool            // the tool changes nothing
	Idempotent  bool            // a second call has no further effect
}

// Execute runs a tool call by dispatch, which can be any function that runs a tool. A call that
// succeeds is passed through: its result is returned as it is, and no model is asked.
//
// If the call fails because of its arguments, the Executor's model is asked once for corrected
// ones, and dispatch is called once more with them. Values of the model's own, which neither the
// caller sent nor the schema declares, are dispatched only to a tool that is ReadOnly, only in
// arguments that were rejected or missing, and only if the policy is Open. Since dispatch
// receives the corrected arguments, its own checks apply to them. It may mark errors with
// [ArgumentError]. In a program that imports package gauze, JSON-RPC errors of the official MCP SDK and
// an mcp.CallToolResult with IsError are understood as well. Failures
// of other kinds, such as a missing permission or an error that is not known, are never corrected.
//
// If a tool that is ReadOnly fails for a reason that may be over soon ([RejectionTimeout],
// [RejectionConnection], [RejectionModel]), dispatch is called once more with the same arguments, after
// half a second, if the caller's time allows it. No model is needed for that. The second answer counts:
// its error wraps that of dispatch, and an mcp.CallToolResult says in its content what happened.
//
// Without a correction or a repetition, the result and the error are those of dispatch. If the corrected call
// fails, or must not be sent because the first one may have had an effect, the error is a
// [*CorrectionError]; an mcp.CallToolResult remains one, and says so in its content.
func Execute[R any](ctx context.Context, e *Executor, tool Tool, arguments json.RawMessage,
	dispatch func(context.Context, json.RawMessage) (R, error)) (R, error) {
	var result R
	x, err := e.begin(tool, arguments)
	if err != nil {
		return result, err
	}
	first := x.refused
	var ran execute.Attempt[R]
	if first.Err == nil {
		ran = execute.Run(ctx, &x.Corrector, x.tool, x.arguments, dispatch)
		if first = ran.Failure(); first.Err == nil {
			return ran.Answer()
		}
	}
	found := x.correct(ctx, first)
	switch {
	case found == nil && x.refused.Err != nil:
		return result, x.refused.Err
	case found == nil:
		return ran.Answer()
	case !found.Send:
		return answer(ran.Result, first, execute.Failure{}, x.failed(first, execute.Failure{}, found))
	}
	once := x.tool
	if ran.Note != "" {
		once.ReadOnly = false // one repetition is enough
	}
	again := execute.Run(ctx, &x.Corrector, once, found.Arguments, dispatch)
	second := again.Failure()
	x.Sent(found, second.Err)
	if second.Err != nil {
		return answer(again.Result, first, second, x.failed(first, second, found))
	}
	again.Result = execute.As(x.stamped(again.Result, found), again.Result)
	return again.Answer()
}

// answer returns a failure that has been corrected. Two results that are errors become one.
func answer[R any](result R, first, second execute.Failure, e *CorrectionError) (R, error) {
	if first.Result == nil || second.Err != nil && second.Result == nil {
		return result, e
	}
	note := strings.TrimPrefix(e.text, first.Err.Error()+"\n") // the content says it already
	explained, _ := execute.Noted(first.Result, nil, note)
	return execute.As(explained, result), nil
}

// execution is one call on its way through an Executor.
type execution struct {
	execute.Corrector
	tool      execute.Tool
	schema    *repair.Schema
	mode      repair.Mode
	explain   func(repair.Explanation) string
	original  json.RawMessage  // as the caller sent them
	arguments json.RawMessage  // as they are dispatched
	tried     []repair.Change  // by rules
	misfit    *repair.Decision // about arguments that do not match the schema; nil if they do
	refused   execute.Failure  // a call that Strict does not dispatch
}

// begin repairs a call by rules.
func (e *Executor) begin(tool Tool, arguments json.RawMessage) (*execution, error) {
	settings := correct.Settings[RejectionKind](e.Policy)
	policy, err := settings.Policy()
	if err != nil {
		return nil, fmt.Errorf("gauze: Executor.Policy: %w", err)
	}
	x := &execution{
		Corrector: execute.Corrector{Model: settings.ModelOr(e.Model), Policy: policy, OnEvent: e.OnEvent},
		tool:      execute.Tool(tool), explain: wording(e.Explain), original: arguments, arguments: arguments,
	}
	if e.Strict {
		x.mode = repair.ModeStrict
	}
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
		x.Emit(event.Event{Kind: event.Repaired, Tool: tool.Name, Detail: correct.Describe(x.tried), Count: len(x.tried)})
	case repair.Refused:
		if d.Misfit() {
			x.misfit = d
		}
		if e.Strict {
			f := d.Refusal()
			x.refused = execute.Failure{Err: &refusal{f.Message, f.Shown()}, Text: f.Message, Fault: f}
		}
	}
	return x, nil
}

// refusal is the error of a call that is not dispatched.
type refusal struct {
	message string
	fault   *fault.Fault
}

func (e *refusal) Error() string { return e.message }
func (e *refusal) Unwrap() error { return e.fault }

// admit validates arguments against the tool's schema.
func (x *execution) admit(arguments []byte) *repair.Decision {
	gate := repair.Gate{Authoritative: true, Explain: x.explain}
	d := gate.Admit(repair.Call{Tool: x.tool.Name, Arguments: arguments},
		repair.Only{Schema: x.schema, About: x.tool.Description, Safe: x.tool.Safe(), Mode: x.mode})
	return &d
}

// correct asks for a correction of a call that failed. It returns nil if there is none.
func (x *execution) correct(ctx context.Context, first execute.Failure) *execute.Correction {
	if x.Policy.Off || x.Model == nil || ctx.Err() != nil {
		return nil
	}
	rejection, class := first.Rejection(x.arguments, x.misfit)
	if class.Kind == correct.Unknown {
		class = correct.ClassifyCall(rejection, x.schema, x.arguments)
	}
	found := x.Ask(ctx, correct.Call{
		Tool: x.tool.Name, About: x.tool.Description, Goal: execute.Goal(ctx), Schema: x.schema, Arguments: x.original,
		Safe: x.tool.ReadOnly, Tried: x.tried, Rejection: rejection, Class: class, Secrets: execute.EnvironSecrets().Redact,
	})
	if found == nil {
		return nil
	}
	if d := x.admit(found.Arguments); d.Verdict == repair.Refused || d.Adjusted(found.Arguments) {
		return nil // it matches the schema, but Strict may not be able to check it
	}
	return found
}

// failed returns the error of a call that failed with and without a correction, or whose correction
// was not sent.
func (x *execution) failed(first, second execute.Failure, found *execute.Correction) *CorrectionError {
	e := &CorrectionError{
		Tool: found.Call.Tool, First: first.Err, Second: second.Err,
		Changes: changes(found.Changes), Model: found.Asked.Model, Reason: found.Reason,
	}
	if second.Err != nil {
		e.text = correct.BothFailed(first.Err.Error(), found.Changes, second.Err.Error())
		return e
	}
	e.Offered = found.Arguments
	explanation := first.Err.Error() + "\nA corrected call was not sent: " + found.NotSent(found.Call, x.Policy) + "."
	e.text, _ = correct.Offer(explanation, nil, found.Proposal)
	return e
}

// stamped adds the receipt to the result of a corrected call, if it is an MCP result.
func (x *execution) stamped(result any, found *execute.Correction) any {
	d := x.admit(found.Arguments)
	found.Receipt(&d.Receipt, x.tried)
	return execute.Stamp(d, result)
}
