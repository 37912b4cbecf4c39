package gauze

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/repair"
)

// MiddlewareOptions of Middleware. The zero value gives messages only.
type MiddlewareOptions struct {
	// Repair sends on what can be repaired without changing its meaning, and
	// tells so in the result: receipts in its _meta under
	// "io.github.gauze-mcp/repair", and in a line of text what the model should
	// know. Tools that are neither read-only nor idempotent get only repairs
	// that have one reading.
	Repair bool
}

// Middleware gives a server built with the official SDK our messages: a call
// whose arguments do not fit the tool's input schema, or whose tool does not
// exist, is answered with everything that is wrong with it, what to change and
// a call that would pass, as an isError result that the model reads. The tool
// does not run. A call that fits is not touched.
//
//	server.AddReceivingMiddleware(gauze.Middleware(gauze.MiddlewareOptions{Repair: true}))
//
// It learns the tools from tools/list: from those that pass, and by asking
// itself before it changes or refuses a call. It does not ask before each
// call, so that other middleware sees none it need not; a tool added by
// Server.AddTool, which checks nothing itself, and replaced by a stricter one
// may get calls that fit the old one until the next list.
//
// Install it after middleware that hides tools from some clients: it asks for
// tools/list in the name of the caller, and so names only tools the caller can
// see.
func Middleware(o MiddlewareOptions) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		d := &desk{MiddlewareOptions: o, next: next, mistakes: map[mistaker]mistake{}}
		return d.handle
	}
}

const (
	firstModern  = "2026-07-28" // protocol version in which results say that they are complete
	mostPages    = 1000         // of a tools/list: a server that never ends is not followed for ever
	mostMistakes = 1000         // remembered, of callers that invent tools
)

// desk is where calls are looked at before the server sees them.
type desk struct {
	MiddlewareOptions
	next mcp.MethodHandler

	mu       sync.Mutex
	tools    map[string]deskTool // as last listed: good for saying yes, not for saying no
	mistakes map[mistaker]mistake
}

// deskTool is what is known of a tool.
type deskTool struct {
	listed *mcp.Tool // where it is from: the SDK hands out the same one until it changes
	schema *repair.Schema
	safe   bool // it only reads, or may be repeated
}

// mistaker is who makes mistakes with what. It does not keep a session alive.
type mistaker struct {
	session weak.Pointer[mcp.ServerSession]
	tool    string
}

// mistake is the last one made, and how often in a row.
type mistake struct {
	sum   uint64
	times int
}

func (d *desk) handle(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	if call, ok := req.(*mcp.CallToolRequest); ok && call.Params != nil {
		return d.call(ctx, call)
	}
	result, err := d.next(ctx, method, req)
	if list, ok := result.(*mcp.ListToolsResult); ok && err == nil && list != nil {
		request, _ := req.(*mcp.ListToolsRequest)
		d.learn(list.Tools, request == nil || request.Params == nil || request.Params.Cursor == "")
	}
	return result, err
}

// call is the story of one call. What was listed before may be out of date, as
// nobody tells us when the server's tools change. So it is believed where it
// lets a call pass, which the server then checks itself, and the server is
// asked anew before a call is changed or refused.
func (d *desk) call(ctx context.Context, req *mcp.CallToolRequest) (mcp.Result, error) {
	d.mu.Lock()
	tool, known := d.tools[req.Params.Name]
	d.mu.Unlock()
	if known {
		if out := d.judge(tool, req.Params.Name, req); out.Verdict == repair.Valid || out.Verdict == repair.Unverified {
			result, err := d.send(ctx, req, req.Params.Name, out)
			if !turnedAway(result, err) || !d.changed(ctx, req, tool) {
				return d.settle(req, tool, out.Arguments, result, err)
			}
		}
	}
	return d.decide(ctx, req)
}

// changed is whether the server has another tool of that name by now, or none.
func (d *desk) changed(ctx context.Context, req *mcp.CallToolRequest, tool deskTool) bool {
	tools, err := d.list(ctx, req)
	return err == nil && tools[req.Params.Name].schema != tool.schema
}

