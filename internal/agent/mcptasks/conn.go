package mcptasks

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

const extension = "io.modelcontextprotocol/tasks"

// Transport adds tasks to the connections of a transport.
type Transport struct {
	mcp.Transport
	Backend Backend
}

// Connect returns a connection with tasks.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{Connection: inner, backend: t.Backend, edits: map[jsonrpc.ID]edit{}, running: map[jsonrpc.ID]*call{},
		known: map[string]*call{}, questions: map[jsonrpc.ID]*call{}, waiting: map[jsonrpc.ID]context.CancelFunc{}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// edit changes the result of a request that the SDK answers.
type edit func(json.RawMessage) json.RawMessage

// conn is a connection with tasks.
type conn struct {
	mcp.Connection
	backend Backend
	ctx     context.Context // canceled when the connection closes
	stop    context.CancelFunc
	pending []jsonrpc.Message // for the SDK, before readErr
	readErr error

	mu        sync.Mutex
	legacy    bool                              // the session has version 2025-11-25
	edits     map[jsonrpc.ID]edit               // by request of the client
	running   map[jsonrpc.ID]*call              // calls by the id that the SDK knows
	known     map[string]*call                  // calls by the id of their task
	order     []string                          // keys of known, oldest first
	questions map[jsonrpc.ID]*call              // requests to the client during calls
	waiting   map[jsonrpc.ID]context.CancelFunc // requests of tasks/result
}

// Read returns the next message for the SDK. When the client has closed its side, calls that are tasks
// are canceled first: the SDK waits for them.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.pending) > 0 {
			next := c.pending[0]
			c.pending = c.pending[1:]
			return next, nil
		}
		if c.readErr != nil {
			return nil, c.readErr
		}
		message, err := c.Connection.Read(ctx)
		switch m := message.(type) {
		case *jsonrpc.Request:
			message = c.request(m)
		case *jsonrpc.Response:
			c.answered(m.ID)
		}
		if err != nil {
			c.readErr, c.pending = err, c.cancelAll()
			continue
		}
		if message != nil {
			return message, nil
		}
	}
}

// meta is what the _meta of a request says about tasks.
type meta struct {
	Version      string `json:"io.modelcontextprotocol/protocolVersion"`
	Capabilities struct {
		Extensions map[string]json.RawMessage `json:"extensions"`
	} `json:"io.modelcontextprotocol/clientCapabilities"`
}

func (m meta) modern() bool { return m.Version >= wire.FirstModern }

func (m meta) declares() bool { _, ok := m.Capabilities.Extensions[extension]; return ok }

// params are the parameters of requests that concern tasks.
type params struct {
	Meta          meta            `json:"_meta"`
	Name          string          `json:"name"`
	Arguments     json.RawMessage `json:"arguments"`
	Task          json.RawMessage `json:"task"`
	TaskID        any             `json:"taskId"`
	Cursor        any             `json:"cursor"`
	RequestID     any             `json:"requestId"`
	Notifications struct {
		TaskIDs []json.RawMessage `json:"taskIds"`
	} `json:"notifications"`
}

// hasTask reports whether a call is to be a task. Clients that encode every member send null for none.
func (p params) hasTask() bool { return p.Task != nil && string(p.Task) != "null" }

// mayDefer reports whether the result of a call may be a task.
func (p params) mayDefer() bool { return p.Meta.modern() && p.Meta.declares() }

// request returns what the SDK receives for a request, or nil if it is handled here.
func (c *conn) request(r *jsonrpc.Request) jsonrpc.Message {
	method, isTask := strings.CutPrefix(r.Method, "tasks/")
	switch r.Method {
	case "initialize", "server/discover", "tools/list", "tools/call", "subscriptions/listen", "notifications/cancelled":
	default:
		if !isTask {
			return r
		}
	}
	if !r.IsCall() && r.Method != "notifications/cancelled" {
		return r
	}
	var p params
	_ = json.Unmarshal(r.Params, &p) // what is wrong with a request of ours shows in its fields, and the SDK decodes the others itself
	c.mu.Lock()
	legacy := c.legacy && !p.Meta.modern()
	c.mu.Unlock()
	switch {
	case isTask && p.Meta.modern():
		go c.modernMethod(r.ID, method, p)
		return nil
	case isTask && legacy:
		return c.legacyMethod(r, method, p)
	case r.Method == "initialize":
		c.edit(r.ID, c.negotiated)
	case r.Method == "server/discover":
		c.edit(r.ID, addExtension)
	case r.Method == "tools/list" && legacy:
		c.edit(r.ID, addExecution(c.backend.Supports))
	case r.Method == "tools/call" && legacy && p.hasTask():
		return c.create(r, p)
	case r.Method == "tools/call" && p.mayDefer() && c.backend.Supports(p.Name):
		c.edit(r.ID, c.deferred)
		return told(r, r.ID, headerDefer, "yes")
	case r.Method == "subscriptions/listen" && p.Notifications.TaskIDs != nil && !p.Meta.declares():
		c.refuse(r.ID, missingExtension())
		return nil
	case r.Method == "notifications/cancelled" && c.stopsWaiting(p.RequestID):
		return nil
	}
	return r
}

