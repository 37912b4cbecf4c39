package gauze

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/mend/execute"
	gate "github.com/gauze-mcp/gauze/internal/mend/repair"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
	"github.com/gauze-mcp/gauze/llm"
	"github.com/gauze-mcp/gauze/repair"
)

// MiddlewareOptions configures Middleware.
type MiddlewareOptions struct {
	// Repair is what happens to calls that do not match their tool's input schema. Since the schema
	// is the server's own, a call that cannot be repaired is refused in every mode, and
	// RepairDefault and RepairStrict are the same. With RepairOff no call is changed, so every call
	// that does not match is refused.
	Repair RepairMode

	// Explain words what a model reads about a call that is refused, and what is added to a tool's own
	// rejection of its arguments. It gets the usual message, and returns what to use instead, or "" to
	// keep it. It is possibly called from several goroutines.
	Explain func(repair.Explanation) string

	// Model is asked once about a call that would be refused, because rules cannot repair it, or that
	// its tool rejects because of its arguments. A corrected call that may be sent runs in its place;
	// otherwise, and with RepairOff, the answer shows it. A tool that is not read-only runs again only
	// if its error is an repair.ArgumentError, which says that nothing happened. Default: no model is asked.
	Model llm.Model
	// Correct is which calls are corrected, and which are repeated: a call of a read-only tool that
	// fails for a reason that may be over soon, such as repair.RejectionTimeout, runs once more.
	Correct repair.Policy
	// OnEvent is called for every question to the model and every repetition, before the call is
	// answered, and possibly from several goroutines.
	OnEvent func(event.Event)
}

// Middleware repairs and explains tool calls in a server built with the official SDK. A call whose
// arguments do not match the tool's input schema is repaired if that does not change its meaning.
// Tools that are neither read-only nor idempotent get only repairs with a single reading. What was
// changed is reported in the _meta of the result under "io.github.gauze-mcp/repair", and, depending
// on the mode, in a line of text for the model.
//
// A call that cannot be repaired does not run. Its result is an error that tells the model
// everything that is wrong, what to change, and a call that would pass. An unknown tool stays a
// protocol error that names similar tools, or all of them. A call that matches is not changed.
//
//	server.AddReceivingMiddleware(gauze.Middleware(gauze.MiddlewareOptions{}))
//
// Middleware learns the tools from tools/list responses that pass through it, and lists the tools
// itself before it changes or refuses a call. It does not list them before every call, so a tool
// that is replaced by a stricter one may receive calls that match the old schema until the next
// list, if it was added with Server.AddTool, which does not validate.
//
// It panics if MiddlewareOptions.Correct is invalid.
//
// Install it after middleware that hides tools from some clients: it lists the tools in the name of
// the caller, so that it names only tools that the caller can see.
func Middleware(o MiddlewareOptions) mcp.Middleware {
	settings := correct.Settings[repair.RejectionKind](o.Correct)
	policy, err := settings.Policy()
	if err != nil {
		panic(fmt.Sprintf("gauze: MiddlewareOptions.Correct: %v", err))
	}
	policy.OfferOnly = policy.OfferOnly || o.Repair == RepairOff
	mode := gate.Mode(o.Repair)
	if o.Repair == RepairStrict {
		mode = gate.ModeDefault // they are the same here: what cannot be checked is up to the server's own checks
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		m := &middleware{
			mode: mode, next: next, gate: gate.Gate{Authoritative: true, Explain: wording(o.Explain)},
			Corrector: execute.Corrector{Model: settings.ModelOr(o.Model), Policy: policy, OnEvent: o.OnEvent},
		}
		return m.handle
	}
}

// maxToolPages limits the pages of one tools/list.
const maxToolPages = 1000

// middleware passes the tool calls of a server through the repair gate.
type middleware struct {
	mode gate.Mode
	next mcp.MethodHandler
	gate gate.Gate
	execute.Corrector

	mu    sync.Mutex
	tools map[string]listedTool // as last listed; replaced, never modified
}

// toolList is the tools of the server as the repair gate reads them.
type toolList struct {
	mode  gate.Mode
	tools map[string]listedTool
}

type listedTool struct {
	source *mcp.Tool // the SDK returns the same pointer until the tool changes
	schema *gate.Schema
	safe   bool

	readOnly bool
}

// Tool returns a tool by its name.
func (l toolList) Tool(name string) (gate.Tool, bool) {
	tool, listed := l.tools[name]
	t := gate.Tool{Schema: tool.schema, Safe: tool.safe, Mode: l.mode}
	if listed {
		t.About = tool.source.Description
	}
	return t, listed
}

// Names returns the names of all tools, in order.
func (l toolList) Names() []string { return slices.Sorted(maps.Keys(l.tools)) }

func (m *middleware) handle(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	if call, ok := req.(*mcp.CallToolRequest); ok && call.Params != nil {
		return m.call(ctx, call)
	}
	result, err := m.next(ctx, method, req)
	if list, ok := result.(*mcp.ListToolsResult); ok && err == nil && list != nil {
		request, _ := req.(*mcp.ListToolsRequest)
		m.learn(list.Tools, request == nil || request.Params == nil || request.Params.Cursor == "")
	}
	return result, err
}

