package mcptasks

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// call is a tools/call that is a task. The SDK runs it under an id of our own.
type call struct {
	id       string // of the task
	request  jsonrpc.ID
	created  time.Time
	returned chan struct{} // closed when the SDK has answered
	ended    chan struct{} // closed when final is set

	// Guarded by the mutex of the connection.
	updated    time.Time
	asking     int // questions that the client has for the user
	cancelling bool
	final      *final
}

// final is how a call ended.
type final struct {
	status  Status
	message string
	result  json.RawMessage
	err     error
}

const (
	maxOpenCalls  = 64
	maxKnownCalls = 1000
)

// create makes a call a task: the client receives the task, and the SDK the call.
func (c *conn) create(r *jsonrpc.Request, p params) jsonrpc.Message {
	var asked struct {
		TTL *float64 `json:"ttl"`
	}
	if err := json.Unmarshal(p.Task, &asked); err != nil || asked.TTL != nil && *asked.TTL < 0 {
		c.refuse(r.ID, invalid("invalid task: must be an object, with ttl, if any, in milliseconds"))
		return nil
	}
	if !c.backend.Supports(p.Name) {
		c.refuse(r.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("the tool %q does not support tasks: call it without task", p.Name)})
		return nil
	}
	request, err := jsonrpc.MakeID("task-" + rand.Text())
	if err != nil {
		c.refuse(r.ID, err)
		return nil
	}
	k := &call{request: request, created: time.Now(), returned: make(chan struct{}), ended: make(chan struct{})}
	k.updated = k.created
	id := c.backend.NewID(c.ctx, p.Name, p.Arguments)
	if !c.register(k, id) {
		c.refuse(r.ID, fmt.Errorf("%d tasks are open, which is the limit: wait for one of them", maxOpenCalls))
		return nil
	}
	c.reply(r.ID, map[string]any{"task": Task{ID: k.id, Status: Working, Created: k.created, Updated: k.created}.legacy()}, nil)
	return told(r, request, headerTask, k.id)
}

// register adds a call with an id that no other call has. It fails if too many are open.
func (c *conn) register(k *call, id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.running) >= maxOpenCalls {
		return false
	}
	k.id = id
	for n := 2; c.known[k.id] != nil; n++ { // the same task was to be resumed before, and was not
		k.id = fmt.Sprintf("%s.%d", id, n)
	}
	c.known[k.id], c.running[k.request] = k, k
	c.order = append(c.order, k.id)
	for i := 0; len(c.order) > maxKnownCalls && i < len(c.order); i++ {
		if old := c.order[i]; c.known[old].final != nil {
			delete(c.known, old)
			c.order = append(c.order[:i:i], c.order[i+1:]...)
			i--
		}
	}
	return true
}

// state returns a call as a task.
func (c *conn) state(k *call) Task {
	c.mu.Lock()
	t := Task{ID: k.id, Status: Working, Created: k.created, Updated: k.updated}
	final, asking := k.final, k.asking
	c.mu.Unlock()
	switch {
	case final != nil:
		t.Status, t.Message = final.status, final.message
	case asking > 0:
		t.Status, t.Message = InputRequired, "the user must confirm the task"
	default:
		if found, err := c.backend.Find(c.ctx, k.id); err == nil && !found.Status.terminal() {
			t.Message, t.Updated = found.Message, found.Updated
		}
	}
	return t
}

// asks notes that the client must ask the user something before a call continues.
func (c *conn) asks(r *jsonrpc.Request) {
	c.mu.Lock()
	k := c.known[relatedTo(r.Params)]
	if k != nil {
		c.questions[r.ID] = k
		k.asking++
		k.updated = time.Now()
	}
	c.mu.Unlock()
	if k != nil {
		c.notify(k)
	}
}

// answered notes that the client has answered a question, or that it was withdrawn.
func (c *conn) answered(id jsonrpc.ID) {
	c.mu.Lock()
	k := c.questions[id]
	delete(c.questions, id)
	if k != nil {
		k.asking--
		k.updated = time.Now()
	}
	c.mu.Unlock()
	if k != nil {
		c.notify(k)
	}
}

