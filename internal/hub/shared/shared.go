// Package shared is one session with a server for several clients of one principal. It is the inverse of a view: to the
// server they look like one client.
//
//	shared.go   Pool: the processes of one server, and who may share one
//	client.go   Client: messages from a client
//	process.go  process: how a session with the server begins and ends
//	answers.go  messages from the server, and which client each is for
//	inbox.go    messages to a client
//	proven.go   the servers that are shared unless the user says otherwise
//
// Clients share a process if nothing that the server sees of them differs, except for their names: principal, command,
// directory, environment, protocol version, capabilities. Their ids and progress tokens are replaced by unique ones. What
// happens to a call is decided by the session (proxy.Session), as without sharing.
//
// A message goes to the client that it belongs to. A question (sampling, elicitation) belongs to the only client with
// requests in progress; one that cannot be attributed is rejected, and so is one about roots, which each client has for
// itself. A server that asks such a question is not shared any more: each client gets a process of its own.
package shared

import (
	"context"
	"fmt"
	"sync"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Session is a session with a server; *gateway.Joined is one.
type Session interface {
	Attend(ctx context.Context) error // until ctx ends and nothing of the server is left
	FromClient(line []byte)           // may block while the server does not read
	Flush()
	Hurry()
	Mirrors(tool string) ([]wire.Mirror, bool) // as proxy.Session
}

// Options configures a Pool.
type Options struct {
	// Open makes a session with the server, which is not running yet. It must not block.
	Open func(spec launch.Spec, principal string, tell func(proxy.Told)) Session
	// Apart is called when a question of the server was rejected, and it is not shared any more. It must not block.
	Apart func(method string)
}

// Pool has the processes of one server.
type Pool struct {
	options Options

	mu        sync.Mutex           // guards everything below, and processes and clients
	processes map[string]*process  // that clients can join, by who may
	questions map[string]*question // of the server, by the raw id that the client sees
	last      uint64               // number of the latest id
	apart     bool                 // the server is not shared any more
}

// New returns a Pool.
func New(o Options) *Pool {
	return &Pool{options: o, processes: map[string]*process{}, questions: map[string]*question{}, last: proxy.RandomID()}
}

// Join returns a session of a client with the server, started as spec says, whose messages tell receives. It shares a
// process with others of the same principal where it can.
func (p *Pool) Join(spec launch.Spec, principal string, tell func(proxy.Told)) *Client {
	c := &Client{pool: p, spec: spec, principal: principal, inbox: newInbox(tell), calls: map[string]*call{}, subscribed: map[string][]byte{}}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// keyOf identifies those who may share a process: everything that the server sees of a client, but not its name.
func keyOf(c *Client, params []byte) string {
	if info, err := wire.Field(params, "clientInfo"); err == nil && info != nil {
		params = wire.Replace(nil, params, wire.Edit{Old: info, New: []byte("{}")})
	}
	return fmt.Sprintf("%q", []string{c.principal, c.spec.Fingerprint(), string(params)})
}

// nextID returns a new raw id, which is also used as a progress token. The caller holds the lock.
func (p *Pool) nextID() []byte {
	p.last++
	return proxy.AppendID(nil, p.last)
}

// separate gives each client a process of its own, from now on, because the server has asked a question. Calls in progress
// stay where they are. The caller holds the lock.
func (p *Pool) separate() {
	p.apart = true
	for _, one := range p.processes {
		for c := range one.clients {
			if one.joined > 1 && len(one.lasting) == 0 { // a task cannot be moved
				c.move()
			}
		}
	}
	clear(p.processes)
}