// told returns a request for the SDK with a note for the tool.
func told(r *jsonrpc.Request, id jsonrpc.ID, name, value string) *jsonrpc.Request {
	return &jsonrpc.Request{ID: id, Method: r.Method, Params: r.Params, Extra: &mcp.RequestExtra{Header: http.Header{name: {value}}}}
}

func (c *conn) edit(id jsonrpc.ID, e edit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.edits[id] = e
}

// negotiated adds the capability if the session has the version for it.
func (c *conn) negotiated(result json.RawMessage) json.RawMessage {
	var chosen struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(result, &chosen) // the SDK encoded it
	c.mu.Lock()
	c.legacy = chosen.Version == wire.NewestLegacy
	c.mu.Unlock()
	if chosen.Version != wire.NewestLegacy {
		return result
	}
	return addTasks(result)
}

// Write sends a message of the SDK to the client. The result of a call that is a task is kept.
func (c *conn) Write(ctx context.Context, message jsonrpc.Message) error {
	switch m := message.(type) {
	case *jsonrpc.Response:
		c.mu.Lock()
		call, change := c.running[m.ID], c.edits[m.ID]
		delete(c.running, m.ID)
		delete(c.edits, m.ID)
		c.mu.Unlock()
		if call != nil {
			c.returned(call, m)
			return nil
		}
		if change != nil && m.Error == nil {
			changed := *m
			changed.Result = change(m.Result)
			return c.Connection.Write(ctx, &changed)
		}
	case *jsonrpc.Request:
		if m.IsCall() {
			c.asks(m)
		} else if m.Method == "notifications/cancelled" {
			c.withdrawn(m)
		}
	}
	return c.Connection.Write(ctx, message)
}

// Close closes the connection.
func (c *conn) Close() error {
	c.stop()
	return c.Connection.Close()
}

// reply answers a request of the client.
func (c *conn) reply(id jsonrpc.ID, result any, err error) {
	if err != nil {
		c.refuse(id, err)
		return
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		c.refuse(id, err)
		return
	}
	_ = c.Connection.Write(c.ctx, &jsonrpc.Response{ID: id, Result: encoded}) // the client may be gone
}

func (c *conn) refuse(id jsonrpc.ID, err error) {
	var coded *jsonrpc.Error
	if !errors.As(err, &coded) {
		err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	_ = c.Connection.Write(c.ctx, &jsonrpc.Response{ID: id, Error: err}) // the client may be gone
}

// invalid returns an error about the parameters of a request.
func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// taskID returns the taskId of a request.
func (p params) taskID() (string, error) {
	id, _ := p.TaskID.(string)
	if id == "" {
		return "", invalid("invalid taskId: must be the taskId of a task, a string")
	}
	return id, nil
}

// find returns a task of this connection or of the backend.
func (c *conn) find(id string) (Task, error) {
	c.mu.Lock()
	known := c.known[id]
	c.mu.Unlock()
	if known != nil {
		return c.state(known), nil
	}
	found, err := c.backend.Find(c.ctx, id)
	if err != nil {
		return found, invalid(err.Error())
	}
	found.ID = id
	return found, nil
}

// stopsWaiting ends the wait of a request of tasks/result that the client canceled, and reports
// whether there was one.
func (c *conn) stopsWaiting(request any) bool {
	id, err := jsonrpc.MakeID(request)
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.waiting[id]
	if err != nil || end == nil {
		return false
	}
	end()
	return true
}
