package gateway

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// life is the part that sessions of both eras share: an upstream of its own, and its current users.
type life struct {
	peer  Peer
	proxy *proxy.Session // the same, if it is a session with one server; else nil
	stop  context.CancelFunc
	began time.Time

	// Guarded by table.mu.
	open int       // requests and streams
	used time.Time // when the last one ended
}

// start starts a life; gone is called when it has ended. The caller holds t.mu and has checked that
// the gateway is not draining.
func (t *table) start(l *life, o proxy.Options, gone func()) {
	ctx, stop := context.WithCancel(t.life)
	o.Writes = &t.writes
	if l.stop = stop; t.options.View != nil {
		l.peer = t.options.View(o)
	} else {
		l.proxy = proxy.New(o)
		l.peer = l.proxy
	}
	t.enter(l)
	t.running.Go(func() {
		defer stop()
		// Why a server cannot be kept running is reported to every caller and in the events.
		l.peer.Attend(ctx)
		gone()
		t.exit(l)
	})
}

// enter counts a life that begins. The caller holds t.mu.
func (t *table) enter(l *life) {
	l.began = time.Now()
	l.used = l.began
	t.lives[l] = true
	t.began++
}

// exit counts a life that has ended.
func (t *table) exit(l *life) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.lives, l)
	if l.proxy != nil {
		add(&t.past, l.proxy.Counters())
		t.seen.Add(l.proxy.Observe(true))
	}
}

// servers returns the sessions with servers that have not ended. The caller holds t.mu.
func (t *table) servers() (all []*proxy.Session) {
	for l := range t.lives {
		if l.proxy != nil {
			all = append(all, l.proxy)
		}
	}
	return all
}

// begin makes a session for a client that sent initialize.
func (t *table) begin(r *http.Request, who principal, id []byte) (*session, *refusal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.fits(who) && !t.makeRoom(who) {
		return nil, t.full(who, id)
	}
	var random [16]byte
	rand.Read(random[:]) // never fails
	s := newSession(hex.EncodeToString(random[:]), who, t.options)
	t.sessions[s.id] = s
	t.places.add(who, 1)
	t.processes.add(who, 1)
	o, ended := t.optionsFor(r, who)
	o.Tell, o.SessionID = s.tell, s.id
	t.start(&s.life, o, func() {
		s.closed()
		ended()
		t.dismiss(s)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.processes.add(who, -1)
	})
	s.open++
	return s, nil
}

// full returns the refusal of one more session.
func (t *table) full(who principal, id []byte) *refusal {
	detail := fmt.Sprintf("%d of %d sessions are in use (--max-sessions)", t.places.used, t.options.MaxSessions)
	switch {
	case t.places.used >= t.options.MaxSessions:
	case !t.places.allows(who, 1):
		detail = fmt.Sprintf("this %[1]s already has %[2]d of the %[3]d sessions that --max-sessions allows; the others are in use by, or reserved for, other %[1]ss",
			t.guard.credential(), t.places.by[who], t.options.MaxSessions)
	default:
		detail += fmt.Sprintf(", and %d more are still closing", t.processes.used-t.places.used)
	}
	return busy(&fault.Fault{Code: fault.SessionLimit, Delivery: fault.Unsent, Name: t.options.Session.Label(), At: time.Now(), Detail: detail}, id)
}

// fits reports whether there is room for one more session of a principal. Sessions that are ending
// still have a process each. They do not count against the sessions, or a client that starts over
// would be rejected, but their number is limited as well.
func (t *table) fits(who principal) bool {
	return t.places.allows(who, 1) && t.processes.allows(who, 1)
}

// makeRoom ends an unused session, so that one of who fits. Clients often leave without DELETE, and
// others must not wait for the reaper.
func (t *table) makeRoom(who principal) bool {
	if !t.processes.allows(who, 1) {
		return false
	}
	if s := t.longestUnused(who); s != nil {
		t.remove(s)
	} else if s := t.unusedShared(who); s != nil {
		t.release(s)
	}
	return t.fits(who)
}

// longestUnused returns the session that was unused for the longest time: one of who, or else one
// that a different principal has beyond its reserved part. It returns nil if all have a stream or a
// call in flight.
func (t *table) longestUnused(who principal) (found *session) {
	for _, s := range t.sessions {
		if s.open > 0 || s.busy() || !t.places.yields(s.who, who) {
			continue
		}
		switch {
		case found == nil, s.who == who && found.who != who:
			found = s
		case (s.who == who) == (found.who == who) && s.used.Before(found.used):
			found = s
		}
	}
	return found
}

// find returns the session that a request names. The caller must leave it.
func (t *table) find(r *http.Request, who principal) (*session, *refusal) {
	ids := r.Header.Values(sessionHeader)
	if len(ids) != 1 || ids[0] == "" {
		return nil, plain(http.StatusBadRequest, "exactly one Mcp-Session-Id header is required: use the id from the response to initialize")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[ids[0]]
	switch {
	case s == nil:
		return nil, noSession()
	case s.who != who:
		return nil, plain(http.StatusForbidden, "this session belongs to another "+t.guard.credential())
	}
	s.open++
	return s, nil
}

// noSession returns the refusal of an unknown session: "When a client receives HTTP 404 in response
// to a request containing an Mcp-Session-Id, it MUST start a new session by sending a new
// InitializeRequest."
func noSession() *refusal {
	return plain(http.StatusNotFound, "unknown or closed session: send initialize again")
}

// leave ends what begin and find began.
func (t *table) leave(l *life) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.open--
	l.used = time.Now()
	t.housekeeper.wakeUp()
}

// dismiss removes a session from the table and stops it. It does not wait.
func (t *table) dismiss(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(s)
}

func (t *table) remove(s *session) {
	if t.sessions[s.id] == s {
		delete(t.sessions, s.id)
		t.places.add(s.who, -1)
		s.stop()
		s.endListeners()
	}
}
