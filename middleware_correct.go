package gauze

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/mend/execute"
	gate "github.com/gauze-mcp/gauze/internal/mend/repair"
)

// refuse answers a call that does not match the schema of its tool: it runs as a model corrected it,
// or not at all.
func (m *middleware) refuse(ctx context.Context, req *mcp.CallToolRequest, d *gate.Decision, tool listedTool) (mcp.Result, error) {
	refusal := d.Refusal()
	if refusal.Code != fault.ArgumentsInvalid || tool.schema == nil || m.Model == nil {
		return refused(req, refusal)
	}
	switch found := m.correct(ctx, req, refusal, tool); {
	case found == nil || m.changed(ctx, req, d.Tool, tool): // the question takes time
	case found.Send:
		first, _, _ := strings.Cut(refusal.Message, "\n")
		return m.sendCorrected(ctx, req, d, found, rejectedCall{first, tool, func() (mcp.Result, error) { return refused(req, refusal) }})
	default:
		refusal.Message, refusal.Report = correct.Offer(refusal.Message, refusal.Report, found.Proposal)
	}
	return refused(req, refusal)
}

func (m *middleware) correct(ctx context.Context, req *mcp.CallToolRequest, refusal *fault.Fault, tool listedTool) *execute.Correction {
	r := correct.Rejection{Text: refusal.Message, Unsent: true}
	return m.Ask(ctx, correct.Call{
		Tool: tool.source.Name, About: tool.source.Description, Goal: requestGoal(ctx, req), Schema: tool.schema, Arguments: req.Params.Arguments,
		Safe: tool.readOnly, Rejection: r, Class: correct.Classify(r), Secrets: execute.EnvironSecrets().Redact,
	})
}

// requestGoal returns what a call is for, if its client or the server's own code says so.
func requestGoal(ctx context.Context, req *mcp.CallToolRequest) string {
	if goal, ok := req.Params.Meta[GoalKey].(string); ok {
		return goal
	}
	return execute.Goal(ctx)
}

// rejectedCall is a call that is corrected.
type rejectedCall struct {
	text   string // why it was rejected
	tool   listedTool
	answer func() (mcp.Result, error) // without the correction
}

// sendCorrected runs a corrected call. If it fails, the answer also says why the call as it came was
// rejected.
func (m *middleware) sendCorrected(ctx context.Context, req *mcp.CallToolRequest, d *gate.Decision, found *execute.Correction, first rejectedCall) (mcp.Result, error) {
	params := *req.Params
	params.Name, params.Arguments = d.Tool, found.Arguments
	req = &mcp.CallToolRequest{Session: req.Session, Params: &params, Extra: req.Extra}
	m.mu.Lock()
	tools := m.tools
	m.mu.Unlock()
	corrected := m.admit(req, tools)
	if corrected.Verdict == gate.Refused || corrected.Adjusted(found.Arguments) {
		return first.answer() // the tool changed meanwhile
	}
	corrected.Receipt.Called, corrected.Receipt.Tool = d.Receipt.Called, d.Receipt.Tool
	found.Receipt(&corrected.Receipt, d.Receipt.Changes)
	ran := m.run(ctx, req, corrected, first.tool)
	failed := ran.Failure()
	m.Sent(found, failed.Err)
	result, err := m.answered(corrected, ran, nil)
	if failed.Err != nil {
		return execute.Noted(result, err, correct.BothFailed(first.text, found.Changes, failed.Text))
	}
	return result, err
}

// finish answers a call that ran. If its tool rejected the arguments, it runs once more as a model
// corrected them, or the correction is shown: a tool that writes may have acted, unless it says by an
// ArgumentError that it did not.
func (m *middleware) finish(ctx context.Context, req *mcp.CallToolRequest, d *gate.Decision, tool listedTool, ran execute.Attempt[mcp.Result]) (mcp.Result, error) {
	first := ran.Failure()
	found := m.correctFailure(ctx, req, d, tool, first)
	answer := func() (mcp.Result, error) { return m.answered(d, ran, nil) }
	switch {
	case found == nil || m.changed(ctx, req, d.Tool, tool): // the question takes time
		return answer()
	case found.Send:
		if ran.Note != "" {
			tool.readOnly = false // one repetition is enough
		}
		return m.sendCorrected(ctx, req, d, found, rejectedCall{first.Text, tool, answer})
	}
	return m.answered(d, ran, found)
}

// correctFailure asks for a correction of a call that its tool rejected. It returns nil if there is none.
func (m *middleware) correctFailure(ctx context.Context, req *mcp.CallToolRequest, d *gate.Decision, tool listedTool, first execute.Failure) *execute.Correction {
	if first.Err == nil || m.Model == nil || tool.schema == nil || isDialogue(req) {
		return nil
	}
	rejection, class := first.Rejection(d.Arguments, nil)
	return m.Ask(ctx, correct.Call{
		Tool: tool.source.Name, About: tool.source.Description, Goal: requestGoal(ctx, req), Schema: tool.schema, Arguments: req.Params.Arguments,
		Safe: tool.readOnly, Tried: d.Receipt.Changes, Rejection: rejection, Class: class, Secrets: execute.EnvironSecrets().Redact,
	})
}

// isDialogue reports whether a call is a later part of a dialogue with its tool.
func isDialogue(req *mcp.CallToolRequest) bool {
	return req.Params.InputResponses != nil || req.Params.RequestState != ""
}
