package gateway

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/proxy"
	"github.com/gauze-mcp/gauze/internal/upstream"
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
	rest = min(g.reap(now), g.lookAround(now))
	if tidy.dirty {
		g.housekeeper.resting.Store(false) // requests come in: one check per second is enough
		rest = min(rest, checkInterval)
	}
	return rest
}

// lookAround looks at the servers that no call waits for, if it is time, and returns the time until the next
// look.
func (g *Gateway) lookAround(now time.Time) time.Duration {
	g.mu.Lock()
	rest := g.IdleProbe - now.Sub(g.lookedAt)
	var idle []*proxy.Session
	switch {
	case g.IdleProbe < 0 || len(g.lives) == 0:
		rest = never
	case rest <= 0:
		g.lookedAt, rest, idle = now, g.IdleProbe, g.idleSessions()
	}
	g.mu.Unlock()
	for _, s := range idle {
		s.Look()
	}
	return rest
}

// idleSessions returns the sessions whose servers are to be looked at. Those that share a server at a URL are
// looked at through one of them, and through those that found it failing; not at all while it may be busy
// with a call of one of them. The caller holds g.mu.
func (g *Gateway) idleSessions() (all []*proxy.Session) {
	done := map[*upstream.Remote]bool{}
	for l := range g.lives {
		if r := l.proxy.Remote; r != nil && l.proxy.Busy() {
			done[r] = true
		}
	}
	for l := range g.lives {
		r := l.proxy.Remote
		if r != nil && done[r] && l.proxy.Upstream().Health() == health.Healthy {
			continue
		}
		done[r] = true
		all = append(all, l.proxy)
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
func (g *Gateway) reap(now time.Time) (rest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	rest = never
	for _, s := range g.sessions {
		s.expire(now)
		if left := g.timeLeft(s, now); left > 0 {
			rest = min(rest, left, keepTimeout)
		} else {
			g.remove(s)
		}
	}
	for _, s := range g.shared {
		if s.open > 0 {
			continue
		}
		if left := g.Idle - now.Sub(s.used); left > 0 {
			rest = min(rest, left)
		} else {
			g.release(s)
		}
	}
	return rest
}

// timeLeft returns how long a session may remain unused, 0 or less if it must end. A session in use
// calls wakeUp when it is left.
func (g *Gateway) timeLeft(s *session, now time.Time) time.Duration {
	if s.open > 0 {
		return never
	}
	idle := g.Idle
	if !s.isInitialized() {
		idle = min(idle, initializeTimeout)
	}
	left := idle - now.Sub(s.used)
	if left <= 0 && s.busy() {
		return busyRecheck
	}
	return left
}
