// Package gateway is one HTTP endpoint in front of a server: streamable HTTP
// in both eras on one side, proxy sessions on the other.
//
//	gateway.go   Gateway: the paths, and how serving begins and ends
//	guard.go     who may speak to us at all: Host, Origin, token
//	cors.go      the web pages the user named
//	post.go      the story of one POST
//	bodies.go    all bodies in flight, and how much they may hold
//	quota.go     what is limited, shared among principals
//	body.go      a body read whole and made one inspected message
//	legacy.go    a session: one client, its calls, the stream each answer takes
//	sessions.go  the sessions there are: begun, found, limited, evicted
//	house.go     what is due to time: sessions that nobody uses, memory
//	get.go       GET, which listens or resumes, and DELETE, which ends
//	replay.go    what was said, kept for a client that lost its connection
//	modern.go    requests without a session, on one upstream for all
//	speaker.go   which of those requests come from one client
//	channel.go   streams of notifications that modern clients share
//	headers.go   the headers that mirror a modern request
//	conns.go     how many connections there are at once
//	stream.go    one HTTP response that is written as things happen
//	refuse.go    how a client is turned away
//	tidy.go      memory is given back when nobody speaks
//	ready.go     /healthz and /readyz
//	drain.go     the end, in order
//
// A POST goes ServeHTTP -> post -> legacy or modern -> (proxy.Session) -> tell
// -> stream -> pour.
package gateway

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/proxy"
)

// Options of a Gateway; the zero value of each is the sensible default.
type Options struct {
	Session proxy.Options // of every session; they share its Events

	Tokens  []string // who knows one may speak; each is a principal of its own. None: everyone on this machine may
	Hosts   []string // further values of Host, besides the names of the address itself
	Origins []string // further values of Origin, besides those with an allowed host

	MaxSessions int           // legacy sessions at once, each with an upstream; default 64
	Idle        time.Duration // of a session without request or open stream before it is ended; default 30 min
	Drain       time.Duration // for requests in flight at the end; default 10 s, negative: none
	KeepAlive   time.Duration // between comments on a silent stream; default 15 s
	BodyWithin  time.Duration // a body has to be here; default 30 s

	// MaxBodyBytes is how much the bodies of all requests in flight may hold
	// together. Default 96 MiB; the garbage collector may need as much again.
	MaxBodyBytes int

	// Resumable lets a legacy client that lost its connection fetch what it
	// missed: events get ids and are kept for a while.
	Resumable bool

	// Reachable says whether a session could be begun, before there is one.
	Reachable func(context.Context) error
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&o.Idle, 30*time.Minute)
	set(&o.Drain, 10*time.Second)
	set(&o.KeepAlive, 15*time.Second) // proxies cut what is silent for 30 s or 60 s
	set(&o.BodyWithin, 30*time.Second)
	if o.MaxSessions == 0 {
		o.MaxSessions = 64
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = 96 << 20
	}
	return o
}

// Path of the endpoint.
const Path = "/mcp"

// Limits of a request.
const (
	mostHeader   = 64 << 10         // of all headers: 64 KB of arguments in Mcp-Param-* is more than any tool needs
	mostBody     = 16 << 20         // as much as one message may have (wire.MaxLine)
	headerWithin = 10 * time.Second // a client that needs longer for its headers means to hold us up
	idleConn     = 2 * time.Minute  // a connection nobody uses
	mostConns    = 8192             // at once; more wait until one of these ends. A thousand clients have three each
)

// Gateway serves one address.
type Gateway struct {
	Options
	guard  guard
	ready  readiness
	bodies bodies
	house  house

	life  context.Context // of all sessions
	end   context.CancelFunc
	hurry chan struct{} // closed: nobody waits any longer

	running  sync.WaitGroup // what runs for sessions
	requests atomic.Uint64  // over all time
	writes   atomic.Uint64  // calls of all sessions that may write: their servers share what they write to
	conns    atomic.Uint64  // the same

	mu       sync.Mutex // guards everything below, and who comes and goes in each session
	sessions map[string]*session
	shared   map[principal]*shared
	lives    map[*life]bool // all of them that are not gone yet
	past     proxy.Counters // of the sessions that are gone
	began    uint64         // sessions, over all time
	draining bool

	places    quota         // sessions in the table
	processes quota         // the same, and those that are not gone yet
	asked     int           // requests being served that a drain waits for
	quiet     chan struct{} // closed when draining and nothing is being served
}

