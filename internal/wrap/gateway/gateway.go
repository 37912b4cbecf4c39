// Package gateway serves one HTTP endpoint for a server: streamable HTTP of both eras for clients,
// proxy sessions toward the server.
//
//	gateway.go   Gateway: the paths, and how serving begins and ends
//	guard.go     which requests are accepted: Host, Origin, token
//	oauth.go     access tokens of an authorization server, instead of tokens that the user chose
//	cors.go      the web pages that the user allowed
//	post.go      handles a POST
//	bodies.go    all bodies in flight, and how much memory they may use
//	quota.go     limits shared among principals
//	account.go   a login of their own at the server for each user
//	body.go      reads a whole body and inspects its messages
//	legacy.go    a session: one client, its calls, the stream for each response
//	observe.go   the sum of what all sessions say about themselves
//	table.go     the sessions of both eras, and what they share
//	sessions.go  begins, finds, limits and evicts sessions
//	join.go      sessions of clients that come another way
//	house.go     ends unused sessions, frees memory
//	get.go       GET, which listens or resumes, and DELETE, which ends a session
//	replay.go    messages kept for a client that lost its connection
//	modern.go    requests without a session, on one upstream for all
//	speaker.go   which of those requests come from one client
//	channel.go   streams of notifications that modern clients share
//	headers.go   the headers that mirror a modern request
//	stream.go    an HTTP response that is written as messages arrive
//	refuse.go    how a request is rejected
//	tidy.go      when memory is freed
//	ready.go     /healthz and /readyz
//	drain.go     stops in order
//
// A POST goes ServeHTTP -> post -> legacy or modern -> (proxy.Session) -> tell -> stream ->
// writeStream.
//
// # What clients share
//
// A legacy client has a session of its own; all modern clients of a principal share one. Ids and
// progress tokens on a shared upstream are ours and count from a random number, so no client can name
// another client's request. A message that names no request is forwarded over HTTP, where its stream
// identifies the client; over stdio only if a single request is in flight and the server never had a
// request of another client (speaker.go). A client that does not read loses its stream, not the others.
// If a client disconnects, a modern request is cancelled, and a legacy one continues.
//
// The lock of the table guards the set of sessions, each session's own lock its lanes; neither is held
// while a session is called. Besides the handlers there is one goroutine for each session, and one that
// ends idle sessions. Streams have event ids only with --resumable: without it our responses look like
// those of a server that cannot resume.
package gateway

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/access/httpguard"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Peer is what the session of a client talks to: one server (*proxy.Session), or a view of several.
type Peer interface {
	Attend(ctx context.Context) error
	FromClient(line []byte)
	FromClientHTTP(line []byte, params http.Header)
	Flush()
	Hurry()
	Mirrors(tool string) (mirrors []wire.Mirror, known bool)
}

// Options configures a Gateway. The zero value of each field is a sensible default.
type Options struct {
	// Session is for every session; they share its Events. Its MaxMessage also limits the body of a
	// request, which may have 16 MiB if it is 0: a client needs nothing but a token to fill memory.
	Session proxy.Options

	// Tokens are the accepted bearer tokens. Each is a principal of its own. If empty, every
	// program on this machine has access.
	Tokens []string
	// Users is how many tokens there are, if some are accepted only at other addresses of this gauze, whose sessions join.
	Users int
	// OAuth accepts access tokens of an authorization server, instead of Tokens. Each person with a
	// client is a principal of its own.
	OAuth   *OAuth
	Hosts   []string // accepted values of Host, besides the names of the address itself
	Origins []string // accepted values of Origin, besides those of an accepted host

	// MaxSessions is the maximum number of legacy sessions, each with an upstream. Default 64.
	MaxSessions int
	// Idle is how long a session without requests and streams is kept. Default 30m.
	Idle time.Duration
	// Drain is how long requests in flight may take when the gateway stops. Default 10s; negative
	// means not at all.
	Drain time.Duration
	// KeepAlive is the time between comments on a silent stream. Default 15s.
	KeepAlive time.Duration
	// IdleProbe is the time between two looks at servers that no call waits for, so that their health is true
	// although no client uses them. Default proxy.LookEvery; negative: never.
	IdleProbe time.Duration
	// BodyTimeout is the time for a whole request body. Default 30s.
	BodyTimeout time.Duration

	// MaxBodyBytes limits the bodies of all requests in flight together. Default 96 MiB, or twice the
	// longest body, so that each principal can send one; the garbage collector may need as much again.
	MaxBodyBytes int

	// Resumable lets a legacy client that lost its connection fetch what it missed: events get ids
	// and are kept for a while.
	Resumable bool

	// View makes what the sessions of clients talk to, instead of one server: several. Its messages go to o.Tell.
	View func(o proxy.Options) Peer

	// NotFound says what is not at a path; nil: that the endpoint is Path.
	NotFound func(path string) string

	// Reachable checks whether a session could be started, while there is none.
	Reachable func(context.Context) error

	// Dashboard serves DashboardPath and everything below it, with a guard of its own; nil: nothing
	// does.
	Dashboard http.Handler
	// Metrics serves /metrics to clients with a token; nil: nothing does.
	Metrics http.Handler
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&o.Idle, 30*time.Minute)
	set(&o.Drain, 10*time.Second)
	set(&o.KeepAlive, 15*time.Second) // proxies cut off what is silent for 30s or 60s
	set(&o.BodyTimeout, 30*time.Second)
	set(&o.IdleProbe, proxy.LookEvery)
	if o.MaxSessions == 0 {
		o.MaxSessions = 64
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = max(96<<20, 2*o.maxBody())
	}
	return o
}

