package view

import (
	"context"
	"sync"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// maxWaiting is how many bytes may wait for a server that does not read.
const maxWaiting = 8 << 20

// member is a server of the view and what is known of it. The view's lock guards it.
type member struct {
	Member
	view *View

	server  Server // nil: it is not opened
	stop    context.CancelFunc
	ready   bool     // the server has answered initialize
	asking  bool     // it was sent initialize and has not answered
	gone    bool     // no longer part of the view
	next    *member  // has its place, if it is gone; nil: none has
	over    bool     // nothing is sent any more: its session ends, or has ended
	queue   [][]byte // lines for it, in order
	waiting int      // bytes in queue, and of what is being passed
	passing bool     // a goroutine is passing lines, and no other may
	wake    sync.Cond
	room    []byte           // for a message of the server; used by told alone
	lists   map[string]*list // by method

	subscribed map[string]bool // resources that the client has subscribed to, by raw URI
	intro      introduced
	stream     stream
}

func newMember(v *View, o Member) *member {
	m := &member{Member: o, view: v, lists: map[string]*list{}}
	for method := range lists {
		m.lists[method] = &list{names: map[string]string{}}
	}
	m.wake.L = &v.mu
	return m
}

func (m *member) admits(tool string) bool { return m.Admits == nil || m.Admits(tool) }

// subscribe notes that the client subscribes to a resource, or no longer does. The caller holds the lock.
func (m *member) subscribe(r *wire.Message) {
	switch r.Method {
	case "resources/subscribe":
		uri, _ := wire.Field(r.Params, "uri")
		if m.subscribed == nil {
			m.subscribed = map[string]bool{}
		}
		m.subscribed[string(uri)] = true
	case "resources/unsubscribe":
		uri, _ := wire.Field(r.Params, "uri")
		delete(m.subscribed, string(uri))
	}
}

// send queues a line for the server, after what is queued already. The caller holds the lock.
func (m *member) send(line []byte) {
	v := m.view
	if m.over || v.life.Err() != nil {
		return // ended and leave answer what is not sent
	}
	m.open()
	m.waiting += len(line)
	if v.carrier.free && m.ready && !m.passing && len(m.queue) == 0 {
		m.passing, v.carrier = true, carrier{to: m, line: line}
		return
	}
	m.queue = append(m.queue, line)
	m.wake.Broadcast()
}

// reply passes an answer to a question of the server. It overtakes what waits for the server, which may read nothing else
// before it has the answer. The caller does not hold the lock.
func (m *member) reply(line []byte) {
	m.server.FromClient(line) // does not block: it is an answer
	m.server.Flush()
}

// carrier is a goroutine that brought a message and may wait for its server. If nothing else is on the way there, it
// passes the line itself, once it has released the lock: that saves waking a second one.
type carrier struct {
	free bool // it has nothing to carry yet
	to   *member
	line []byte
}

// depart returns what the goroutine that holds the lock has to carry.
func (c *carrier) depart() carrier {
	now := *c
	*c = carrier{}
	return now
}

// carry passes the line to the server.
func (c carrier) carry() {
	m := c.to
	if m == nil {
		return
	}
	m.server.FromClient(c.line) // may block
	m.server.Flush()
	m.view.mu.Lock()
	defer m.view.mu.Unlock()
	m.passed(len(c.line))
}

// passed notes that lines have reached the server's session. The caller holds the lock.
func (m *member) passed(bytes int) {
	m.waiting -= bytes
	if m.passing = false; len(m.queue) > 0 {
		m.wake.Broadcast()
	}
}

// ask sends a request of ours; done gets the response, without the lock. The caller holds the lock. The goroutine that
// brought a message of the client does not carry it: the client need not wait for this server.
func (m *member) ask(method string, params []byte, done func(*wire.Message)) {
	if m.over {
		return
	}
	m.view.carrier.free = false
	c := &call{member: m, sent: m.view.nextID(), done: done}
	m.view.calls[string(c.sent)] = c
	m.send(requestLine(c.sent, method, params))
}

func requestLine(id []byte, method string, params []byte) []byte {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	line = append(line, `,"method":"`+method+`"`...)
	if params != nil {
		line = append(append(line, `,"params":`...), params...)
	}
	return append(line, '}')
}

// open begins the session with the server, if there is none, and introduces the client. The caller holds the lock.
func (m *member) open() {
	if m.server == nil {
		var life context.Context
		life, m.stop = context.WithCancel(m.view.life)
		m.server = m.Open(m.told)
		m.view.opened[m] = true
		m.view.running.Go(func() {
			m.server.Attend(life)
			m.ended()
		})
		m.view.running.Go(func() { m.feed(life) })
	}
	m.introduce()
}

// ended notes that the session with the server has ended: nothing is sent any more. It has answered what reached it before,
// and the rest is answered now.
func (m *member) ended() {
	v := m.view
	v.mu.Lock()
	defer v.mu.Unlock()
	m.over = true
	delete(v.opened, m)
	if v.life.Err() != nil {
		return // leave answers the rest
	}
	for _, c := range v.calls {
		if c.member != m {
			continue
		}
		v.finish(c)
		if c.id != nil {
			v.refuse(c.id, c.method, m, fault.Stopping, "")
		}
	}
	m.withdraw() // the answers have no reader
	m.stream.call, m.stream.filter = nil, ""
	m.release()
}

// introduce sends the client's own initialize. Nothing else is sent before it was answered. The caller holds the lock.
func (m *member) introduce() {
	if m.ready || m.asking || m.over {
		return
	}
	m.asking = true
	c := &call{member: m, sent: m.view.nextID(), done: m.introduced}
	m.view.calls[string(c.sent)] = c
	line := requestLine(c.sent, "initialize", m.view.initialize)
	if m.view.initialize == nil {
		c.done, line = m.discovered, requestLine(c.sent, discover, m.view.modern.listParams(nil))
	}
	server := m.server
	m.view.running.Go(func() { // the caller holds the lock
		server.FromClient(line)
		server.Flush()
	})
}

var initialized = []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)

