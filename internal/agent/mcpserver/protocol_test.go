package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// line is a server, spoken to by the byte.
type line struct {
	t     *testing.T
	to    *io.PipeWriter
	from  *bufio.Reader
	ended chan error
}

// dial runs a server until the test ends.
func dial(t *testing.T, serve func(context.Context, io.ReadCloser, io.WriteCloser) error) *line {
	in, to := io.Pipe()
	from, out := io.Pipe()
	l := &line{t: t, to: to, from: bufio.NewReader(from), ended: make(chan error, 1)}
	go func() { l.ended <- serve(t.Context(), in, out) }()
	t.Cleanup(func() { to.Close(); from.Close() })
	return l
}

func (l *line) say(text string) {
	l.t.Helper()
	if _, err := io.WriteString(l.to, text+"\n"); err != nil {
		l.t.Fatalf("%v: %s", err, text)
	}
}

// hear returns the next message.
func (l *line) hear() (m object) {
	l.t.Helper()
	text, err := l.from.ReadBytes('\n')
	if err != nil || json.Unmarshal(text, &m) != nil {
		l.t.Fatalf("%v: %s", err, text)
	}
	return m
}

// echo returns a server with tools that return their arguments, fail, or ask the user.
func echo() *Server {
	object := json.RawMessage(`{"type":"object"}`)
	return &Server{Info: Info{Name: "echo", Title: "Echo", Version: "1"}, Instructions: "Say something.", Tools: []Tool{
		{Name: "ask", InputSchema: object, Run: func(ctx context.Context, k *Call) (*Result, error) {
			said, err := k.Ask(ctx, Question{Message: "Yes?", Schema: json.RawMessage(`{"type":"object","properties":{"agree":{"type":"boolean"}},"required":["agree"]}`)})
			return &Result{Text: fmt.Sprintf("%s %v %v", said.Action, said.Content["agree"], err != nil)}, nil
		}},
		{Name: "echo", Title: "Say it", Description: "Says it again.", InputSchema: object, OutputSchema: object, Annotations: Annotations{ReadOnly: true, OpenWorld: true}, Run: func(_ context.Context, k *Call) (*Result, error) {
			k.Progress(1, "half of it")
			result := &Result{Text: string(k.Arguments)}
			if k.Arguments != nil {
				result.Structured = k.Arguments
			}
			return result, nil
		}},
		{Name: "fail", InputSchema: object, Run: func(context.Context, *Call) (*Result, error) { return &Result{Text: "no", IsError: true}, nil }},
	}}
}

// sdkEcho returns the same server, made with the SDK.
func sdkEcho() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Title: "Echo", Version: "1"}, &mcp.ServerOptions{Instructions: "Say something.", Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	schema, no := object{"type": "object"}, false
	yes := true
	add := func(tool *mcp.Tool, run mcp.ToolHandler) {
		if tool.InputSchema = schema; tool.Annotations == nil {
			tool.Annotations = &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no}
		}
		s.AddTool(tool, run)
	}
	text := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	add(&mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		said, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Yes?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"agree":{"type":"boolean"}},"required":["agree"]}`)})
		if said == nil {
			said = &mcp.ElicitResult{}
		}
		return text(fmt.Sprintf("%s %v %v", said.Action, said.Content["agree"], err != nil)), nil
	})
	add(&mcp.Tool{Name: "echo", Title: "Say it", Description: "Says it again.", OutputSchema: schema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, OpenWorldHint: &yes}},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if token := r.Params.GetProgressToken(); token != nil {
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: "half of it"})
			}
			result := text(string(r.Params.Arguments))
			if r.Params.Arguments != nil {
				result.StructuredContent = r.Params.Arguments
			}
			return result, nil
		})
	add(&mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result := text("no")
		result.IsError = true
		return result, nil
	})
	return s
}

const newest = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}`

