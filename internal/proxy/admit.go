package proxy

import (
	"slices"
	"time"
)

// admission limits how many unsafe calls are in flight after a crash, because the outcome of each
// of them is unknown if the server dies again. A server that has not crashed has no limit. The
// limit is an economy, not a safeguard: unless the user fixed the window, no call is held longer
// than maxHold for it, so a tool that waits for the effect of a different call is not locked out.
type admission struct {
	fixed   int // set by the user; 0: not set
	window  int // 0: no limit
	unsafe  int // in flight
	tools   map[string]int
	clean   int       // unsafe calls answered since the window last changed
	crashed time.Time // the last time
}

const (
	crashedWindow = 1                // measured: 0.7 unknown outcomes for each crash, with nearly the same throughput
	crashedFor    = 10 * time.Minute // how long after a crash the window applies
	maxWindow     = 64               // beyond it the window is unlimited
	growAfter     = 32               // unsafe calls answered without a death
)

// allows reports whether another unsafe call may run now.
func (a *admission) allows(now time.Time) bool {
	switch {
	case a.fixed > 0:
		return a.unsafe < a.fixed
	case a.window == 0 || now.Sub(a.crashed) >= crashedFor:
		return true
	default:
		return a.unsafe < a.window
	}
}

// grow widens the window slowly while the server does not crash.
func (a *admission) grow() {
	if a.window == 0 {
		return
	}
	if a.clean++; a.clean >= growAfter {
		a.clean = 0
		if a.window++; a.window > maxWindow {
			a.window = 0
		}
	}
}

// crash narrows the window: the next calls go carefully.
func (a *admission) crash(now time.Time) {
	a.crashed, a.window, a.clean = now, crashedWindow, 0
}

// empty notes that nothing is in flight any more.
func (a *admission) empty() {
	a.unsafe = 0
	clear(a.tools)
}

// admits reports whether a call may be sent now, as far as others in flight are concerned.
func (s *Session) admits(c *call) bool {
	if c.id == nil || c.awaitsList {
		return c.id == nil
	}
	a := &s.admission
	now := c.arrived
	if c.state != arrived || len(s.queue) > 0 {
		now = time.Now()
	}
	switch {
	case s.atLimit(c), now.Before(c.retryAt), c.suspect && now.Sub(s.upSince) < s.maxHold && !s.suspectMayGo(), s.conn.Remote() && s.wouldOvertake(c):
		return false
	}
	return c.class != Unsafe || a.allows(now) || a.fixed == 0 && now.Sub(c.arrived) >= s.maxHold
}

// atLimit reports whether the call's tool has reached its own max-in-flight.
func (s *Session) atLimit(c *call) bool {
	limit := s.toolLimit(c)
	return limit > 0 && s.admission.tools[c.tool] >= limit
}

// toolLimit returns the max-in-flight of the call's tool; 0: no limit.
func (s *Session) toolLimit(c *call) int {
	if c.tool == "" {
		return 0
	}
	return s.Tools[c.tool].MaxInFlight
}

// isBehind reports whether a call has to wait for one of those ahead: on a pipe, messages reach the
// server in the order they were sent. A call that waits for its own tool's max-in-flight holds up
// that tool only. Over HTTP requests have no order, with or without gauze.
func (s *Session) isBehind(ahead []*call, c *call) bool {
	if s.conn.Remote() || c.msg.Method == "ping" { // a ping has no effect
		return false
	}
	return slices.ContainsFunc(ahead, func(other *call) bool { return other.tool == c.tool || !s.atLimit(other) })
}

// occupy counts a call that was sent.
func (s *Session) occupy(c *call) {
	if c.own != nil {
		return
	}
	if c.class == Unsafe {
		s.admission.unsafe++
	}
	if s.toolLimit(c) > 0 {
		s.admission.tools[c.tool]++
	}
}

// vacate reverts occupy, unless the connection is gone and the count with it.
func (s *Session) vacate(c *call) {
	if c.own != nil || c.conn != s.conn {
		return
	}
	if c.class == Unsafe {
		s.admission.unsafe--
		s.admission.grow()
	}
	if s.toolLimit(c) > 0 {
		s.admission.tools[c.tool]--
	}
}

// wouldOvertake reports whether a write came after an idempotent call that is still to be repeated:
// sent before it, the write would be undone.
func (s *Session) wouldOvertake(c *call) bool {
	return c.class.writes() && slices.ContainsFunc(s.queue, func(other *call) bool {
		return other.class == Idempotent && other.deaths > 0 && other.seq < c.seq
	})
}

// suspectMayGo keeps the repetitions of calls that the server died with apart, so that a second
// death points at one of them. Other calls wait for them, so this ends maxHold after the server
// came back.
func (s *Session) suspectMayGo() bool {
	for _, other := range s.flight {
		if other.suspect && other.conn == s.conn && time.Since(other.sent) < s.suspectsApart {
			return false
		}
	}
	return true
}
