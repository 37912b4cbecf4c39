package gateway

import (
	"math"
	"sync/atomic"
	"time"
)

// house wakes the housekeeper. Nothing ticks while nothing is due.
type house struct {
	resting atomic.Bool // the next request, or the end of one, wakes it
	stirred chan struct{}
}

// stir wakes the housekeeper if it rests.
func (h *house) stir() {
	if h.resting.CompareAndSwap(true, false) {
		select {
		case h.stirred <- struct{}{}:
		default:
		}
	}
}

// keepHouse ends unused sessions and gives memory back, until the returned
// function is called.
func (g *Gateway) keepHouse() (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		timer := time.NewTimer(lookEvery)
		defer timer.Stop()
		var tidy tidier
		for {
			select {
			case <-timer.C:
			case <-g.house.stirred:
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

// look does what is due and returns how long nothing will be, unless the house
// is stirred.
func (g *Gateway) look(tidy *tidier, now time.Time) (rest time.Duration) {
	g.house.resting.Store(true) // before anything is looked at: what changes meanwhile wakes us
	if tidy.due(g.requests.Load(), now) {
		tidyUp()
	}
	rest = g.reap(now)
	if tidy.dirty {
		g.house.resting.Store(false) // requests come in: one look a second sees to all of them
		rest = min(rest, lookEvery)
	}
	return rest
}

const (
	// initializeTimeout is how long a session may be unused whose client has not
	// sent notifications/initialized: most likely that client gave up.
	initializeTimeout = time.Minute

	busyAgain = 10 * time.Second // until a session that is overdue but has calls in flight is checked again
	never     = time.Duration(math.MaxInt64)
)

// reap ends the sessions that have not been used for long. A client that comes
// back gets 404, and initializes again. It returns the time until the next one
// may be due.
func (g *Gateway) reap(now time.Time) (rest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	rest = never
	for _, s := range g.sessions {
		s.expire(now)
		if left := g.timeLeft(s, now); left > 0 {
			rest = min(rest, left, keptFor)
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

// timeLeft returns how long a session may still be unused, 0 or less if it
// has to go. One that is in use stirs the house when it is left.
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
		return busyAgain
	}
	return left
}