// exchanges are what clients of all versions say. The server answers each line with one message, or with
// one more for each "+" before it.
var exchanges = map[string][]string{
	"legacy": {
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":"three","method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"x"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"a":[1,"<ü>"]}}}`,
		`+{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"progressToken":"t"}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"fail","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"none"}}`,
		`{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":7}}`,
		`{"jsonrpc":"2.0","id":11,"method":"tools/call","params":[1]}`,
		`{"jsonrpc":"2.0","id":12,"method":"none/such"}`,
		`{"jsonrpc":"2.0","id":13,"method":"server/discover"}`,
		`{"jsonrpc":"2.0","id":14,"method":"tools/call","params":{"name":"ask"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"agree":true}}}`,
		`{"jsonrpc":"2.0","id":15,"method":"tools/call","params":{"name":"ask"}}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"broken"}}`,
		`{"jsonrpc":"2.0","id":16,"method":"tools/call","params":{"name":"ask"}}`,
		`{"jsonrpc":"2.0","id":3,"result":{"action":"decline"}}`,
	},
	"oldest":  {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`},
	"newest":  {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`},
	"unknown": {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`},
	"modern": {
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + newest + `}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + newest + `}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"a":1},` + newest + `}}}`,
		`+{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":{"a":1},` + newest + `,"progressToken":4}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"fail",` + newest + `}}}`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"none",` + newest + `}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"ping","params":{` + newest + `}}}`,
		`{"jsonrpc":"2.0","id":8,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` + newest + `}}}`,
		`{"jsonrpc":"2.0","id":9,"method":"logging/setLevel","params":{"level":"info",` + newest + `}}}`,
		`+{"jsonrpc":"2.0","id":10,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + newest + `}}}`,
		`{"jsonrpc":"2.0","id":11,"method":"subscriptions/listen","params":{` + newest + `}}}`,
		`{"jsonrpc":"2.0","id":12,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":13,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","id":14,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":7}}}`,
	},
}

// A server of the SDK with the same tools says the same, except for the texts of errors.
func TestAnswersAreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	for name, script := range exchanges {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours := dial(t, echo().Serve)
			theirs := dial(t, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
				return sdkEcho().Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
			})
			for _, text := range script {
				said := strings.TrimLeft(text, "+")
				ours.say(said)
				theirs.say(said)
				for range len(text) - len(said) + 1 {
					a, b := ours.hear(), theirs.hear()
					for _, m := range []object{a, b} {
						if e, failed := m["error"].(object); failed {
							delete(e, "message")
						}
					}
					if !reflect.DeepEqual(a, b) {
						t.Errorf("%s\n  ours   %v\n  theirs %v", said, a, b)
					}
				}
			}
		})
	}
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}`

// A question in 2026-07-28 is a result, and the answers come with the same call.
func TestQuestionsInResults(t *testing.T) {
	t.Parallel()
	s := &Server{Tools: []Tool{{Name: "ask", Run: func(ctx context.Context, k *Call) (*Result, error) {
		if _, err := k.Ask(ctx, Question{}); err == nil || !k.Modern() || !k.CanAsk() {
			return nil, errors.New("the call could ask the wrong way")
		}
		if k.State == "" {
			return &Result{Ask: map[string]Question{"q": {Message: "Yes?", Schema: json.RawMessage(`{}`)}}, State: "s"}, nil
		}
		return &Result{Text: fmt.Sprint(k.State, k.Answers["q"].Action, k.Answers["q"].Content["agree"])}, nil
	}}}}
	l := dial(t, s.Serve)
	l.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask",` + newest + `}}}`)
	asked := l.hear()["result"].(object)
	if text(asked["inputRequests"]) != `{"q":{"method":"elicitation/create","params":{"message":"Yes?","mode":"form","requestedSchema":{}}}}` || asked["resultType"] != "input_required" || asked["requestState"] != "s" || asked["content"] != nil {
		t.Errorf("%v", asked)
	}
	for said, want := range map[string]any{`{"q":{"action":"accept","content":{"agree":true}}}`: "accepted", `{"q":{}}`: nil, `{"q":7}`: nil, `7`: nil} {
		l.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","requestState":"s","inputResponses":` + said + `,` + newest + `}}}`)
		m := l.hear()
		if want != nil {
			if got := text(m["result"].(object)["content"]); !strings.Contains(got, "saccepttrue") {
				t.Errorf("%s: %s", said, got)
			}
		} else if e, _ := m["error"].(object); e["code"] != float64(CodeInvalidParams) {
			t.Errorf("%s: %v", said, m)
		}
	}
}

