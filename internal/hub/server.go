package hub

import (
	"context"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/hub/shared"
	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/hub/view"
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
	pool          *shared.Pool    // nil: every session has a process of its own
	joined        *sync.WaitGroup // sessions of clients that do not come over its own address, also with earlier versions
	hide          func()
	end           func()
}

// newServer returns a server that runs when it is needed. The caller holds the lock.
func (h *Hub) newServer(in upfile.Server) *server {
	h.made++
	s := &server{Server: in, version: h.made, reached: in.Spec.Fingerprint(), joined: new(sync.WaitGroup)}
	front := h.options.Front
	front.View, front.Dashboard, front.Metrics = nil, nil, nil
	front.Tokens, front.Users = h.tokensAt(""), h.users()
	o := h.sessionOptions(in)
	closeRemote := func() {}
	if in.Spec.URL != "" {
		if remote, err := upstream.NewRemote(in.Spec); err == nil { // all sessions use the same connections
			o.Remote, front.Reachable, closeRemote = remote, remote.Reach, remote.Close
		} // else each session says what is wrong with the URL: the variables of its client may make a different URL of it
	}
	front.Session = o
	s.gateway = gateway.New(front, h.addr())
	s.pool = h.newPool(s)
	end := s.gateway.Begin()
	s.hide = h.announce(s.gateway)
	s.end = sync.OnceFunc(func() {
		end()
		closeRemote()
	})
	return s
}

// sessionOptions returns how the sessions with a server are run.
func (h *Hub) sessionOptions(in upfile.Server) proxy.Options {
	o := h.options.Session
	o.Name, o.Spec, o.Tools = in.Key, in.Spec, in.Policies
	o.Lazy, o.Idle, o.Known.Lock = true, h.idle(in), in.Lock
	o.Known.Written = in.Written()
	o.Timing.FinishGrace = -1 // a client that has closed its side gets all responses, as from a view: Serve ends if it is gone
	if in.MaxInFlight > 0 {
		o.Limits.Window = in.MaxInFlight
	}
	return o
}

func (h *Hub) announce(g *gateway.Gateway) (hide func()) {
	if h.options.Announce == nil {
		return func() {}
	}
	return h.options.Announce(g)
}

// retire ends a server that is no longer in the file, when no client uses it.
func (s *server) retire() {
	s.joined.Wait()
	s.end()
	s.hide()
}

// newPool returns the pool of a server whose processes are shared: the file says so, or it is proven to bear it.
func (h *Hub) newPool(s *server) *shared.Pool {
	in := &s.Server
	if in.Spec.URL != "" || in.Share == upfile.ShareSession || in.Share == "" && !shared.Proven(in.Spec) {
		return nil
	}
	name, events := in.Key, h.options.Session.Events
	return shared.New(shared.Options{
		Open: func(spec launch.Spec, principal string, tell func(proxy.Told)) shared.Session {
			return s.open(spec, principal, tell)
		},
		Apart: func(method string) {
			if events != nil {
				events.Emit(event.Event{Kind: event.Dropped, Time: time.Now(), Server: name, Method: method,
					Detail: method + " does not say which of the clients that share the process is asked; from now on each has a process of its own"})
			}
		},
	})
}

// join returns a session of a principal with the server, started or reached as spec says, for a client that exchanges
// messages. It may share a process with others of the principal.
func (s *server) join(spec launch.Spec, principal string, tell func(proxy.Told)) view.Server {
	s.joined.Add(1)
	if s.pool != nil {
		return &session{server: s, Session: s.pool.Join(spec, principal, tell)}
	}
	return &session{server: s, Session: s.open(spec, principal, tell)}
}

// open returns a session with a process of its own; tell may be nil.
func (s *server) open(spec launch.Spec, principal string, tell func(proxy.Told)) *gateway.Joined {
	return s.gateway.Join(func(o *proxy.Options) {
		o.Tell, o.Spec, o.Principal = tell, spec, principal
		if spec.Fingerprint() != s.reached {
			o.Remote = nil // other headers, or another login
		}
	})
}

// session is a session of a client with one server.
type session struct {
	shared.Session
	server *server
}

// Attend runs the session until ctx ends.
func (s *session) Attend(ctx context.Context) error {
	defer s.server.joined.Done()
	return s.Session.Attend(ctx)
}
