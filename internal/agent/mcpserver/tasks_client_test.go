package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// work is what a tool does in a test.
type work = func(context.Context, *Call) (*Result, error)

// says is a tool that returns a text.
func says(text string) work {
	return func(context.Context, *Call) (*Result, error) { return texted(text), nil }
}

func texted(text string) *Result { return &Result{Text: text} }

// held is a tool that returns when it is let go, or canceled.
func held(gate <-chan struct{}) work {
	return func(ctx context.Context, _ *Call) (*Result, error) {
		select {
		case <-gate:
			return texted("let go"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// kept are tasks in memory. Calls of the tool "job" can be tasks.
type kept struct {
	mu      sync.Mutex
	next    string // the next id, or "" for a number
	count   int
	tasks   map[string]Task
	begun   map[string]bool // those that Stop can stop
	stopErr error
	results map[string]string
	pages   map[string][]string // ids by cursor; the next cursor is the last id
	changed chan struct{}       // closed when a task changes
}

func (k *kept) Supports(tool string) bool { return tool == "job" }

func (k *kept) NewID(context.Context, string, json.RawMessage) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.count++
	if k.next != "" {
		return k.next
	}
	return fmt.Sprintf("job-%d", k.count)
}

// put adds or changes a task.
func (k *kept) put(t Task, result string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tasks[t.ID], k.results[t.ID] = t, result
	close(k.changed)
	k.changed = make(chan struct{})
}

func (k *kept) Find(_ context.Context, id string) (Task, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t, ok := k.tasks[id]; ok {
		return t, nil
	}
	return Task{}, errors.New("unknown task")
}

func (k *kept) Result(_ context.Context, id string) (json.RawMessage, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.results[id] == "" {
		return nil, errors.New("the result cannot be read")
	}
	return json.RawMessage(k.results[id]), nil
}

func (k *kept) Wait(ctx context.Context, id string) error {
	for {
		k.mu.Lock()
		t, changed := k.tasks[id], k.changed
		k.mu.Unlock()
		if t.Status.terminal() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (k *kept) Stop(_ context.Context, id string) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.tasks[id]; k.begun[id] && k.stopErr == nil && !t.Status.terminal() {
		t.Status, t.Message = Cancelled, "stopped"
		k.tasks[id] = t
	}
	return k.begun[id], k.stopErr
}

func (k *kept) List(_ context.Context, cursor string) (page []Task, next string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ids, ok := k.pages[cursor]
	if !ok && cursor != "" {
		return nil, "", invalid("invalid cursor")
	}
	for _, id := range ids {
		page = append(page, k.tasks[id])
		if k.pages[id] != nil {
			next = id
		}
	}
	return page, next, nil
}

func (k *kept) Outcome(result json.RawMessage) (Status, string) { return Completed, "it worked" }

// client speaks raw JSON-RPC with a server.
type client struct {
	t     *testing.T
	conn  mcp.Connection
	kept  *kept
	hello object
	ended chan error // how the server ended

	mu       sync.Mutex
	changed  *sync.Cond
	next     int64
	answers  map[jsonrpc.ID]*jsonrpc.Response
	received []*jsonrpc.Request // notifications and requests of the server
	gone     bool
}

// connect starts a server with the tools "job" and "plain". A version of the legacy era is negotiated.
func connect(t *testing.T, version string, job work) *client {
	t.Helper()
	c := &client{t: t, kept: &kept{tasks: map[string]Task{}, begun: map[string]bool{}, results: map[string]string{}, pages: map[string][]string{}, changed: make(chan struct{})},
		ended: make(chan error, 1), answers: map[jsonrpc.ID]*jsonrpc.Response{}}
	c.changed = sync.NewCond(&c.mu)
	server := &Server{Info: Info{Name: "test", Version: "1"}, Tasks: c.kept, Tools: []Tool{
		{Name: "job", InputSchema: json.RawMessage(`{"type":"object"}`), Run: job},
		{Name: "plain", InputSchema: json.RawMessage(`{"type":"object"}`), Run: says("plain")},
	}}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	go func() { c.ended <- server.Serve(context.Background(), in, out) }()
	var err error
	if c.conn, err = (&mcp.IOTransport{Reader: fromServer, Writer: toServer}).Connect(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.conn.Close() })
	go c.listen()
	if version < wire.FirstModern {
		c.hello = c.call("initialize", object{"protocolVersion": version, "capabilities": object{"elicitation": object{}}, "clientInfo": object{"name": "raw", "version": "1"}})
		c.notify("notifications/initialized", nil)
	}
	return c
}

func (c *client) listen() {
	for {
		m, err := c.conn.Read(context.Background())
		c.mu.Lock()
		switch m := m.(type) {
		case *jsonrpc.Response:
			if c.answers[m.ID] != nil {
				c.t.Errorf("a second response to %v: %s %v", m.ID, m.Result, m.Error)
			}
			c.answers[m.ID] = m
		case *jsonrpc.Request:
			c.received = append(c.received, m)
		}
		c.gone = err != nil
		c.changed.Broadcast()
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *client) write(m jsonrpc.Message) {
	c.t.Helper()
	if err := c.conn.Write(context.Background(), m); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) notify(method string, params any) {
	c.t.Helper()
	text, _ := json.Marshal(params)
	c.write(&jsonrpc.Request{Method: method, Params: text})
}

// begin sends a request.
func (c *client) begin(method string, params any) jsonrpc.ID {
	c.t.Helper()
	c.mu.Lock()
	c.next++
	id, _ := jsonrpc.MakeID(float64(c.next))
	c.mu.Unlock()
	text, err := json.Marshal(params)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(&jsonrpc.Request{ID: id, Method: method, Params: text})
	return id
}

// wait waits until ready, which is called with the lock.
func (c *client) wait(what string, ready func() bool) {
	c.t.Helper()
	limit := time.AfterFunc(20*time.Second, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.gone = true
		c.changed.Broadcast()
	})
	defer limit.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !ready() {
		if c.gone {
			c.t.Fatalf("waited for %s in vain; received %s", what, text(c.received))
		}
		c.changed.Wait()
	}
}

// answer waits for the response to a request.
func (c *client) answer(id jsonrpc.ID) (result object, err *jsonrpc.Error) {
	c.t.Helper()
	c.wait(fmt.Sprint("the response to ", id.Raw()), func() bool { return c.answers[id] != nil })
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.answers[id]
	if errors.As(r.Error, &err) {
		return nil, err
	}
	if e := json.Unmarshal(r.Result, &result); e != nil {
		c.t.Fatalf("%v: %s", e, r.Result)
	}
	return result, nil
}

func (c *client) answered(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers[id] != nil
}

// call returns the result of a request.
func (c *client) call(method string, params any) object {
	c.t.Helper()
	result, err := c.answer(c.begin(method, params))
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, text(params), err)
	}
	return result
}

// refused checks that a request is rejected with a code, and returns the message.
func (c *client) refused(code int64, method string, params any) string {
	c.t.Helper()
	result, err := c.answer(c.begin(method, params))
	if err == nil || err.Code != code {
		c.t.Errorf("%s %s: %v %v, want code %d", method, text(params), result, err, code)
		return ""
	}
	return err.Message
}

// create calls the tool "job" as a task and returns the id of the task.
func (c *client) create() string {
	c.t.Helper()
	created := c.call("tools/call", object{"name": "job", "task": object{}})
	id, _ := created["task"].(object)["taskId"].(string)
	return id
}

// question waits for the next request of the server with a method.
func (c *client) question(method string) *jsonrpc.Request {
	c.t.Helper()
	var found *jsonrpc.Request
	c.wait(method, func() bool {
		for i, r := range c.received {
			if r.Method == method {
				found = r
				c.received = append(c.received[:i:i], c.received[i+1:]...)
				return true
			}
		}
		return false
	})
	return found
}

// becomes waits until the client was told that a task has a status, and returns the notification.
func (c *client) becomes(id string, status Status) (told object) {
	c.t.Helper()
	c.wait(fmt.Sprintf("%s to be %s", id, status), func() bool {
		for i, r := range c.received {
			if r.Method != "notifications/tasks/status" {
				continue
			}
			told = object{}
			if json.Unmarshal(r.Params, &told) == nil && told["taskId"] == id && told["status"] == string(status) {
				c.received = append(c.received[:i:i], c.received[i+1:]...)
				return true
			}
		}
		return false
	})
	return told
}

func (c *client) status(id string) any {
	c.t.Helper()
	return c.call("tasks/get", object{"taskId": id})["status"]
}

func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(out)
}