// A request that is canceled is answered once, and its tool sees it.
func TestCancelledRequest(t *testing.T) {
	t.Parallel()
	s := &Server{Tools: []Tool{{Name: "job", Run: held(nil)}}}
	l := dial(t, s.Serve)
	l.say(hello)
	l.hear()
	l.say(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"job"}}`)
	l.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"other"}}`)
	l.say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if m := l.hear(); m["id"] != 1.0 {
		t.Fatalf("%v", m)
	}
	l.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`)
	if m := l.hear(); m["id"] != "x" || m["error"] == nil {
		t.Errorf("%v", m)
	}
	l.say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if m := l.hear(); m["id"] != 2.0 {
		t.Errorf("%v", m)
	}
}

// What is in progress when the client closes its side is still answered.
func TestRequestsAreAnsweredAfterTheEndOfInput(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := &Server{Tools: []Tool{{Name: "job", Run: held(gate)}}}
	l := dial(t, s.Serve)
	l.say(hello)
	l.hear()
	l.say(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"job"}}`)
	l.to.Close()
	close(gate)
	if m := l.hear(); m["id"] != 7.0 || m["result"] == nil {
		t.Errorf("%v", m)
	}
	if err := <-l.ended; err != nil {
		t.Error(err)
	}
}

// Serve ends when its context does, also if the client says nothing, and with the error if the client is gone.
func TestServeEnds(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	in, _ := io.Pipe()
	_, out := io.Pipe()
	stop()
	if err := echo().Serve(ctx, in, out); err != nil {
		t.Error(err)
	}
	l := dial(t, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return echo().Serve(ctx, in, broken{out})
	})
	l.say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	select {
	case err := <-l.ended:
		if err == nil || !strings.Contains(err.Error(), "full") {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
}

// broken is a writer that fails.
type broken struct{ io.WriteCloser }

func (broken) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// More requests than the limit are rejected, and those in progress are not affected.
func TestNumberOfRequestsIsLimited(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := &Server{Tools: []Tool{{Name: "job", Run: held(gate)}}}
	l := dial(t, s.Serve)
	l.say(hello)
	l.hear()
	for i := range maxRunning + 1 {
		l.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"job"}}`, i))
	}
	if m := l.hear(); m["id"] != float64(maxRunning) || m["error"] == nil {
		t.Errorf("%v", m)
	}
	close(gate)
	seen := map[any]bool{}
	for range maxRunning {
		m := l.hear()
		if m["result"] == nil || seen[m["id"]] {
			t.Fatalf("%v", m)
		}
		seen[m["id"]] = true
	}
}

// A request with the id of one in progress is rejected, and the one in progress is not affected.
func TestIDInProgressIsRejected(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := &Server{Tools: []Tool{{Name: "job", Run: held(gate)}}}
	l := dial(t, s.Serve)
	l.say(hello)
	l.hear()
	l.say(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"job"}}`)
	for range 2 {
		l.say(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"job"}}`)
		e, _ := l.hear()["error"].(object)
		if e["code"] != float64(CodeInvalidRequest) || !strings.Contains(text(e), "the id 5 is already in progress") {
			t.Fatalf("%v", e)
		}
	}
	close(gate)
	for range 2 { // the second time after the response
		if m := l.hear(); m["id"] != 5.0 || m["result"] == nil {
			t.Fatalf("%v", m)
		}
		l.say(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"job"}}`)
	}
	l.hear()
}

// written calls a function with every message that is written.
type written func(m message)

func (w written) Write(line []byte) (int, error) {
	var m message
	err := json.Unmarshal(line, &m)
	w(m)
	return len(line), err
}