// New prepares a Gateway for clients that reach it at addr.
func New(o Options, addr net.Addr) *Gateway {
	g := &Gateway{
		Options:  o.withDefaults(),
		hurry:    make(chan struct{}),
		quiet:    make(chan struct{}),
		sessions: map[string]*session{},
		shared:   map[principal]*shared{},
		lives:    map[*life]bool{},
	}
	g.house.stirred = make(chan struct{}, 1)
	g.guard = newGuard(g.Options, addr)
	g.places = newQuota(g.MaxSessions, g.guard.tokens)
	g.processes = newQuota(2*g.MaxSessions, g.guard.tokens)
	g.bodies = newBodies(g.MaxBodyBytes, g.guard.tokens)
	g.life, g.end = context.WithCancel(context.Background())
	return g
}

// Serve serves clients from l until ctx ends, lets what is in flight end, and
// returns when nothing of any session is left.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // and no way to HTTP/2: what was inspected is what was sent
	server := &http.Server{
		Handler:           g,
		Protocols:         protocols,
		ReadHeaderTimeout: headerWithin,
		IdleTimeout:       idleConn,
		MaxHeaderBytes:    mostHeader,
		ErrorLog:          quietLog,
		ConnContext:       g.numbered,
		// A target of "*" is no path of ours: the handler is to say so.
		DisableGeneralOptionsHandler: true,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(limited(l)) }()
	leaveHouse := g.keepHouse()
	var err error
	select {
	case err = <-failed:
		g.drain(server)
	case <-ctx.Done():
		l.Close() // before anybody is let go: whoever comes back finds nobody
		g.drain(server)
		<-failed // it has: the server is closed
	}
	leaveHouse()
	return err
}

// ServeHTTP is where every request comes in.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.requests.Add(1)
	g.house.stir()
	g.hasten(w, r)
	if refused := g.guard.check(r); refused != nil {
		refused.write(w)
		return
	}
	if g.guard.share(w, r) {
		return
	}
	who, refused := g.guard.identify(r)
	if refused != nil {
		refused.write(w)
		return
	}
	// The path as it was sent: nothing is cleaned, so nothing can be hidden.
	switch r.URL.EscapedPath() {
	case Path:
		g.serveMCP(w, r, who)
	case healthPath:
		g.serveHealth(w, r)
	case readyPath:
		g.serveReady(w, r)
	default:
		plain(http.StatusNotFound, "there is nothing here: the endpoint is "+Path).write(w)
	}
}

func (g *Gateway) serveMCP(w http.ResponseWriter, r *http.Request, who principal) {
	modern := r.Header.Get(versionHeader) >= firstModern
	switch {
	case r.Method == http.MethodPost:
		g.post(w, r, who)
	case modern && (r.Method == http.MethodGet || r.Method == http.MethodDelete):
		// 2026-07-28 has neither a stream to listen on nor a session to end.
		notAllowed(http.MethodPost).write(w)
	case r.Method == http.MethodGet:
		g.get(w, r, who)
	case r.Method == http.MethodDelete:
		g.delete(w, r, who)
	default:
		notAllowed("GET, POST, DELETE").write(w)
	}
}

// Counters is the sum over all sessions there are and were; sessions is how
// many there were.
func (g *Gateway) Counters() (sum proxy.Counters, sessions uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	sum = g.past
	for l := range g.lives {
		add(&sum, l.proxy.Counters())
	}
	return sum, g.began
}

func add(sum *proxy.Counters, n proxy.Counters) {
	sum.Calls += n.Calls
	sum.Answered += n.Answered
	sum.Failed += n.Failed
	sum.Unknown += n.Unknown
	sum.Replayed += n.Replayed
	sum.Late += n.Late
	sum.Foreign += n.Foreign
	sum.Stray += n.Stray
	sum.FromCache += n.FromCache
}
