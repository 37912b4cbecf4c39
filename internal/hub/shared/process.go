package shared

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// process is a session with the server and the clients that have it. The pool's lock guards it.
type process struct {
	pool    *Pool
	key     string // in the pool; empty: no other client can join
	session Session
	stop    context.CancelFunc
	ended   chan struct{} // closed when nothing of the server is left
	sending sync.WaitGroup
	over    bool // nothing is sent any more

	clients map[*Client]bool
	joined  int              // clients so far
	calls   map[string]*call // by the raw id at the server
	lasting map[string]*call // calls whose task goes on, by the raw id they had at the server
	tasks   map[string]*Client
	unsure  map[*Client]bool // have cancelled a call, which the server may still ask about; at most two

	waiting []greeting    // initialize of clients, unanswered
	outcome chan struct{} // closed when the server has answered initialize and can be used; nil: it was not sent
	ready   bool
	result  []byte // of initialize
	problem []byte // the error of initialize, the last time
}

// greeting is an initialize of a client.
type greeting struct {
	client *Client
	id     []byte
}

// start begins a session as a client needs it; key says who can join it. The caller holds the lock.
func (p *Pool) start(c *Client, key string) *process {
	one := &process{pool: p, key: key, ended: make(chan struct{}), clients: map[*Client]bool{}, calls: map[string]*call{}, lasting: map[string]*call{}, tasks: map[string]*Client{}, unsure: map[*Client]bool{}}
	one.session = p.options.Open(c.spec, c.principal, one.told)
	var life context.Context
	life, one.stop = context.WithCancel(context.Background())
	go func() {
		one.session.Attend(life)
		p.mu.Lock()
		one.finish()
		one.over = true
		maps.DeleteFunc(p.questions, func(_ string, q *question) bool { return q.process == one })
		p.mu.Unlock()
		one.sending.Wait()
		close(one.ended)
	}()
	return one
}

// finish ends the session. The caller holds the lock.
func (p *process) finish() {
	if p.pool.processes[p.key] == p {
		delete(p.pool.processes, p.key)
	}
	p.stop()
}

// add adds a client. The caller holds the lock.
func (p *process) add(c *Client) {
	p.clients[c], c.process = true, p
	p.joined++
}

// send sends a line. It may block while the server does not read.
func (p *process) send(line []byte) {
	p.session.FromClient(line)
	p.session.Flush()
}

// sendLater sends lines, and then calls sent, without waiting for it. The caller holds the lock.
func (p *process) sendLater(sent func(), lines ...[]byte) {
	if p.over {
		return
	}
	p.sending.Go(func() {
		for _, line := range lines {
			p.send(line)
		}
		sent()
	})
}

func nothing() {}

// ask returns a request of ours; done gets the response. The caller holds the lock.
func (p *process) ask(method string, params []byte, done func(*wire.Message)) (line []byte) {
	one := &call{process: p, method: method, sent: p.pool.nextID(), done: done}
	p.calls[string(one.sent)] = one
	line = append([]byte(`{"jsonrpc":"2.0","id":`), one.sent...)
	line = append(line, `,"method":"`+method+`","params":`...)
	return append(append(line, params...), '}')
}

func ignore(*wire.Message) {}

// introduce sends initialize as a client did, unless that was done. The outcome is closed when the server can be used, or
// has answered with an error. The caller holds the lock.
func (p *process) introduce(c *Client) (outcome <-chan struct{}) {
	if p.outcome == nil {
		p.outcome = make(chan struct{})
		p.sendLater(nothing, p.ask("initialize", c.params, func(m *wire.Message) { p.introduced(c, m) }))
	}
	return p.outcome
}

var initialized = []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)