// maxBody returns how many bytes the body of one request may have.
func (o Options) maxBody() int { return cmp.Or(o.Session.Limits.MaxMessage, 16<<20) }

// Path is the path of the endpoint.
const Path = "/mcp"

// DashboardPath is the path of the dashboard.
const DashboardPath = "/dashboard"

const metricsPath = "/metrics"

// maxConns is how many connections may be open at the same time; a thousand clients have three each.
const maxConns = 8192

// Gateway serves one address.
type Gateway struct {
	Options     // as it began
	guard       guard
	ready       readiness
	bodies      bodies
	housekeeper housekeeper
	table       *table
	hurry       chan struct{} // closed by Hurry
	requests    atomic.Uint64 // total
	conns       atomic.Uint64 // total
}

// New returns a Gateway for clients that reach it at addr.
func New(o Options, addr net.Addr) *Gateway {
	g := &Gateway{Options: o.withDefaults(), hurry: make(chan struct{})}
	g.housekeeper.woken = make(chan struct{}, 1)
	g.guard = newGuard(g.Options, addr)
	g.bodies = newBodies(g.guard.quota(g.MaxBodyBytes))
	g.table = newTable(g)
	return g
}

// Serve serves clients from l until ctx ends, lets requests in flight finish, and returns when no
// session is left.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error {
	server := httpguard.Server(g)
	server.ConnContext = g.NumberConn
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(httpguard.LimitConns(l, maxConns)) }()
	end := g.Begin()
	var err error
	select {
	case err = <-failed:
		Shutdown(server, end)
	case <-ctx.Done():
		l.Close() // before streams are ended: clients that reconnect must not get through
		Shutdown(server, end)
		<-failed // the server is closed, so it returns
	}
	return err
}

// Begin begins what a gateway does beside its requests, for one whose requests come from another server than that
// of Serve. end lets requests in flight finish, and returns when no session is left.
func (g *Gateway) Begin() (end func()) {
	leaveHouse := g.startHousekeeping()
	return func() {
		g.drain()
		leaveHouse()
		g.table.mu.Lock()
		defer g.table.mu.Unlock()
		g.table.forgetUnused()
	}
}

// ServeHTTP handles every request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.requests.Add(1)
	g.housekeeper.wakeUp()
	g.setDeadlines(w, r)
	if path := r.URL.EscapedPath(); g.Dashboard != nil && (path == DashboardPath || strings.HasPrefix(path, DashboardPath+"/")) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(g.table.life, cancel)() // ends its streams
		g.Dashboard.ServeHTTP(w, r.WithContext(ctx))
		return
	}
	if refused := g.guard.check(r); refused != nil {
		refused.write(w)
		return
	}
	if g.guard.allowCORS(w, r) || g.guard.oauth.serve(w, r) {
		return
	}
	r, who, refused := g.guard.identify(r)
	if refused != nil {
		refused.write(w)
		return
	}
	// The path is used as sent: nothing is normalized, so nothing can be hidden.
	switch path := r.URL.EscapedPath(); {
	case path == Path:
		g.serveMCP(w, r, who)
	case path == healthPath:
		g.serveHealth(w, r)
	case path == ReadyPath:
		g.serveReady(w, r)
	case path == metricsPath && g.Metrics != nil:
		g.Metrics.ServeHTTP(w, r)
	default:
		text := "not found: the endpoint is " + Path
		if g.NotFound != nil {
			text = g.NotFound(path)
		}
		plain(http.StatusNotFound, text).write(w)
	}
}

func (g *Gateway) serveMCP(w http.ResponseWriter, r *http.Request, who principal) {
	modern := r.Header.Get(versionHeader) >= wire.FirstModern
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

// Counters returns the sum over all sessions, also those that have ended, and their number.
func (g *Gateway) Counters() (sum proxy.Counters, sessions uint64) {
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	sum = g.table.past
	for _, s := range g.table.servers() {
		add(&sum, s.Counters())
	}
	return sum, g.table.began
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
	sum.Repaired += n.Repaired
	sum.Corrected += n.Corrected
	sum.Proposed += n.Proposed
	sum.Uncorrected += n.Uncorrected
	sum.ModelInputTokens += n.ModelInputTokens
	sum.ModelOutputTokens += n.ModelOutputTokens
	sum.ModelCost += n.ModelCost
}