// withdrawn notes that the SDK no longer waits for the answer to a question.
func (c *conn) withdrawn(r *jsonrpc.Request) {
	var p params
	if json.Unmarshal(r.Params, &p) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(p.RequestID); err == nil {
		c.answered(id)
	}
}

// returned keeps the answer of the SDK to a call, unless the call is being canceled.
func (c *conn) returned(k *call, r *jsonrpc.Response) {
	how := c.finalOf(r)
	c.mu.Lock()
	maps.DeleteFunc(c.questions, func(_ jsonrpc.ID, asking *call) bool { return asking == k })
	k.asking = 0
	cancelling := k.cancelling
	if !cancelling {
		k.end(how)
	}
	c.mu.Unlock()
	close(k.returned)
	if !cancelling {
		c.notify(k)
	}
}

// end notes how a call ended. The connection is locked.
func (k *call) end(how *final) {
	k.final, k.updated = how, time.Now()
	close(k.ended)
}

func (c *conn) finalOf(r *jsonrpc.Response) *final {
	if r.Error != nil {
		return &final{status: Failed, message: firstLine(r.Error.Error()), err: r.Error}
	}
	var result struct {
		IsError bool                    `json:"isError"`
		Content []struct{ Text string } `json:"content"`
	}
	_ = json.Unmarshal(r.Result, &result) // the SDK encoded it
	out := &final{status: Failed, result: r.Result}
	switch {
	case !result.IsError:
		out.status, out.message = c.backend.Outcome(r.Result)
	case len(result.Content) > 0:
		out.message = firstLine(result.Content[0].Text)
	}
	return out
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// cancel cancels a call and stops what it began. If that takes long, it returns why, and the call ends
// later.
func (c *conn) cancel(k *call) error {
	<-k.returned
	began, err := c.backend.Stop(c.ctx, k.id)
	switch {
	case began && err != nil:
		go func() { c.end(k, c.stopped(k.id, c.backend.Wait(c.ctx, k.id))) }()
		return err
	case began || err != nil:
		c.end(k, c.stopped(k.id, err))
	default:
		const nothing = "cancelled before it began, and nothing was done"
		c.end(k, &final{status: Cancelled, message: "it was " + nothing, err: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the task was " + nothing}})
	}
	return nil
}

// stopped returns how a task of the backend ended.
func (c *conn) stopped(id string, err error) *final {
	var found Task
	if err == nil {
		found, err = c.backend.Find(c.ctx, id)
	}
	if err != nil {
		return &final{status: Failed, message: firstLine(err.Error()), err: err}
	}
	out := &final{status: found.Status, message: found.Message}
	out.result, out.err = c.backend.Result(c.ctx, id)
	return out
}

// end ends a call that was canceled.
func (c *conn) end(k *call, how *final) {
	c.mu.Lock()
	k.end(how)
	c.mu.Unlock()
	c.notify(k)
}

// cancelRequest returns the notification that ends a call in the SDK.
func cancelRequest(k *call) jsonrpc.Message {
	text, _ := json.Marshal(map[string]any{"requestId": k.request.Raw(), "reason": "the task was cancelled"}) // a string always encodes
	return &jsonrpc.Request{Method: "notifications/cancelled", Params: text}
}

// cancelAll returns what ends the calls in the SDK when the client is gone. What they began goes on.
func (c *conn) cancelAll() (all []jsonrpc.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.running {
		all = append(all, cancelRequest(k))
	}
	return all
}

// notify tells the client that a task changed.
func (c *conn) notify(k *call) {
	text, err := json.Marshal(c.state(k).legacy())
	if err == nil {
		_ = c.Connection.Write(c.ctx, &jsonrpc.Request{Method: "notifications/tasks/status", Params: text}) // the client may be gone
	}
}