// introduced handles the response to initialize. If it is an error, what waits for the server gets the same one,
// and the next request tries again.
func (m *member) introduced(r *wire.Message) {
	v := m.view
	v.mu.Lock()
	m.asking = false
	if r.Error == nil {
		m.ready = true
		waiting := m.queue
		m.queue = nil
		m.send(initialized)
		if v.level != nil {
			m.ask("logging/setLevel", v.level, func(*wire.Message) {})
		}
		for uri := range m.subscribed {
			m.ask("resources/subscribe", []byte(`{"uri":`+uri+`}`), func(*wire.Message) {})
		}
		m.queue = append(m.queue, waiting...)
		v.mu.Unlock()
		return
	}
	m.queue, m.waiting = nil, 0
	var failed []*call
	for _, c := range v.calls {
		if c.member == m {
			v.finish(c)
			failed = append(failed, c)
		}
	}
	v.mu.Unlock()
	for _, c := range failed {
		if c.done != nil {
			c.done(r)
			continue
		}
		v.unavailable(c, r.Error)
	}
}

// unavailable answers a call of the client with the error that its server gave to initialize. What a tool could not
// do is a result, which models read.
func (v *View) unavailable(c *call, problem []byte) {
	raw, _ := wire.Field(problem, "message")
	if text, ok := wire.Text(raw); ok && c.method == "tools/call" {
		v.out.answer(c.id, failedResult(text))
		return
	}
	v.out.fail(c.id, problem)
}

// feed passes the lines in the queue to the server, one after another, until life ends.
func (m *member) feed(life context.Context) {
	v := m.view
	v.mu.Lock()
	defer v.mu.Unlock()
	defer context.AfterFunc(life, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		m.wake.Broadcast()
	})()
	for {
		for life.Err() == nil && (!m.ready || m.passing || len(m.queue) == 0) {
			m.wake.Wait()
		}
		if life.Err() != nil {
			return
		}
		lines := m.queue
		m.queue, m.passing = nil, true
		v.mu.Unlock()
		bytes := 0
		for _, line := range lines {
			m.server.FromClient(line) // may block
			bytes += len(line)
		}
		m.server.Flush()
		v.mu.Lock()
		m.passed(bytes)
	}
}

// told receives what the server's session says. It must not block for long: the session holds a lock.
func (m *member) told(t proxy.Told) { m.view.told(m, t) }
