package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// taskCall is a tools/call that is a task.
type taskCall struct {
	id       string // of the task
	stop     context.CancelFunc
	created  time.Time
	returned chan struct{} // closed when the tool has returned
	ended    chan struct{} // closed when final is set

	// Guarded by the mutex of the connection.
	updated    time.Time
	asking     int // questions that the client has for the user
	cancelling bool
	outcome    *final // what the tool returned; not the end of the call if it is being canceled
	final      *final
}

// taskCalls are the calls of a connection that are tasks. They are guarded by its mutex.
type taskCalls struct {
	known map[string]*taskCall // by id of the task
	order []string             // keys of known, oldest first
	open  int                  // how many have not returned
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

// create makes a call a task: the client receives the task, and the call goes on.
func (c *conn) create(r request) {
	var asked struct {
		TTL *float64 `json:"ttl"`
	}
	if err := json.Unmarshal(r.params.Task, &asked); err != nil || asked.TTL != nil && *asked.TTL < 0 {
		c.refuse(r.id, invalid("invalid task: must be an object; ttl, if set, must be a number of milliseconds"))
		return
	}
	if name, _ := r.params.Name.(string); !c.server.Tasks.Supports(name) {
		c.refuse(r.id, &Error{Code: CodeMethodNotFound, Message: fmt.Sprintf("the tool %q does not support tasks: call it without task", name)})
		return
	}
	tool, k, err := c.newCall(r)
	if err != nil {
		c.refuse(r.id, err)
		return
	}
	ctx, stop := context.WithCancel(c.ctx)
	t := &taskCall{stop: stop, created: time.Now(), returned: make(chan struct{}), ended: make(chan struct{})}
	t.updated = t.created
	if !c.register(t, c.server.Tasks.NewID(c.ctx, tool.Name, k.Arguments)) {
		stop()
		c.refuse(r.id, fmt.Errorf("%d tasks are open, which is the limit: wait for one of them to finish", maxOpenCalls))
		return
	}
	c.reply(r.id, object{"task": Task{ID: t.id, Status: Working, Created: t.created, Updated: t.created}.legacy()}, nil)
	k.TaskID, k.task = t.id, t
	go func() {
		defer c.background.Done()
		result, err := tool.Run(ctx, k)
		stop()
		c.returned(t, result, err)
	}()
}

// register adds a call with an id that no other call has. It fails if too many are open.
func (c *conn) register(k *taskCall, id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.open >= maxOpenCalls {
		return false
	}
	c.open++
	c.background.Add(1)
	k.id = id
	for n := 2; c.known[k.id] != nil; n++ { // the same task was to be resumed before, and was not
		k.id = fmt.Sprintf("%s.%d", id, n)
	}
	c.known[k.id] = k
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
func (c *conn) state(k *taskCall) Task {
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
		if found, err := c.server.Tasks.Find(c.ctx, k.id); err == nil && !found.Status.terminal() {
			t.Message, t.Updated = found.Message, found.Updated
		}
	}
	return t
}

// asks notes that the client must ask the user something before a call continues. k is nil if the call
// is not a task.
func (c *conn) asks(k *taskCall) { c.asksMore(k, 1) }

// hasAsked notes that the client has answered a question, or that it was withdrawn.
func (c *conn) hasAsked(k *taskCall) { c.asksMore(k, -1) }

func (c *conn) asksMore(k *taskCall, n int) {
	if k == nil {
		return
	}
	c.mu.Lock()
	k.asking += n
	k.updated = time.Now()
	c.mu.Unlock()
	c.tell(k)
}

// returned keeps the result of a call, unless the call is being canceled.
func (c *conn) returned(k *taskCall, result *Result, err error) {
	how := c.finalOf(result, err)
	c.mu.Lock()
	c.open--
	k.outcome = how
	cancelling := k.cancelling
	if !cancelling {
		k.end(how)
	}
	c.mu.Unlock()
	close(k.returned)
	if !cancelling {
		c.tell(k)
	}
}

// goOn ends the cancellation of a call, which ends with what its tool returned, perhaps before.
func (c *conn) goOn(k *taskCall) {
	c.mu.Lock()
	k.cancelling = false
	returned := k.outcome != nil
	if returned {
		k.end(k.outcome)
	}
	c.mu.Unlock()
	if returned {
		c.tell(k)
	}
}

// end notes how a call ended. The connection is locked.
func (k *taskCall) end(how *final) {
	k.final, k.updated = how, time.Now()
	close(k.ended)
}

func (c *conn) finalOf(result *Result, err error) *final {
	var encoded json.RawMessage
	if err == nil {
		encoded, err = json.Marshal(result)
	}
	switch {
	case err != nil:
		return &final{status: Failed, message: firstLine(coded(err).Message), err: err}
	case result.IsError:
		return &final{status: Failed, message: firstLine(result.Text), result: encoded}
	}
	status, message := c.server.Tasks.Outcome(encoded)
	return &final{status: status, message: message, result: encoded}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// cancel cancels a call and stops what it began. If that takes long, it returns why, and the call ends
// later.
func (c *conn) cancel(k *taskCall) error {
	<-k.returned
	began, err := c.server.Tasks.Stop(c.ctx, k.id)
	switch {
	case began && err != nil:
		c.background.Go(func() { c.end(k, c.stopped(k.id, c.server.Tasks.Wait(c.ctx, k.id))) })
		return err
	case began || err != nil:
		c.end(k, c.stopped(k.id, err))
	default:
		const nothing = "cancelled before it started; nothing was done"
		c.end(k, &final{status: Cancelled, message: "it was " + nothing, err: &Error{Code: CodeInternal, Message: "the task was " + nothing}})
	}
	return nil
}

// stopped returns how a task of the backend ended.
func (c *conn) stopped(id string, err error) *final {
	var found Task
	if err == nil {
		found, err = c.server.Tasks.Find(c.ctx, id)
	}
	if err != nil {
		return &final{status: Failed, message: firstLine(err.Error()), err: err}
	}
	out := &final{status: found.Status, message: found.Message}
	out.result, out.err = c.server.Tasks.Result(c.ctx, id)
	return out
}

// end ends a call that was canceled.
func (c *conn) end(k *taskCall, how *final) {
	c.mu.Lock()
	k.end(how)
	c.mu.Unlock()
	c.tell(k)
}

// tell tells the client that a task changed.
func (c *conn) tell(k *taskCall) { c.notify("notifications/tasks/status", c.state(k).legacy()) }