// decide judges a call by what the server says now.
func (d *desk) decide(ctx context.Context, req *mcp.CallToolRequest) (mcp.Result, error) {
	tools, err := d.list(ctx, req)
	if err != nil || len(tools) == 0 {
		return d.next(ctx, "tools/call", req) // nothing to judge by: the server has its own words
	}
	name := req.Params.Name
	if _, ok := tools[name]; !ok {
		names := slices.Sorted(maps.Keys(tools))
		meant, ok := repair.ToolName(name, names)
		if !ok || !d.Repair {
			return d.refuse(req, fault.Fault{Code: fault.ToolUnknown}, func(times int) repair.Message {
				return repair.UnknownTool(name, names, times)
			}), nil
		}
		name = meant
	}
	tool := tools[name]
	out := d.judge(tool, name, req)
	if out.Verdict == repair.Refused && !out.OnlyFormats() { // whether it is a date is for the tool to say
		return d.refuse(req, fault.Fault{Code: fault.ArgumentsInvalid}, func(times int) repair.Message {
			return tool.schema.Explain(name, out, times)
		}), nil
	}
	result, err := d.send(ctx, req, name, out)
	return d.settle(req, tool, out.Arguments, result, err)
}

func (d *desk) judge(tool deskTool, name string, req *mcp.CallToolRequest) repair.Outcome {
	o := repair.Options{Tool: name, Tier: repair.Off}
	if d.Repair {
		o.Tier = repair.Silent
		if tool.safe {
			o.Tier = repair.Told
		}
	}
	return tool.schema.Arguments(req.Params.Arguments, o)
}

// send hands a call to the server, and receipts to the caller.
func (d *desk) send(ctx context.Context, req *mcp.CallToolRequest, name string, out repair.Outcome) (mcp.Result, error) {
	if !d.Repair || name == req.Params.Name && len(out.Changes) == 0 && len(out.Notes) == 0 {
		return d.next(ctx, "tools/call", req)
	}
	params := *req.Params
	params.Name = name
	if out.Verdict == repair.Repaired {
		params.Arguments = out.Arguments
	}
	result, err := d.next(ctx, "tools/call", &mcp.CallToolRequest{Session: req.Session, Params: &params, Extra: req.Extra})
	if answer, ok := result.(*mcp.CallToolResult); ok && err == nil && answer != nil {
		return withReceipt(answer, req.Params.Name, name, out), nil
	}
	return result, err
}

// withReceipt is a copy of a result, which may be the tool's own, that says
// what was changed of its call.
func withReceipt(answer *mcp.CallToolResult, called, name string, out repair.Outcome) *mcp.CallToolResult {
	receipt := struct {
		Called  string          `json:"called,omitempty"`
		Tool    string          `json:"tool,omitempty"`
		Changes []repair.Change `json:"changes,omitempty"`
		Notes   []string        `json:"notes,omitempty"`
	}{Changes: out.Changes, Notes: out.Notes}
	var told []string
	if called != name {
		receipt.Called, receipt.Tool = called, name
		told = append(told, "the tool is called "+name+", not "+fault.Quote(called))
	}
	for _, change := range out.Changes {
		if change.Tier > repair.Silent {
			told = append(told, change.String())
		}
	}
	told = append(told, out.Notes...)
	stamped := *answer
	stamped.Meta = maps.Clone(answer.Meta)
	if stamped.Meta == nil {
		stamped.Meta = mcp.Meta{}
	}
	stamped.Meta[fault.ReceiptKey] = receipt
	if len(told) > 0 && answer.InputRequests == nil { // a result that asks back has no content
		text := fault.ModelMark + "] The call was adjusted: " + strings.Join(told, "; ") + ". Use this form next time."
		stamped.Content = append(slices.Clone(answer.Content), &mcp.TextContent{Text: text})
	}
	return &stamped
}

// refuse answers a call that is not sent on, or that was turned away. Who makes the same mistake again
// reads less, and at last to stop.
func (d *desk) refuse(req *mcp.CallToolRequest, f fault.Fault, explain func(times int) repair.Message) *mcp.CallToolResult {
	message := explain(1)
	if times := d.remember(req, message.Text); times > 1 {
		message = explain(times)
	}
	f.Tool, f.Message, f.Report = req.Params.Name, message.Text, message.Data
	var result mcp.CallToolResult
	if err := json.Unmarshal(f.ToolResult(req.ProtocolVersion() >= firstModern), &result); err != nil {
		result.SetError(&f) // cannot happen: it is JSON of our own
	}
	result.Meta = mcp.Meta{fault.MetaKey: json.RawMessage(f.JSON())} // as it was written: decoding makes numbers inexact
	if message.Data != nil {
		result.Meta[fault.ReportKey] = message.Data
	}
	return &result
}

var mistakeSeed = maphash.MakeSeed()

