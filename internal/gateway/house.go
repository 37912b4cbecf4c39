package gateway

import (
	"math"
	"sync/atomic"
	"time"
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
	rest = g.reap(now)
	if tidy.dirty {
		g.housekeeper.resting.Store(false) // requests come in: one check per second is enough
		rest = min(rest, checkInterval)
	}
	return rest
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
