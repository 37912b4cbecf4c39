package gateway

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/proxy"
)

// life is the part that sessions of both eras share: an upstream of its own, and its current users.
type life struct {
	proxy *proxy.Session
	stop  context.CancelFunc
	began time.Time

	// Guarded by Gateway.mu.
	open int       // requests and streams
	used time.Time // when the last one ended
}

// start starts a life; gone is called when it has ended. The caller holds g.mu and has checked that
// the gateway is not draining.
func (g *Gateway) start(l *life, o proxy.Options, gone func()) {
	ctx, stop := context.WithCancel(g.life)
	o.Writes = &g.writes
	l.proxy, l.stop = proxy.New(o), stop
	l.began = time.Now()
	l.used = l.began
	g.lives[l] = true
	g.began++
	g.running.Go(func() {
		defer stop()
		// Why a server cannot be kept running is reported to every caller and in the events.
		l.proxy.Attend(ctx)
		gone()
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.lives, l)
		add(&g.past, l.proxy.Counters())
		g.seen.Add(l.proxy.Observe(true))
	})
}

// begin makes a session for a client that sent initialize.
func (g *Gateway) begin(r *http.Request, who principal, id []byte) (*session, *refusal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.fits(who) && !g.makeRoom(who) {
		return nil, g.full(who, id)
	}
	var random [16]byte
	rand.Read(random[:]) // never fails
	s := newSession(hex.EncodeToString(random[:]), who, g)
	g.sessions[s.id] = s
	g.places.add(who, 1)
	g.processes.add(who, 1)
	o, ended := g.optionsFor(r, who)
	o.Tell, o.SessionID = s.tell, s.id
	g.start(&s.life, o, func() {
		s.closed()
		ended()
		g.dismiss(s)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.processes.add(who, -1)
	})
	s.open++
	return s, nil
}

// full returns the refusal of one more session.
func (g *Gateway) full(who principal, id []byte) *refusal {
	detail := fmt.Sprintf("%d sessions are in use; --max-sessions allows %d", g.places.used, g.MaxSessions)
	switch {
	case g.places.used >= g.MaxSessions:
	case !g.places.allows(who, 1):
		detail = fmt.Sprintf("this %[1]s has %[2]d sessions; --max-sessions allows %[3]d in total, of which some are reserved for other %[1]ss",
			g.guard.credential(), g.places.by[who], g.MaxSessions)
	default:
		detail += fmt.Sprintf(", and %d more are still ending", g.processes.used-g.places.used)
	}
	return busy(&fault.Fault{Code: fault.SessionLimit, Delivery: fault.Unsent, Name: g.Session.Label(), At: time.Now(), Detail: detail}, id)
}

// fits reports whether there is room for one more session of a principal. Sessions that are ending
// still have a process each. They do not count against the sessions, or a client that starts over
// would be rejected, but their number is limited as well.
func (g *Gateway) fits(who principal) bool {
	return g.places.allows(who, 1) && g.processes.allows(who, 1)
}

// makeRoom ends an unused session, so that one of who fits. Clients often leave without DELETE, and
// others must not wait for the reaper.
func (g *Gateway) makeRoom(who principal) bool {
	if !g.processes.allows(who, 1) {
		return false
	}
	if s := g.longestUnused(who); s != nil {
		g.remove(s)
	} else if s := g.unusedShared(who); s != nil {
		g.release(s)
	}
	return g.fits(who)
}

// longestUnused returns the session that was unused for the longest time: one of who, or else one
// that a different principal has beyond its reserved part. It returns nil if all have a stream or a
// call in flight.
func (g *Gateway) longestUnused(who principal) (found *session) {
	for _, s := range g.sessions {
		if s.open > 0 || s.busy() || s.who != who && g.places.by[s.who] <= g.places.share() {
			continue
		}
		mine, older := s.who == who, found == nil || s.used.Before(found.used)
		if found == nil || mine && found.who != who || mine == (found.who == who) && older {
			found = s
		}
	}
	return found
}

// find returns the session that a request names. The caller must leave it.
func (g *Gateway) find(r *http.Request, who principal) (*session, *refusal) {
	ids := r.Header.Values(sessionHeader)
	if len(ids) != 1 || ids[0] == "" {
		return nil, plain(http.StatusBadRequest, "exactly one Mcp-Session-Id header is required: the response to initialize contains it")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.sessions[ids[0]]
	switch {
	case s == nil:
		return nil, noSession()
	case s.who != who:
		return nil, plain(http.StatusForbidden, "this session belongs to a different "+g.guard.credential())
	}
	s.open++
	return s, nil
}

// noSession returns the refusal of an unknown session: "When a client receives HTTP 404 in response
// to a request containing an Mcp-Session-Id, it MUST start a new session by sending a new
// InitializeRequest."
func noSession() *refusal {
	return plain(http.StatusNotFound, "unknown or ended session: send initialize again")
}

// leave ends what begin and find began.
func (g *Gateway) leave(l *life) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.open--
	l.used = time.Now()
	g.housekeeper.wakeUp()
}

// dismiss removes a session from the table and stops it. It does not wait.
func (g *Gateway) dismiss(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remove(s)
}

func (g *Gateway) remove(s *session) {
	if g.sessions[s.id] == s {
		delete(g.sessions, s.id)
		g.places.add(s.who, -1)
		s.stop()
		s.endListeners()
	}
}