// introduced handles the response to initialize. After an error the next request tries again. The caller holds the lock.
func (p *process) introduced(c *Client, m *wire.Message) {
	key, value := "result", m.Result
	if m.Error != nil {
		key, value = "error", m.Error
	}
	for _, g := range p.waiting {
		g.client.inbox.answer(g.id, key, value)
	}
	p.waiting, p.result, p.problem = nil, m.Result, m.Error
	outcome := p.outcome
	if m.Error != nil {
		p.outcome = nil
		close(outcome)
		return
	}
	lines := append([][]byte{initialized}, p.restored(c)...)
	p.sendLater(func() {
		p.pool.mu.Lock()
		defer p.pool.mu.Unlock()
		p.ready = true
		close(outcome)
	}, lines...)
}

// restored returns what a client that was moved has asked for before. The caller holds the lock.
func (p *process) restored(c *Client) (lines [][]byte) {
	if c.level != "" {
		lines = append(lines, p.ask("logging/setLevel", []byte(`{"level":"`+c.level+`"}`), ignore))
	}
	for _, raw := range c.subscribed {
		lines = append(lines, p.ask("resources/subscribe", uriParams(raw), ignore))
	}
	return lines
}

func uriParams(raw []byte) []byte { return append(append([]byte(`{"uri":`), raw...), '}') }

// levels are the log levels, the most verbose first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// level returns the most verbose level that a client has asked for; empty: none has. The caller holds the lock.
func (p *process) level() string {
	most := len(levels)
	for c := range p.clients {
		if i := slices.Index(levels, c.level); i >= 0 {
			most = min(most, i)
		}
	}
	if most == len(levels) {
		return ""
	}
	return levels[most]
}

// subscribed reports whether a client has subscribed to a resource. The caller holds the lock.
func (p *process) subscribed(uri string) bool {
	for c := range p.clients {
		if c.subscribed[uri] != nil {
			return true
		}
	}
	return false
}

// used reports whether someone else than a client uses the process. The caller holds the lock.
func (p *process) used(c *Client) bool {
	for other := range p.clients {
		if other != c {
			return true
		}
	}
	for _, one := range p.calls {
		if one.client != nil && one.client != c {
			return true
		}
	}
	return false
}

// endIfUnused ends a process that its clients have left, once it has no calls. The caller holds the lock.
func (p *process) endIfUnused() {
	if !p.used(nil) {
		p.finish()
	}
}

// forget cancels what a client has at the server, which others use. The caller holds the lock.
func (p *process) forget(c *Client) {
	var lines [][]byte
	for _, one := range c.calls {
		if one.process == p {
			one.cancel()
			lines = append(lines, []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+string(one.sent)+`,"reason":"the client has left"}}`))
			c.inbox.answer(one.id, "error", stopping(one.method, fault.Unknown))
		}
	}
	for id, q := range p.pool.questions {
		if q.process == p && q.client == c {
			delete(p.pool.questions, id)
			lines = append(lines, refusal(q.id, "the client has left"))
		}
	}
	if p.clients[c] {
		lines = append(lines, p.remove(c)...)
	}
	p.sendLater(nothing, lines...)
}

// remove removes a client, and returns the requests that end what only it has asked for. The caller holds the lock.
func (p *process) remove(c *Client) (lines [][]byte) {
	before := p.level()
	delete(p.clients, c)
	for uri, raw := range c.subscribed {
		if !p.subscribed(uri) {
			lines = append(lines, p.ask("resources/unsubscribe", uriParams(raw), ignore))
		}
	}
	if now := p.level(); now != before && now != "" {
		lines = append(lines, p.ask("logging/setLevel", []byte(`{"level":"`+now+`"}`), ignore))
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(g greeting) bool { return g.client == c })
	maps.DeleteFunc(p.lasting, func(_ string, one *call) bool { return one.client == c })
	maps.DeleteFunc(p.tasks, func(_ string, of *Client) bool { return of == c })
	return lines
}

// refusal is an error in answer to a question of the server.
func refusal(id []byte, why string) []byte {
	return reply(id, "error", []byte(`{"code":-32603,"message":"`+why+`"}`))
}