// remember counts how often in a row a caller made the same mistake.
func (d *desk) remember(req *mcp.CallToolRequest, message string) (times int) {
	who, sum := mistaker{weak.Make(req.Session), req.Params.Name}, maphash.String(mistakeSeed, message)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.mistakes) >= mostMistakes {
		clear(d.mistakes)
	}
	last := d.mistakes[who]
	if last.sum != sum {
		last = mistake{sum: sum}
	}
	last.times++
	d.mistakes[who] = last
	return last.times
}

// forgive ends a row of mistakes.
func (d *desk) forgive(req *mcp.CallToolRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.mistakes) > 0 {
		delete(d.mistakes, mistaker{weak.Make(req.Session), req.Params.Name})
	}
}

// settle hands on what became of a call. A complaint about arguments that we
// let pass, by the tool or the SDK, is put into words that help.
func (d *desk) settle(req *mcp.CallToolRequest, tool deskTool, sent []byte, result mcp.Result, err error) (mcp.Result, error) {
	said := complaint(result, err)
	var rpc *jsonrpc.Error
	coded := errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeInvalidParams
	if said == "" || !repair.IsComplaint(said, coded) || tool.schema.Complaint(tool.listed.Name, sent, said, 1).Text == "" {
		d.forgive(req)
		return result, err
	}
	explained := d.refuse(req, fault.Fault{Code: fault.ArgumentsInvalid, Delivery: fault.Answered}, func(times int) repair.Message {
		return tool.schema.Complaint(tool.listed.Name, sent, said, times)
	})
	if err != nil {
		return explained, nil
	}
	// What the tool said stays; ours comes behind it.
	answer := *result.(*mcp.CallToolResult)
	answer.Content = append(slices.Clone(answer.Content), explained.Content...)
	answer.Meta = maps.Clone(answer.Meta)
	if answer.Meta == nil {
		answer.Meta = mcp.Meta{}
	}
	maps.Copy(answer.Meta, explained.Meta)
	return &answer, nil
}

// turnedAway is whether the SDK itself did not let the tool run, so that the
// call may be judged and sent once more.
func turnedAway(result mcp.Result, err error) bool {
	said := complaint(result, err)
	return strings.HasPrefix(said, `validating "arguments":`) || err != nil && strings.HasPrefix(said, "unknown tool ")
}

// complaint is the text in which a call is said to have failed.
func complaint(result mcp.Result, err error) string {
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && (rpc.Code == jsonrpc.CodeInvalidParams || rpc.Code == jsonrpc.CodeInternalError) {
		return rpc.Message
	}
	answer, ok := result.(*mcp.CallToolResult)
	if !ok || err != nil || answer == nil || !answer.IsError || len(answer.Content) != 1 {
		return ""
	}
	if text, ok := answer.Content[0].(*mcp.TextContent); ok {
		return text.Text
	}
	return ""
}

// list asks the server for its tools, as the caller would.
func (d *desk) list(ctx context.Context, req *mcp.CallToolRequest) (map[string]deskTool, error) {
	meta := maps.Clone(req.Params.Meta)
	delete(meta, "progressToken") // it is the call's
	var tools []*mcp.Tool
	cursor := ""
	for range mostPages {
		result, err := d.next(ctx, "tools/list", &mcp.ListToolsRequest{
			Session: req.Session, Extra: req.Extra, Params: &mcp.ListToolsParams{Meta: meta, Cursor: cursor},
		})
		if err != nil {
			return nil, err
		}
		page, ok := result.(*mcp.ListToolsResult)
		if !ok || page == nil {
			return nil, errors.New("tools/list was answered with something else")
		}
		tools = append(tools, page.Tools...)
		if cursor = page.NextCursor; cursor == "" {
			return d.learn(tools, true), nil
		}
	}
	return nil, errors.New("tools/list does not end")
}

// learn keeps what a list says and returns all that is known. The first page
// begins anew.
func (d *desk) learn(listed []*mcp.Tool, first bool) map[string]deskTool {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := map[string]deskTool{}
	if !first {
		maps.Copy(known, d.tools)
	}
	for _, t := range listed {
		if t == nil {
			continue
		}
		tool := d.tools[t.Name]
		if tool.listed != t {
			tool = newDeskTool(t)
		}
		known[t.Name] = tool
	}
	d.tools = known // whoever holds the old one may go on reading it
	return known
}

func newDeskTool(t *mcp.Tool) deskTool {
	raw, err := json.Marshal(t.InputSchema)
	if err != nil || bytes.Equal(raw, []byte("null")) {
		raw = nil // then anything fits
	}
	hints := t.Annotations
	return deskTool{
		listed: t, schema: repair.Compile(raw),
		safe: hints != nil && (hints.ReadOnlyHint || hints.IdempotentHint),
	}
}
