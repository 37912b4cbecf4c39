package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Codes of errors.
const (
	CodeParse              = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
)

// Error is the error of a response.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// invalid returns an error about the parameters of a request.
func invalid(format string, args ...any) error {
	return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

func notFound(method string) error {
	return &Error{Code: CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q", method)}
}

// conn is the connection to the client.
type conn struct {
	server     *Server
	ctx        context.Context // canceled when the connection ends
	stop       context.CancelCauseFunc
	requests   sync.WaitGroup // requests without a response
	background sync.WaitGroup // work of tasks, which no response waits for

	writing sync.Mutex
	out     io.Writer

	mu         sync.Mutex
	closed     bool
	session    *peer                         // of initialize, or else of the first modern request
	began      bool                          // initialize was answered
	running    map[string]context.CancelFunc // by id of the request
	unanswered int                           // requests whose response is not written, also those that are no longer running
	asked      map[string]chan wire.Message  // by id of our request
	lastID     int
	taskCalls
}

func newConn(ctx context.Context, stop context.CancelCauseFunc, s *Server, out io.Writer) *conn {
	return &conn{server: s, ctx: ctx, stop: stop, out: out, running: map[string]context.CancelFunc{}, asked: map[string]chan wire.Message{},
		taskCalls: taskCalls{known: map[string]*taskCall{}}}
}

// close makes the connection reject new requests.
func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// message is a message to the client.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// write sends a message. If that is not possible, the client is gone, and the connection ends.
func (c *conn) write(m message) {
	m.Version = "2.0"
	text, err := json.Marshal(m)
	if err == nil {
		c.writing.Lock()
		_, err = c.out.Write(append(text, '\n'))
		c.writing.Unlock()
	}
	if err != nil {
		c.stop(fmt.Errorf("cannot write to the client: %w", err))
	}
}

// reply answers a request with a result, or an error if there is one.
func (c *conn) reply(id json.RawMessage, result any, err error) {
	var text []byte
	if err == nil {
		text, err = json.Marshal(result)
	}
	if err != nil {
		c.refuse(id, err)
		return
	}
	c.write(message{ID: id, Result: text})
}

func (c *conn) refuse(id json.RawMessage, err error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	c.write(message{ID: id, Error: coded(err)})
}

// coded returns an error for a response.
func coded(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) {
		return &Error{Code: CodeInternal, Message: "the request was cancelled"}
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}

func (c *conn) notify(method string, params any) { c.write(message{Method: method, Params: params}) }

// maxRunning is how many requests may be in progress.
const maxRunning = 1000

// start answers a request with what work returns. The context of work is canceled when the client
// cancels the request. It reports whether work is done at all: too many requests are rejected, and those
// with the id of a request in progress.
func (c *conn) start(id json.RawMessage, work func(ctx context.Context) (result any, err error)) bool {
	ctx, cancel := context.WithCancel(c.ctx)
	if err := c.admit(id, cancel); err != nil {
		cancel()
		c.refuse(id, err)
		return false
	}
	go func() {
		defer c.requests.Done()
		result, err := work(ctx)
		c.mu.Lock()
		delete(c.running, string(id)) // the client may use the id again when it has the response
		c.mu.Unlock()
		cancel()
		c.reply(id, result, err)
		c.mu.Lock()
		c.unanswered--
		c.mu.Unlock()
	}()
	return true
}

// admit adds a request to those in progress, or returns why it is rejected.
func (c *conn) admit(id json.RawMessage, cancel context.CancelFunc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return errors.New("the connection is closing")
	case c.running[string(id)] != nil:
		return &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf("a request with the id %s is already in progress: use a different id", id)}
	case c.unanswered >= maxRunning:
		return fmt.Errorf("%d requests are in progress, which is the limit: wait for one of them to finish", maxRunning)
	}
	c.running[string(id)] = cancel
	c.unanswered++
	c.requests.Add(1)
	return nil
}

// cancelled cancels the request that a notification names.
func (c *conn) cancelled(text []byte) {
	var p params
	if wire.DecodeExact(text, &p) != nil {
		return
	}
	c.mu.Lock()
	cancel := c.running[string(p.RequestID)]
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// ask sends a request to the client and returns the result. If ctx is done first, the request is
// withdrawn, and an answer does not count.
func (c *conn) ask(ctx context.Context, method string, params any, withdrawn func()) (json.RawMessage, error) {
	answer := make(chan wire.Message, 1)
	c.mu.Lock()
	c.lastID++
	id := strconv.Itoa(c.lastID)
	c.asked[id] = answer
	c.mu.Unlock()
	c.write(message{ID: json.RawMessage(id), Method: method, Params: params})
	select {
	case m := <-answer:
		if ctx.Err() != nil { // select chooses at random
			return nil, ctx.Err()
		}
		if m.Error != nil {
			return nil, fmt.Errorf("the client responded to %s with an error", method)
		}
		return m.Result, nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	delete(c.asked, id)
	c.mu.Unlock()
	withdrawn()
	c.notify("notifications/cancelled", map[string]any{"requestId": json.RawMessage(id), "reason": "the answer is no longer needed"})
	return nil, ctx.Err()
}

// answered passes on the response to a request of ours.
func (c *conn) answered(m wire.Message) {
	c.mu.Lock()
	answer := c.asked[string(wire.PlainID(m.ID))]
	delete(c.asked, string(wire.PlainID(m.ID)))
	c.mu.Unlock()
	if answer != nil {
		answer <- m // it has room for the only one
	}
}
