package hub

import (
	"context"
	"io"
	"slices"
	"sync"

	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// server is one server of the file, with its sessions.
type server struct {
	upfile.Server        // guarded by the hub's lock, because a new file may change what is listed
	version       int    // no other server of the hub ever has it
	reached       string // fingerprint of the server as gauze itself starts or reaches it
	gateway       *gateway.Gateway
	joined        sync.WaitGroup // sessions of clients that do not come over its own address
	end           func()
}

// newServer returns a server that runs when it is needed. The caller holds the lock.
func (h *Hub) newServer(in upfile.Server) (*server, error) {
	h.made++
	s := &server{Server: in, version: h.made, reached: in.Spec.Fingerprint()}
	front := h.options.Front
	front.View, front.Dashboard, front.Metrics = nil, nil, nil
	front.Tokens = append(slices.Clone(front.Tokens), h.tokensFor("")...)
	o := h.options.Session
	o.Name, o.Spec, o.Tools = in.Key, in.Spec, in.Policies
	o.Lazy, o.Idle = true, h.idle(in)
	if in.MaxInFlight > 0 {
		o.Limits.Window = in.MaxInFlight
	}
	closeRemote := func() {}
	if in.Spec.URL != "" {
		remote, err := upstream.NewRemote(in.Spec) // all sessions use the same connections
		if err != nil {
			return nil, err
		}
		o.Remote, front.Reachable, closeRemote = remote, remote.Reach, remote.Close
	}
	front.Session = o
	s.gateway = gateway.New(front, h.addr())
	end := s.gateway.Begin()
	hide := func() {}
	if h.options.Announce != nil {
		hide = h.options.Announce(s.gateway)
	}
	s.end = sync.OnceFunc(func() {
		end()
		hide()
		closeRemote()
	})
	return s, nil
}

// retire ends a server that is no longer in the file, when no client uses it.
func (s *server) retire() {
	s.joined.Wait()
	s.end()
}

// join returns a session of a principal with the server, started or reached as spec says; tell may be nil.
func (s *server) join(spec launch.Spec, principal string, tell func(proxy.Told)) *session {
	s.joined.Add(1)
	return &session{server: s, with: s.gateway.Join(func(o *proxy.Options) {
		o.Tell, o.Spec, o.Principal = tell, spec, principal
		if spec.Fingerprint() != s.reached {
			o.Remote = nil // other headers, or another login
		}
	})}
}

// session is a session of a client with one server.
type session struct {
	with   *gateway.Joined
	server *server
}

// FromClient, Flush and Hurry are those of the session.
func (s *session) FromClient(line []byte) { s.with.FromClient(line) }
func (s *session) Flush()                 { s.with.Flush() }
func (s *session) Hurry()                 { s.with.Hurry() }

// Attend runs the session until ctx ends.
func (s *session) Attend(ctx context.Context) error {
	defer s.server.joined.Done()
	return s.with.Attend(ctx)
}

// Serve runs the session for a client on in and out.
func (s *session) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	defer s.server.joined.Done()
	return s.with.Serve(ctx, in, out)
}
