package shared

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Client is a session of one client with the server.
type Client struct {
	pool      *Pool
	spec      launch.Spec
	principal string
	inbox     *inbox

	life    context.Context // ends when the client leaves
	end     context.CancelFunc
	running sync.WaitGroup

	// The pool's lock guards everything below.
	own        Session  // a session of its own, of which nothing is changed; nil: it has a process
	process    *process // nil: it has not initialized
	params     []byte   // of its initialize
	calls      map[string]*call
	level      string            // of the logs that it asked for; empty: it has not asked
	subscribed map[string][]byte // raw URIs, by URI
	left       bool
}

// call is a request of a client, or one of ours, in progress.
type call struct {
	client  *Client // nil: it is ours
	process *process
	method  string
	uri     string              // that it subscribes to
	id      []byte              // raw, at the client
	token   []byte              // the client's raw progress token; may be nil
	sent    []byte              // raw id and progress token at the server
	done    func(*wire.Message) // receives the response to a request of ours, with the lock
}

// Attend runs the session until ctx ends, and returns when nothing of the client is left at the server. The last
// client of a process ends it.
func (c *Client) Attend(ctx context.Context) error {
	<-ctx.Done()
	c.leave()
	return nil
}

// FromClient handles one message of the client.
func (c *Client) FromClient(line []byte) {
	m, _, err := wire.Scan(bytes.Clone(line))
	own, left := c.direct(&m)
	switch {
	case left:
	case own != nil:
		own.FromClient(line)
		own.Flush()
	case err != nil: // cannot happen: it was scanned before
	case m.Kind == wire.Request && m.Method == "initialize":
		c.initialize(&m)
	case m.Kind == wire.Request:
		c.request(&m)
	case m.Kind == wire.Notification:
		c.notice(&m)
	case m.Kind == wire.Response:
		c.answered(&m)
	}
}

// Flush does nothing: messages are sent as they come.
func (c *Client) Flush() {}

// Hurry makes an end that is in progress skip its waits, unless others use the process.
func (c *Client) Hurry() {
	c.pool.mu.Lock()
	session := c.own
	if p := c.process; p != nil && len(p.clients) <= 1 {
		session = p.session
	}
	c.pool.mu.Unlock()
	if session != nil {
		session.Hurry()
	}
}

// Mirrors returns the arguments of a tool that HTTP repeats in headers, for clients of versions that do: they have a
// session of their own.
func (c *Client) Mirrors(tool string) ([]wire.Mirror, bool) {
	c.pool.mu.Lock()
	own := c.own
	c.pool.mu.Unlock()
	if own == nil {
		return nil, false
	}
	return own.Mirrors(tool)
}

// direct returns the client's own session, if its first message shows that it needs one: it is of a version without
// initialize, or the server is not shared any more.
func (c *Client) direct(m *wire.Message) (own Session, left bool) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if !c.left && c.own == nil && c.process == nil && (c.pool.apart || m.Method != "initialize") {
		session := c.pool.options.Open(c.spec, c.principal, c.inbox.tell)
		c.running.Go(func() { session.Attend(c.life) })
		c.own = session
	}
	return c.own, c.left && c.own == nil
}

// initialize answers the client's initialize with what the server has answered to the first client of the process.
func (c *Client) initialize(m *wire.Message) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if c.left {
		return
	}
	if c.process == nil {
		c.params = m.Params
		c.inbox.open()
		key := keyOf(c, m.Params)
		p := c.pool.processes[key]
		if p == nil {
			p = c.pool.start(c, key)
			c.pool.processes[key] = p
		}
		p.add(c)
	}
	if p := c.process; p.result != nil {
		c.inbox.answer(m.ID, "result", p.result)
	} else {
		p.waiting = append(p.waiting, greeting{c, m.ID})
		p.introduce(c)
	}
}

// ready calls use with the lock and the client's process, once that can be used. If the server cannot be, problem is the
// error that it answered to initialize; without either, the client has left.
func (c *Client) ready(use func(*process)) (problem []byte) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	for !c.left {
		p := c.process
		if p.ready {
			use(p)
			return nil
		}
		outcome, over := p.introduce(c), false
		c.pool.mu.Unlock()
		select {
		case <-outcome:
		case <-p.ended:
			over = true
		case <-c.life.Done():
		}
		c.pool.mu.Lock()
		switch {
		case p != c.process: // it was moved meanwhile
		case over && !p.ready:
			return stopping("", fault.Unsent)
		case p.problem != nil:
			return p.problem
		}
	}
	return nil
}

// request passes a request on under an id that no other client has.
func (c *Client) request(m *wire.Message) {
	var line []byte
	var p *process
	problem := c.ready(func(ready *process) {
		p = ready
		line = c.begin(p, m)
	})
	switch {
	case problem != nil:
		c.inbox.answer(m.ID, "error", problem)
	case line != nil:
		p.send(line)
	}
}

