package shared

import (
	"bytes"
	"maps"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// question is a request of the server to a client.
type question struct {
	process *process
	client  *Client
	id      []byte // raw, at the server
	token   []byte // the server's raw progress token; may be nil
}

// told handles a message of the server. Messages come one at a time, and the session holds a lock.
func (p *process) told(t proxy.Told) {
	m, _, err := wire.Scan(bytes.Clone(t.Line))
	if err != nil {
		return // cannot happen: it was scanned before, or gauze made it
	}
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	switch m.Kind {
	case wire.Response:
		p.response(&m, t)
	case wire.Request:
		p.question(&m, t)
	case wire.Notification:
		p.news(&m, t.About)
	}
}

// finish ends a call: it gets no answer any more. The caller holds the lock.
func (one *call) finish() {
	delete(one.process.calls, string(one.sent))
	if c := one.client; c != nil && c.calls[string(one.id)] == one {
		delete(c.calls, string(one.id))
	}
	one.process.endIfUnused() // after the last call of clients that were moved
}

// cancel ends a call of which the server may not know yet that it is cancelled. The caller holds the lock.
func (one *call) cancel() {
	if p := one.process; len(p.unsure) < 2 { // of more it is not known either
		p.unsure[one.client] = true
	}
	one.finish()
}

// response passes a response on to the client whose request it answers.
func (p *process) response(m *wire.Message, t proxy.Told) {
	one := p.calls[string(m.ID)]
	if one == nil {
		return // cancelled
	}
	one.finish()
	if one.done != nil {
		one.done(m)
		return
	}
	c := one.client
	if m.Error != nil && one.method == "resources/subscribe" {
		delete(c.subscribed, one.uri)
	}
	p.learn(m.Result, one)
	c.inbox.put(proxy.Told{Line: wire.Replace(nil, m.Raw, wire.Edit{Old: m.ID, New: one.id}), About: one.id, Answer: true, Status: t.Status})
}

// maxTasks is how many tasks are kept. Later ones get no progress after the answer to their call.
const maxTasks = 10_000

// learn notes whose task a call has begun. The caller holds the lock.
func (p *process) learn(result []byte, one *call) {
	if !bytes.Contains(result, []byte(`"taskId"`)) || len(p.tasks) >= maxTasks {
		return
	}
	task, _ := wire.Field(result, "task")
	raw, _ := wire.Field(task, "taskId")
	if id, ok := wire.Text(raw); ok {
		p.tasks[id], p.lasting[string(one.sent)] = one.client, one
	}
}

// question passes a request of the server on to the client that it belongs to.
func (p *process) question(m *wire.Message, t proxy.Told) {
	c := p.asked(m, t.About)
	if c == nil {
		p.sendLater(nothing, refusal(m.ID, "several clients use this server, and it is not known which of them is asked; the next calls have processes of their own"))
		if !p.pool.apart && p.pool.options.Apart != nil {
			p.pool.options.Apart(m.Method)
		}
		p.pool.separate()
		return
	}
	q := &question{process: p, client: c, id: m.ID}
	id := p.pool.nextID()
	edits := []wire.Edit{{Old: m.ID, New: id}}
	meta, _ := wire.Field(m.Params, "_meta")
	if q.token, _ = wire.Field(meta, "progressToken"); q.token != nil {
		edits = append(edits, wire.Edit{Old: q.token, New: id})
	}
	p.pool.questions[string(id)] = q
	c.put(p, wire.Replace(nil, m.Raw, edits...), t.About, true)
}

// asked returns the client that a question belongs to; nil: that is not known. The caller holds the lock.
func (p *process) asked(m *wire.Message, about []byte) *Client {
	if one := p.calls[string(about)]; one != nil && one.client != nil && proxy.IsOwnQuestion(m.ID) {
		return one.client
	}
	if p.joined > 1 && m.Method == "roots/list" {
		return nil
	}
	only := p.only()
	if only != nil && m.Method == "roots/list" {
		p.pool.separate() // others may have other roots
	}
	return only
}

// only returns the client that a message belongs to which names no request: the only one so far, or the only one with
// requests or tasks in progress, or with requests that it has cancelled. The caller holds the lock.
func (p *process) only() (only *Client) {
	if p.joined == 1 {
		for c := range p.clients {
			return c
		}
	}
	all := maps.Clone(p.unsure)
	for _, calls := range []map[string]*call{p.calls, p.lasting} {
		for _, one := range calls {
			if one.client != nil {
				only = one.client
				all[only] = true
			}
		}
	}
	if len(all) > 1 {
		return nil
	}
	return only
}

// news passes a notification on to the clients that it is for. The caller holds the lock.
func (p *process) news(m *wire.Message, about []byte) {
	switch m.Method {
	case "notifications/progress":
		p.progress(m)
	case "notifications/cancelled":
		p.withdrawn(m, about)
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/elicitation/complete":
		p.tellAll(m, about, func(*Client) bool { return true })
	case "notifications/message":
		raw, _ := wire.Field(m.Params, "level")
		level, _ := wire.Text(raw)
		asked := p.level() != ""
		p.tellAll(m, about, func(c *Client) bool { return !asked || c.wants(level) })
	case "notifications/resources/updated":
		raw, _ := wire.Field(m.Params, "uri")
		uri, _ := wire.Text(raw)
		p.tellAll(m, about, func(c *Client) bool { return c.follows(uri) })
	case "notifications/tasks/status":
		raw, _ := wire.Field(m.Params, "taskId")
		id, _ := wire.Text(raw)
		p.tellAll(m, about, func(c *Client) bool { return c == p.tasks[id] })
	default:
		if c := p.only(); c != nil {
			c.put(p, m.Raw, about, false)
		}
	}
}

func (p *process) tellAll(m *wire.Message, about []byte, is func(*Client) bool) {
	for c := range p.clients {
		if is(c) {
			c.put(p, m.Raw, about, false)
		}
	}
}

// wants reports whether the client has asked for logs of a level.
func (c *Client) wants(level string) bool {
	for _, one := range levels {
		switch one {
		case c.level:
			return true
		case level:
			return false
		}
	}
	return c.level != "" // a level of the server's own
}

// follows reports whether the client has subscribed to a resource, or to one that it is part of.
func (c *Client) follows(uri string) bool {
	for subscribed := range c.subscribed {
		if strings.HasPrefix(uri, subscribed) {
			return true
		}
	}
	return false
}

// progress passes on how far a call or a task is.
func (p *process) progress(m *wire.Message) {
	token, _ := wire.Field(m.Params, "progressToken")
	one := p.calls[string(token)]
	if one == nil {
		one = p.lasting[string(token)]
	}
	if one == nil || one.token == nil || one.client == nil {
		return
	}
	one.client.inbox.put(proxy.Told{Line: wire.Replace(nil, m.Raw, wire.Edit{Old: token, New: one.token}), About: one.id})
}

// withdrawn withdraws a question of the server.
func (p *process) withdrawn(m *wire.Message, about []byte) {
	raw, _ := wire.Field(m.Params, "requestId")
	for id, q := range p.pool.questions {
		if q.process == p && string(q.id) == string(raw) {
			delete(p.pool.questions, id)
			q.client.put(p, wire.Replace(nil, m.Raw, wire.Edit{Old: raw, New: []byte(id)}), about, false)
			return
		}
	}
}
