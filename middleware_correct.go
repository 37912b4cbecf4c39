package gauze

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/correct"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/repair"
)

// refuse answers a call that does not match the schema of its tool: it runs as a model corrected it,
// or not at all.
func (m *middleware) refuse(ctx context.Context, req *mcp.CallToolRequest, d *repair.Decision, tool listedTool) (mcp.Result, error) {
	refusal := d.Refusal()
	if refusal.Code != fault.ArgumentsInvalid || tool.schema == nil || m.model == nil {
		return refused(req, refusal)
	}
	switch found := m.correct(ctx, req, refusal, tool); {
	case found == nil || m.changed(ctx, req, d.Tool, tool): // the question takes time
	case found.Send:
		return m.sendCorrected(ctx, req, d, found, refusal)
	default:
		refusal.Message, refusal.Report = correct.Offer(refusal.Message, refusal.Report, found.Proposal)
	}
	return refused(req, refusal)
}

func (m *middleware) correct(ctx context.Context, req *mcp.CallToolRequest, refusal *fault.Fault, tool listedTool) *correction {
	r := correct.Rejection{Text: refusal.Message, Unsent: true}
	return m.ask(ctx, correct.Call{
		Tool: tool.source.Name, About: tool.source.Description, Schema: tool.schema, Arguments: req.Params.Arguments,
		Safe: ToolOf(tool.source).ReadOnly, Rejection: r, Class: correct.Classify(r), Secrets: environSecrets().Redact,
	})
}

// sendCorrected runs a corrected call. If it fails, the answer says that the call as it came was
// refused, and why.
func (m *middleware) sendCorrected(ctx context.Context, req *mcp.CallToolRequest, d *repair.Decision, found *correction, refusal *fault.Fault) (mcp.Result, error) {
	params := *req.Params
	params.Name, params.Arguments = d.Tool, found.Arguments
	req = &mcp.CallToolRequest{Session: req.Session, Params: &params, Extra: req.Extra}
	m.mu.Lock()
	tools := m.tools
	m.mu.Unlock()
	corrected := m.admit(req, tools)
	if corrected.Verdict == repair.Refused || corrected.Adjusted(found.Arguments) {
		return refused(req, refusal) // the tool changed meanwhile
	}
	corrected.Receipt.Called, corrected.Receipt.Tool = d.Receipt.Called, d.Receipt.Tool
	found.receipt(&corrected.Receipt, nil)
	result, err := m.send(ctx, req, corrected)
	failed := failureOf(result, err)
	m.sent(found, failed.err)
	result, err = answered(corrected, result, err)
	if failed.err != nil {
		return withRefusal(result, err, failed, found, refusal)
	}
	return result, err
}

// withRefusal adds to a failure why the call was refused before it was corrected.
func withRefusal(result mcp.Result, err error, failed failedCall, found *correction, refusal *fault.Fault) (mcp.Result, error) {
	first, _, _ := strings.Cut(refusal.Message, "\n")
	note := fault.ModelMark + "] " + correct.BothFailed(first, found.Changes, failed.text)
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		explained := *rpc
		explained.Message += "\n\n" + note
		return result, &explained
	}
	answer, ok := result.(*mcp.CallToolResult)
	if err != nil || !ok {
		return result, err
	}
	explained := *answer
	explained.Content = append(slices.Clone(answer.Content), &mcp.TextContent{Text: note})
	return &explained, nil
}