// begin begins a call, and returns it as the server gets it; nil: it is answered already. The caller holds the lock.
func (c *Client) begin(p *process, m *wire.Message) (line []byte) {
	one := &call{client: c, process: p, method: m.Method, id: m.ID}
	edits, answered := one.note(m)
	if answered {
		c.inbox.answer(m.ID, "result", []byte("{}"))
		return nil
	}
	one.sent = c.pool.nextID()
	edits = append(edits, wire.Edit{Old: m.ID, New: one.sent})
	meta, _ := wire.Field(m.Params, "_meta")
	if one.token, _ = wire.Field(meta, "progressToken"); one.token != nil {
		edits = append(edits, wire.Edit{Old: one.token, New: one.sent})
	}
	p.calls[string(one.sent)], c.calls[string(one.id)] = one, one
	return wire.Replace(nil, m.Raw, edits...)
}

// note notes what a request changes for all clients of the process: the server gets the most verbose of their log
// levels, and keeps a subscription while one of them has it. The caller holds the lock.
func (one *call) note(m *wire.Message) (edits []wire.Edit, answered bool) {
	c, p := one.client, one.process
	switch m.Method {
	case "logging/setLevel":
		raw, _ := wire.Field(m.Params, "level")
		if level, _ := wire.Text(raw); slices.Contains(levels, level) {
			c.level = level
			edits = append(edits, wire.Edit{Old: raw, New: []byte(`"` + p.level() + `"`)})
		}
	case "resources/subscribe":
		raw, _ := wire.Field(m.Params, "uri")
		if uri, ok := wire.Text(raw); ok {
			one.uri, c.subscribed[uri] = uri, raw
		}
	case "resources/unsubscribe":
		raw, _ := wire.Field(m.Params, "uri")
		uri, _ := wire.Text(raw)
		delete(c.subscribed, uri)
		answered = p.subscribed(uri)
	}
	return edits, answered
}

// notice passes a notification on, unless it is about something of another client.
func (c *Client) notice(m *wire.Message) {
	if m.Method == "notifications/initialized" {
		return // the process sends it
	}
	var p *process
	line := m.Raw
	switch m.Method {
	case "notifications/cancelled":
		p, line = c.cancel(m)
	case "notifications/progress":
		token, _ := wire.Field(m.Params, "progressToken")
		q := c.asked(string(token), false)
		if q == nil || q.token == nil {
			return
		}
		p, line = q.process, wire.Replace(nil, m.Raw, wire.Edit{Old: token, New: q.token})
	default:
		c.ready(func(ready *process) { p = ready })
	}
	if p != nil {
		p.send(line)
	}
}

// cancel ends a call of the client, and returns the notification as the server gets it.
func (c *Client) cancel(m *wire.Message) (p *process, line []byte) {
	id, _ := wire.Field(m.Params, "requestId")
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	one := c.calls[string(id)]
	if one == nil {
		return nil, nil
	}
	one.cancel()
	return one.process, wire.Replace(nil, m.Raw, wire.Edit{Old: id, New: one.sent})
}

// asked returns a question that the client was asked, and forgets it if it is answered; nil: it was not, or the
// question was withdrawn.
func (c *Client) asked(id string, answered bool) *question {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	q := c.pool.questions[id]
	if q == nil || q.client != c {
		return nil
	}
	if answered {
		delete(c.pool.questions, id)
	}
	return q
}

// answered passes the client's answer to a question on.
func (c *Client) answered(m *wire.Message) {
	if q := c.asked(string(wire.PlainID(m.ID)), true); q != nil {
		q.process.send(wire.Replace(nil, m.Raw, wire.Edit{Old: m.ID, New: q.id}))
	}
}

// move gives the client a process of its own, which also answers its initialize if that is unanswered. Its calls in progress
// stay where they are. The caller holds the lock.
func (c *Client) move() {
	old := c.process
	next := c.pool.start(c, "")
	next.add(c)
	delete(old.clients, c)
	old.waiting = slices.DeleteFunc(old.waiting, func(g greeting) bool {
		if g.client == c {
			next.waiting = append(next.waiting, g)
		}
		return g.client == c
	})
	old.endIfUnused()
	if len(c.subscribed) > 0 || len(next.waiting) > 0 {
		next.introduce(c)
	}
}

// leave cancels what the client has at the server, and nothing else.
func (c *Client) leave() {
	c.pool.mu.Lock()
	c.left = true
	var ending []*process
	for _, p := range c.involved() {
		if p.used(c) {
			p.forget(c)
			continue
		}
		p.finish() // which answers its calls
		ending = append(ending, p)
	}
	c.pool.mu.Unlock()
	c.end()
	for _, p := range ending {
		<-p.ended
	}
	c.running.Wait()
	c.inbox.close()
}

// involved returns the processes that have something of the client. The caller holds the lock.
func (c *Client) involved() []*process {
	all := map[*process]bool{}
	if c.process != nil {
		all[c.process] = true
	}
	for _, one := range c.calls {
		all[one.process] = true
	}
	return slices.Collect(maps.Keys(all))
}

// stopping is the error of a request whose session has ended.
func stopping(method string, delivery fault.Delivery) []byte {
	return (&fault.Fault{Code: fault.Stopping, Delivery: delivery, Method: method, At: time.Now()}).RPCError()
}

// put passes a message of the server on; about is the id of the server's request that it belongs to. The caller holds
// the lock.
func (c *Client) put(p *process, line []byte, about []byte, question bool) {
	t := proxy.Told{Line: line, Question: question}
	if one := p.calls[string(about)]; one != nil && one.client == c {
		t.About = one.id
	}
	c.inbox.put(t)
}
