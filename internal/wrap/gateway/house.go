package gateway

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// housekeeper wakes the housekeeper. No timer runs while nothing is due.
type housekeeper struct {
	resting atomic.Bool // the next request, or the end of one, wakes it
	woken   chan struct{}
}

// wakeUp wakes the housekeeper if it is idle.
func (h *housekeeper) wakeUp() {
	if h.resting.CompareAndSwap(true, false) {
		select {
		case h.woken <- struct{}{}:
		default:
		}
	}
}

// startHousekeeping ends unused sessions and frees memory until the returned function is called.
func (g *Gateway) startHousekeeping() (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		timer := time.NewTimer(checkInterval)
		defer timer.Stop()
		var tidy tidier
		for {
			select {
			case <-timer.C:
			case <-g.housekeeper.woken:
			case <-done:
				return
			}
			timer.Reset(g.look(&tidy, time.Now()))
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}

// look does what is due and returns the time until something may be due, unless wakeUp is called.
func (g *Gateway) look(tidy *tidier, now time.Time) (rest time.Duration) {
	g.housekeeper.resting.Store(true) // first of all: later changes wake the housekeeper
	if tidy.due(g.requests.Load(), now) {
		tidyUp()
	}
	rest = min(g.table.reap(now), g.table.lookAround(now))
	if tidy.dirty {
		g.housekeeper.resting.Store(false) // requests come in: one check per second is enough
		rest = min(rest, checkInterval)
	}
	return rest
}

// lookAround looks at the servers that no call waits for, if it is time, and returns the time until the next
// look.
func (t *table) lookAround(now time.Time) time.Duration {
	t.mu.Lock()
	rest := t.options.IdleProbe - now.Sub(t.lookedAt)
	var idle []*proxy.Session
	switch {
	case t.options.IdleProbe < 0 || len(t.lives) == 0:
		rest = never
	case rest <= 0:
		t.lookedAt, rest, idle = now, t.options.IdleProbe, t.idleSessions()
	}
	t.mu.Unlock()
	for _, s := range idle {
		s.Look()
	}
	return rest
}

// idleSessions returns the sessions whose servers are to be looked at. Those that share a server at a URL are
// looked at through one of them, and through those that found it failing; not at all while it may be busy
// with a call of one of them. The caller holds t.mu.
func (t *table) idleSessions() (all []*proxy.Session) {
	done := map[*upstream.Remote]bool{}
	for _, s := range t.servers() {
		if r := s.Options.Remote; r != nil && s.Busy() {
			done[r] = true
		}
	}
	for _, s := range t.servers() {
		r := s.Options.Remote
		if r != nil && done[r] && s.Upstream().Health() == health.Healthy {
			continue
		}
		done[r] = true
		all = append(all, s)
	}
	return all
}

const (
	// initializeTimeout is how long a session may be unused before its client has sent
	// notifications/initialized: most likely that client gave up.
	initializeTimeout = time.Minute

	busyRecheck = 10 * time.Second // until a session that is overdue but has calls in flight is checked again
	never       = time.Duration(math.MaxInt64)
)

// reap ends the sessions that have not been used for long. A client that returns gets 404 and
// initializes again. reap returns the time until the next session may be due.
func (t *table) reap(now time.Time) (rest time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest = never
	for _, s := range t.sessions {
		s.expire(now)
		if left := t.timeLeft(s, now); left > 0 {
			rest = min(rest, left, keepTimeout)
		} else {
			t.remove(s)
		}
	}
	for _, s := range t.shared {
		if s.open > 0 {
			continue
		}
		if left := t.options.Idle - now.Sub(s.used); left > 0 {
			rest = min(rest, left)
		} else {
			t.release(s)
		}
	}
	return rest
}

// timeLeft returns how long a session may remain unused, 0 or less if it must end. A session in use
// calls wakeUp when it is left.
func (t *table) timeLeft(s *session, now time.Time) time.Duration {
	if s.open > 0 {
		return never
	}
	idle := t.options.Idle
	if !s.isInitialized() {
		idle = min(idle, initializeTimeout)
	}
	left := idle - now.Sub(s.used)
	if left <= 0 && s.busy() {
		return busyRecheck
	}
	return left
}