// Requests count until their responses are written, so that a client that reads nothing reaches the limit.
func TestRequestsWithoutAWrittenResponseCount(t *testing.T) {
	t.Parallel()
	writing, read := make(chan struct{}), make(chan struct{})
	c := newConn(t.Context(), nil, nil, written(func(message) { writing <- struct{}{}; <-read }))
	c.unanswered = maxRunning - 1
	if !c.start(json.RawMessage("1"), func(context.Context) (any, error) { return object{}, nil }) {
		t.Fatal("rejected")
	}
	<-writing // the work is done, and the response is not written
	if err := c.admit(json.RawMessage("2"), func() {}); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Error(err)
	}
	close(read)
	c.requests.Wait()
	if err := c.admit(json.RawMessage("2"), func() {}); err != nil {
		t.Error(err)
	}
}

// An answer that arrives after the call was canceled does not count, although both are known at once.
func TestAnswerAfterACancellation(t *testing.T) {
	t.Parallel()
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		var c *conn
		c = newConn(ctx, nil, nil, written(func(m message) {
			if m.Method == "elicitation/create" {
				cancel()
				c.answered(wire.Message{ID: m.ID, Result: []byte(`{"action":"accept"}`)})
			}
		}))
		if result, err := c.ask(ctx, "elicitation/create", object{}, func() {}); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s, %v", result, err)
		}
	}
}

func TestUnlistedAndRespelledTools(t *testing.T) {
	t.Parallel()
	s := &Server{Tools: []Tool{{Name: "listed", Run: says("1")}, {Name: "other", Unlisted: true, Run: says("2")}}, Respell: strings.ToLower}
	l := dial(t, s.Serve)
	l.say(hello)
	l.hear()
	l.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if list := text(l.hear()); !strings.Contains(list, `"listed"`) || strings.Contains(list, "other") {
		t.Error(list)
	}
	for _, name := range []string{"other", "Listed", "OTHER"} {
		l.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `"}}`)
		if m := l.hear(); m["result"] == nil {
			t.Errorf("%s: %v", name, m)
		}
	}
}

// closing is a buffer with a Close.
type closing struct {
	mu sync.Mutex
	bytes.Buffer
}

func (c *closing) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Buffer.Write(p)
}
func (c *closing) Close() error { return nil }

// FuzzInput sends anything. The server ends when it does, every line that it wrote is a message, and every
// valid request has one response.
func FuzzInput(f *testing.F) {
	f.Add([]byte(hello + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}` + "\n{bad\n[]\n[1,{}]\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"job","task":{}}}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"taskId":"job-1"}}`))
	f.Add([]byte(hello + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"job","task":{}}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tasks/cancel","params":{"taskId":"job-1"}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"job-1"}}`))
	for _, script := range exchanges {
		f.Add([]byte(strings.ReplaceAll(strings.Join(script, "\n"), "+", "")))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 4096 {
			return
		}
		s := echo()
		s.Tools = append(s.Tools[1:], Tool{Name: "job", Run: says("ok")}) // without the one that waits for the user
		s.Tasks = &kept{tasks: map[string]Task{}, begun: map[string]bool{}, results: map[string]string{}, pages: map[string][]string{}, changed: make(chan struct{})}
		out := &closing{}
		if err := s.Serve(context.Background(), io.NopCloser(bytes.NewReader(input)), out); err != nil {
			t.Fatal(err)
		}
		due := 0
		for text := range bytes.SplitSeq(input, []byte("\n")) {
			if m, rest, err := wire.Scan(bytes.TrimSpace(wire.WithoutMark(text))); err == nil && m.Kind == wire.Request && len(rest) == 0 && json.Valid(m.Raw) {
				due++
			}
		}
		answers := 0
		for text := range bytes.SplitSeq(bytes.TrimSpace(out.Bytes()), []byte("\n")) {
			if len(text) == 0 {
				continue
			}
			m, rest, err := wire.Scan(text)
			if err != nil || len(rest) > 0 {
				t.Fatalf("%v: %s", err, text)
			}
			if m.Kind == wire.Response && string(m.ID) != "null" {
				answers++
			}
		}
		if answers < due {
			t.Errorf("%d requests, %d responses: %s", due, answers, out.Bytes())
		}
	})
}
