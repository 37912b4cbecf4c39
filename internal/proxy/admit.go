package proxy

import (
	"time"

	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// admission limits how many unsafe calls are in flight, because each of them
// is an "outcome unknown" if the server dies. Reads are not limited. It is an
// economy, not a safeguard: unless the user fixed the window, no call is held
// longer than holdAtMost for it, so a tool that waits for another call's effect
// cannot be locked out.
type admission struct {
	fixed   int // set by the user
	window  int
	unsafe  int // in flight
	tools   map[string]int
	clean   int       // unsafe calls answered since the window last changed
	crashed time.Time // last death
	trial   *call     // the one call let through while unresponsive
}

const (
	firstWindow   = 4                // measured: 2.6 unknown answers a crash, throughput nearly as without
	crashedWindow = 1                // 0.7 a crash
	crashedFor    = 10 * time.Minute // a server that crashed once crashes again
	largestWindow = 64
	growAfter     = 32 // unsafe calls answered without a death
	holdAtMost    = time.Second
	suspectsApart = 200 * time.Millisecond // a poisoned call kills fast; an innocent one must not wait for a slow one
	longestQueue  = 1024
	largestQueue  = 8 << 20 // bytes
)

// size is how many unsafe calls may run now.
func (a *admission) size(now time.Time) int {
	switch {
	case a.fixed > 0:
		return a.fixed
	case !a.crashed.IsZero() && now.Sub(a.crashed) < crashedFor:
		return crashedWindow
	case a.window == 0:
		return firstWindow
	default:
		return a.window
	}
}

// grow lets the window widen slowly while nothing happens.
func (a *admission) grow() {
	if a.clean++; a.clean >= growAfter {
		a.clean = 0
		a.window = min(max(a.window, firstWindow)+1, largestWindow)
	}
}

// crash: what was in flight is gone, and the next calls go carefully.
func (a *admission) crash(now time.Time) {
	a.crashed, a.window, a.clean, a.unsafe, a.trial = now, 0, 0, 0, nil
	clear(a.tools)
}

// admits decides whether a call may be sent now.
func (s *Session) admits(c *call) bool {
	a := &s.admission
	now := c.arrived
	if len(s.held) > 0 {
		now = time.Now()
	}
	if !c.retryAt.IsZero() && time.Now().Before(c.retryAt) {
		return false
	}
	if s.up.Health() == health.Unresponsive && a.trial != nil && c.class != Start {
		return false // half open: one trial at a time
	}
	if limit := s.Tools[c.tool].MaxInFlight; c.tool != "" && limit > 0 && a.tools[c.tool] >= limit {
		return false
	}
	if c.suspect && !s.suspectMayGo() || s.wouldOvertake(c) {
		return false
	}
	return c.class != Unsafe || a.unsafe < a.size(now) || now.Sub(c.arrived) >= holdAtMost && a.fixed == 0
}

// occupy and vacate count a call in and out.
func (s *Session) occupy(c *call) {
	a := &s.admission
	c.slot = true
	if c.class == Unsafe {
		a.unsafe++
	}
	if c.tool != "" && s.Tools[c.tool].MaxInFlight > 0 {
		a.tools[c.tool]++
	}
	if s.up.Health() == health.Unresponsive {
		a.trial = c
	}
	if c.suspect {
		s.suspects = append(s.suspects, c)
	}
}

func (s *Session) vacate(c *call) {
	if !c.slot {
		return
	}
	c.slot = false
	a := &s.admission
	if c.conn == s.conn { // otherwise crash has cleared the counts
		if c.class == Unsafe {
			a.unsafe--
			a.grow()
		}
		if c.tool != "" && s.Tools[c.tool].MaxInFlight > 0 {
			a.tools[c.tool]--
		}
	}
	if a.trial == c {
		a.trial = nil
	}
}

// wouldOvertake reports whether an idempotent call that is to be repeated still
// waits: a write that came later must not go before it, or it would be undone.
func (s *Session) wouldOvertake(c *call) bool {
	if c.class != Unsafe && c.class != Idempotent {
		return false
	}
	for _, other := range s.held {
		if other.class == Idempotent && other.deaths > 0 && other.seq < c.seq && !other.over && other.conn == nil {
			return true
		}
	}
	return false
}

// suspectMayGo keeps repeated calls apart, so that a second death points at
// one of them.
func (s *Session) suspectMayGo() bool {
	running := s.suspects[:0]
	for _, other := range s.suspects {
		if !other.over && other.conn == s.conn {
			running = append(running, other)
		}
	}
	s.suspects = running
	for _, other := range running {
		if time.Since(other.sent) < suspectsApart {
			return false
		}
	}
	return true
}

// full reports whether a queue has no room for another message.
func full(queue []*call, m *wire.Message) bool {
	size := len(m.Raw)
	for _, c := range queue {
		size += len(c.msg.Raw)
	}
	return len(queue) >= longestQueue || len(queue) > 0 && size > largestQueue
}

// release sends the held calls that may go now. It does not flush.
func (s *Session) release() {
	if len(s.held) == 0 || s.conn == nil {
		return
	}
	kept := s.held[:0]
	for _, c := range s.held {
		switch {
		case c.over:
		case s.admits(c):
			if c.again {
				s.sendsAgain(c, s.conn)
			}
			s.transmit(c, s.conn)
		default:
			kept = append(kept, c)
		}
	}
	clear(s.held[len(kept):])
	s.held = kept
}
