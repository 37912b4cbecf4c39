package hub

import (
	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
)

// one is a session of gauze connect SERVER, for changes of the file.
type one struct {
	key     string
	client  Client
	version int // of the server that it has
}

// renews reports whether a changed server keeps its gateway, and so the sessions of clients that have only this one: they go
// on with the new command when their calls have ended. A URL has connections and logins of its own, and gets a new gateway.
func (s *server) renews(in *upfile.Server) bool {
	return s.Spec.URL == "" && in.Spec.URL == "" && s.Pending == "" && in.Pending == ""
}

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
func (h *Hub) follow(key string, version int, from Client, with *gateway.Joined) (unfollow func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ones[with] = &one{key, from, version}
	h.renewOnes()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.ones, with)
	}
}

// renewOnes renews the sessions whose server has another version now. The caller holds the lock.
func (h *Hub) renewOnes() {
	for with, o := range h.ones {
		s := h.servers[o.key]
		if s == nil || s.version == o.version || s.gateway != with.Gateway() {
			continue // it keeps what it has until its client disconnects
		}
		if spec, err := o.client.spec(&s.Server); err == nil {
			o.version = s.version
			with.Renew(spec)
		}
	}
}