// call handles one tool call. The tools may have changed since they were listed, so the last list is
// only used to let a call pass. The server is asked again before a call is changed or refused.
func (m *middleware) call(ctx context.Context, req *mcp.CallToolRequest) (mcp.Result, error) {
	m.mu.Lock()
	tools := m.tools
	m.mu.Unlock()
	if known, ok := tools[req.Params.Name]; ok {
		if d := m.admit(req, tools); d.Verdict == gate.Valid || d.Verdict == gate.Unverified {
			ran := m.run(ctx, req, d, known)
			if !rejectedBySDK(ran.Result, ran.Err) || !m.changed(ctx, req, req.Params.Name, known) {
				return m.finish(ctx, req, d, known, ran)
			}
		}
	}
	tools, err := m.list(ctx, req)
	if err != nil || len(tools) == 0 {
		return m.next(ctx, "tools/call", req)
	}
	d := m.admit(req, tools)
	if d.Verdict == gate.Refused {
		return m.refuse(ctx, req, d, tools[d.Tool])
	}
	return m.finish(ctx, req, d, tools[d.Tool], m.run(ctx, req, d, tools[d.Tool]))
}

// admit asks the gate. Mistakes are counted for each session, without keeping it alive.
func (m *middleware) admit(req *mcp.CallToolRequest, tools map[string]listedTool) *gate.Decision {
	call := gate.Call{Caller: weak.Make(req.Session), Tool: req.Params.Name, Arguments: req.Params.Arguments}
	d := m.gate.Admit(call, toolList{m.mode, tools})
	return &d
}

// changed reports whether the server's tool of a name is a different one now, or gone.
func (m *middleware) changed(ctx context.Context, req *mcp.CallToolRequest, name string, tool listedTool) bool {
	tools, err := m.list(ctx, req)
	return err == nil && tools[name].schema != tool.schema
}

// run passes a call to the server as the gate decided.
func (m *middleware) run(ctx context.Context, req *mcp.CallToolRequest, d *gate.Decision, tool listedTool) execute.Attempt[mcp.Result] {
	if d.Adjusted(req.Params.Arguments) {
		params := *req.Params
		params.Name, params.Arguments = d.Tool, d.Arguments
		req = &mcp.CallToolRequest{Session: req.Session, Params: &params, Extra: req.Extra}
	}
	known := execute.Tool{Name: d.Tool, ReadOnly: tool.readOnly && !isDialogue(req)}
	return execute.Run(ctx, &m.Corrector, known, d.Arguments, func(ctx context.Context, _ json.RawMessage) (mcp.Result, error) {
		return m.next(ctx, "tools/call", req)
	})
}

// answered returns the response to a call that ran, with what the gate has to say about it, a correction
// that is only shown unless it is nil, and the note about a first attempt.
func (m *middleware) answered(d *gate.Decision, ran execute.Attempt[mcp.Result], offered *execute.Correction) (mcp.Result, error) {
	added := d.Answered(d.Arguments, failure(ran.Result, ran.Err))
	if offered != nil {
		const mark = fault.ModelMark + "] "
		text, report := correct.Offer(strings.TrimPrefix(added.Explanation, mark), added.Report, offered.Proposal)
		added.Explanation, added.Report = mark+text, report
	}
	result, err := withAddition(added, ran.Result, ran.Err)
	if m.mode == gate.ModeSilent {
		return result, err
	}
	return execute.Noted(result, err, ran.Note)
}

// refused returns the response to a call that is not sent.
func refused(req *mcp.CallToolRequest, f *fault.Fault) (mcp.Result, error) {
	if f.Code == fault.ToolUnknown {
		var rpc jsonrpc.Error
		if err := json.Unmarshal(f.RPCError(), &rpc); err != nil {
			return nil, err
		}
		return nil, &rpc
	}
	var result mcp.CallToolResult
	if err := json.Unmarshal(f.ToolResult(req.ProtocolVersion() >= wire.FirstModern), &result); err != nil {
		return nil, err
	}
	// Decoded numbers would be inexact.
	result.Meta = mcp.Meta{fault.MetaKey: json.RawMessage(f.JSON()), fault.ReportKey: json.RawMessage(f.Report)}
	return &result, nil
}

// rejectedBySDK reports whether the SDK rejected a call before the tool ran, so that it can be
// decided about and sent again.
func rejectedBySDK(result mcp.Result, err error) bool {
	text := failure(result, err).Text
	return strings.HasPrefix(text, `validating "arguments":`) || err != nil && strings.HasPrefix(text, "unknown tool ")
}

// list asks the server for its tools, as the caller would.
func (m *middleware) list(ctx context.Context, req *mcp.CallToolRequest) (map[string]listedTool, error) {
	meta := maps.Clone(req.Params.Meta)
	delete(meta, "progressToken") // it belongs to the call
	var tools []*mcp.Tool
	cursor := ""
	for range maxToolPages {
		result, err := m.next(ctx, "tools/list", &mcp.ListToolsRequest{
			Session: req.Session, Extra: req.Extra, Params: &mcp.ListToolsParams{Meta: meta, Cursor: cursor},
		})
		if err != nil {
			return nil, err
		}
		page, ok := result.(*mcp.ListToolsResult)
		if !ok || page == nil {
			return nil, errors.New("the response to tools/list is not a list of tools")
		}
		tools = append(tools, page.Tools...)
		if cursor = page.NextCursor; cursor == "" {
			return m.learn(tools, true), nil
		}
	}
	return nil, errors.New("tools/list has too many pages")
}

// learn remembers listed tools and returns all that are known. The first page of a list replaces
// what was known before.
func (m *middleware) learn(listed []*mcp.Tool, first bool) map[string]listedTool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := map[string]listedTool{}
	if !first {
		maps.Copy(known, m.tools)
	}
	for _, t := range listed {
		if t == nil {
			continue
		}
		tool := m.tools[t.Name]
		if tool.source != t {
			tool = newListedTool(t)
		}
		known[t.Name] = tool
	}
	m.tools = known
	return known
}

func newListedTool(t *mcp.Tool) listedTool {
	tool := ToolOf(t)
	return listedTool{t, gate.Compile(tool.Schema), tool.ReadOnly || tool.Idempotent, tool.ReadOnly}
}
