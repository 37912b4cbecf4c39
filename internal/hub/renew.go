package hub

import (
	"reflect"

	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// one is a session of gauze connect SERVER, for changes of the file.
type one struct {
	key     string
	client  Client
	version int    // of the server that it has
	leave   func() // asks the client to come again, or ends its session if it cannot
}

// renews reports whether a changed server keeps its gateway, and so the sessions of clients that have only this one: they go
// on with the new command when their calls have ended. A URL has connections and logins of its own, and gets a new gateway,
// and so does what decides which calls are sent: a session decides that as it began.
func (s *server) renews(in *upfile.Server) bool {
	return s.Spec.URL == "" && in.Spec.URL == "" && s.Pending == "" && in.Pending == "" &&
		!locks(s.Lock) && !locks(in.Lock) && reflect.DeepEqual(s.Policies, in.Policies)
}

func locks(lock string) bool { return lock == proxy.LockAsk || lock == proxy.LockBlock }

// renewed returns the next version of a server, with the gateway of the one before, which starts the new command from
// now on. The caller holds the lock.
func (h *Hub) renewed(before *server, in upfile.Server) *server {
	h.made++
	s := *before
	s.Server, s.version, s.reached = in, h.made, in.Spec.Fingerprint()
	s.gateway.Renew(h.sessionOptions(in))
	s.pool = h.newPool(&s)
	before.hide() // what others see of it has the command
	s.hide = h.announce(s.gateway)
	return &s
}

// follow makes a session of gauze connect SERVER go on with the next version of its server, until unfollow is called.
func (h *Hub) follow(o *one, with *gateway.Joined) (unfollow func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ones[with] = o
	h.renewOnes()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.ones, with)
	}
}

// renewOnes renews the sessions whose server has another version now. If it has another gateway, or not all of its tools are
// allowed any more, the client has to come again. The caller holds the lock.
func (h *Hub) renewOnes() {
	for with, o := range h.ones {
		s := h.servers[o.key]
		if s == nil || s.Pending != "" {
			continue // it keeps what it has until its client disconnects
		}
		changed := s.version != o.version
		o.version = s.version
		switch {
		case filters(s.Tools), changed && s.gateway != with.Gateway():
			o.leave()
		case changed:
			if spec, err := o.client.spec(&s.Server); err == nil {
				with.Renew(spec)
			} else {
				o.leave() // it is told why when it comes again
			}
		}
	}
}
