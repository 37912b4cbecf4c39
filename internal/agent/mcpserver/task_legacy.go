package mcpserver

import (
	"context"
	"fmt"
)

// legacyTask handles a method of 2025-11-25.
func (c *conn) legacyTask(r request, method string) {
	if method == "list" {
		c.start(r.id, func(context.Context) (any, error) { return c.listTasks(r.params.Cursor) })
		return
	}
	id, err := r.taskID()
	switch {
	case method != "get" && method != "result" && method != "cancel":
		c.refuse(r.id, notFound(r.method))
	case err != nil:
		c.refuse(r.id, err)
	case method == "get":
		c.start(r.id, func(context.Context) (any, error) {
			t, err := c.find(id)
			return t.legacy(), err
		})
	case method == "result":
		c.start(r.id, func(ctx context.Context) (any, error) { return c.taskResult(ctx, id) })
	default:
		c.cancelTask(r, id)
	}
}

// taskResult returns the result of a task when it has ended.
func (c *conn) taskResult(ctx context.Context, id string) (any, error) {
	c.mu.Lock()
	k := c.known[id]
	c.mu.Unlock()
	if k != nil {
		select {
		case <-k.ended:
			return addRelated(k.final.result, id), k.final.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	_, err := c.find(id)
	if err == nil {
		err = c.server.Tasks.Wait(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	result, err := c.server.Tasks.Result(ctx, id)
	return addRelated(result, id), err
}

// cancelTask cancels a task. The first of several requests for a task is the one that cancels it.
func (c *conn) cancelTask(r request, id string) {
	c.mu.Lock()
	k := c.known[id]
	open := k != nil && k.final == nil
	first := open && !k.cancelling
	if first {
		k.cancelling = true
	}
	c.mu.Unlock()
	started := c.start(r.id, func(ctx context.Context) (any, error) {
		switch {
		case !open:
			return c.cancelDurable(id)
		case first:
			k.stop()
			if err := c.cancel(k); err != nil {
				return nil, err
			}
		default:
			select {
			case <-k.ended:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		t := c.state(k)
		if !first || t.Status != Cancelled {
			return nil, alreadyEnded(t)
		}
		return t.legacy(), nil
	})
	if first && !started {
		c.goOn(k)
	}
}

// cancelDurable cancels a task whose call is not part of this connection, or has ended.
func (c *conn) cancelDurable(id string) (any, error) {
	before, err := c.find(id)
	if err == nil && before.Status.terminal() {
		err = alreadyEnded(before)
	}
	if err == nil {
		err = c.stopDurable(id)
	}
	if err != nil {
		return nil, err
	}
	after, err := c.find(id)
	if err == nil && after.Status != Cancelled {
		err = alreadyEnded(after)
	}
	return after.legacy(), err
}

// stopDurable stops a task of the backend.
func (c *conn) stopDurable(id string) error {
	stopped, err := c.server.Tasks.Stop(c.ctx, id)
	if err == nil && !stopped {
		err = fmt.Errorf("the task is running in another process; to stop it: gauze task stop %s", id)
	}
	return err
}

func alreadyEnded(t Task) error {
	return invalid("the task cannot be cancelled: it is already %s", t.Status)
}

// listTasks returns a page of tasks. Calls that are not in the backend are on the first page.
func (c *conn) listTasks(cursor any) (any, error) {
	text, ok := cursor.(string)
	if cursor != nil && !ok {
		return nil, invalid("invalid cursor: must be the nextCursor of an earlier result")
	}
	page, next, err := c.server.Tasks.List(c.ctx, text)
	if err != nil {
		return nil, err
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
	return out, nil
}

// onlyHere returns the calls that are not tasks of the backend, newest first.
func (c *conn) onlyHere() (all []Task) {
	c.mu.Lock()
	var calls []*taskCall
	for i := len(c.order) - 1; i >= 0; i-- {
		calls = append(calls, c.known[c.order[i]])
	}
	c.mu.Unlock()
	for _, k := range calls {
		if found, err := c.server.Tasks.Find(c.ctx, k.id); err != nil || found.ID != k.id {
			all = append(all, c.state(k))
		}
	}
	return all
}
