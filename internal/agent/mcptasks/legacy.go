package mcptasks

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// legacyMethod handles a method of 2025-11-25. It returns what the SDK receives, if anything.
func (c *conn) legacyMethod(r *jsonrpc.Request, method string, p params) jsonrpc.Message {
	if method == "list" {
		go c.list(r.ID, p.Cursor)
		return nil
	}
	id, err := p.taskID()
	switch {
	case method != "get" && method != "result" && method != "cancel":
		return r // the SDK rejects it
	case err != nil:
		c.refuse(r.ID, err)
	case method == "get":
		go func() {
			t, err := c.find(id)
			c.reply(r.ID, t.legacy(), err)
		}()
	case method == "result":
		ctx, end := context.WithCancel(c.ctx)
		c.mu.Lock()
		c.waiting[r.ID] = end
		c.mu.Unlock()
		go func() {
			defer c.noLongerWaiting(r.ID, end)
			c.result(ctx, r.ID, id)
		}()
	default:
		return c.cancelTask(r.ID, id)
	}
	return nil
}

func (c *conn) noLongerWaiting(id jsonrpc.ID, end context.CancelFunc) {
	end()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// result answers tasks/result when the task has ended.
func (c *conn) result(ctx context.Context, request jsonrpc.ID, id string) {
	c.mu.Lock()
	k := c.known[id]
	c.mu.Unlock()
	if k != nil {
		select {
		case <-k.ended:
			c.reply(request, addRelated(k.final.result, id), k.final.err)
		case <-ctx.Done():
			c.refuse(request, ctx.Err())
		}
		return
	}
	_, err := c.find(id)
	if err == nil {
		err = c.backend.Wait(ctx, id)
	}
	if err != nil {
		c.refuse(request, err)
		return
	}
	result, err := c.backend.Result(ctx, id)
	c.reply(request, addRelated(result, id), err)
}

// cancelTask cancels a task. It returns what ends its call in the SDK, if that still runs.
func (c *conn) cancelTask(request jsonrpc.ID, id string) jsonrpc.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.known[id]
	if k == nil || k.final != nil {
		go c.cancelled(request, id)
		return nil
	}
	first := !k.cancelling
	k.cancelling = true
	go func() {
		var err error
		if first {
			err = c.cancel(k)
		} else {
			<-k.ended
		}
		t := c.state(k)
		if err == nil && (!first || t.Status != Cancelled) {
			err = alreadyEnded(t)
		}
		c.reply(request, t.legacy(), err)
	}()
	if !first {
		return nil
	}
	return cancelRequest(k)
}

// cancelled cancels a task whose call is not part of this connection, or has ended.
func (c *conn) cancelled(request jsonrpc.ID, id string) {
	before, err := c.find(id)
	if err == nil && before.Status.terminal() {
		err = alreadyEnded(before)
	}
	if err == nil {
		err = c.stopDurable(id)
	}
	if err != nil {
		c.refuse(request, err)
		return
	}
	after, err := c.find(id)
	if err == nil && after.Status != Cancelled {
		err = alreadyEnded(after)
	}
	c.reply(request, after.legacy(), err)
}

// stopDurable stops a task of the backend.
func (c *conn) stopDurable(id string) error {
	stopped, err := c.backend.Stop(c.ctx, id)
	if err == nil && !stopped {
		err = fmt.Errorf("the task runs in a different process; to stop it there: gauze task stop %s", id)
	}
	return err
}

func alreadyEnded(t Task) error {
	return invalid(fmt.Sprintf("the task cannot be cancelled: it is already %s", t.Status))
}

// list answers tasks/list. Calls that are not in the backend are on the first page.
func (c *conn) list(request jsonrpc.ID, cursor any) {
	text, ok := cursor.(string)
	if cursor != nil && !ok {
		c.refuse(request, invalid("invalid cursor: must be the nextCursor of an earlier result"))
		return
	}
	page, next, err := c.backend.List(c.ctx, text)
	if err != nil {
		c.refuse(request, err)
		return
	}
	var out struct {
		Tasks []legacyTask `json:"tasks"`
		Next  string       `json:"nextCursor,omitempty"`
	}
	out.Tasks, out.Next = []legacyTask{}, next
	if text == "" {
		for _, t := range c.onlyHere() {
			out.Tasks = append(out.Tasks, t.legacy())
		}
	}
	for _, t := range page {
		if here, err := c.find(t.ID); err == nil {
			t = here
		}
		out.Tasks = append(out.Tasks, t.legacy())
	}
	c.reply(request, out, nil)
}

// onlyHere returns the calls that are not tasks of the backend, newest first.
func (c *conn) onlyHere() (all []Task) {
	c.mu.Lock()
	var calls []*call
	for i := len(c.order) - 1; i >= 0; i-- {
		calls = append(calls, c.known[c.order[i]])
	}
	c.mu.Unlock()
	for _, k := range calls {
		if found, err := c.backend.Find(c.ctx, k.id); err != nil || found.ID != k.id {
			all = append(all, c.state(k))
		}
	}
	return all
}
