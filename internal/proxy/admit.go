package proxy

import (
	"time"
)

// admission limits how many unsafe calls are in flight after a crash, because
// each of them is an "outcome unknown" if the server dies again. A server that
// has not crashed has no limit. It is an economy, not a safeguard: unless the
// user fixed the window, no call is held longer than holdAtMost for it, so a
// tool that waits for another call's effect cannot be locked out.
type admission struct {
	fixed   int // set by the user; 0: not
	window  int // 0: no limit
	unsafe  int // in flight
	tools   map[string]int
	clean   int       // unsafe calls answered since the window last changed
	crashed time.Time // last death
}

const (
	crashedWindow = 1                // measured: 0.7 unknown answers a crash, throughput nearly as without
	crashedFor    = 10 * time.Minute // a server that crashed once crashes again
	largestWindow = 64               // beyond it there is no window
	growAfter     = 32               // unsafe calls answered without a death
	holdAtMost    = time.Second
	suspectsApart = 200 * time.Millisecond // a poisoned call kills fast; an innocent one must not wait for a slow one
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
		if a.window++; a.window > largestWindow {
			a.window = 0
		}
	}
}

// crash notes that what was in flight is gone: the next calls go carefully.
func (a *admission) crash(now time.Time) {
	a.crashed, a.window, a.clean, a.unsafe = now, crashedWindow, 0, 0
	clear(a.tools)
}

// admits reports whether a call may be sent now, as far as others in flight
// are concerned.
func (s *Session) admits(c *call) bool {
	if c.id == nil {
		return true
	}
	a := &s.admission
	now := c.arrived
	if c.waited || len(s.held) > 0 {
		now = time.Now()
	}
	limit := s.Tools[c.tool].MaxInFlight
	c.limited = c.tool != "" && limit > 0 && a.tools[c.tool] >= limit
	switch {
	case c.limited, now.Before(c.retryAt), c.suspect && now.Sub(s.upSince) < holdAtMost && !s.suspectMayGo(), s.conn.Remote() && s.wouldOvertake(c):
		return false
	}
	return c.class != Unsafe || a.allows(now) || a.fixed == 0 && now.Sub(c.arrived) >= holdAtMost
}

// isBehind reports whether a call has to keep its place behind one of those
// ahead: one client's messages reach a server in the order they were sent. A
// call that waits because of its own tool's max-in-flight holds up that tool
// only. Over HTTP every request is on its own, and direct keeps no order.
func (s *Session) isBehind(ahead []*call, c *call) bool {
	if s.conn.Remote() || c.msg.Method == "ping" { // a ping has no effect that could come too early
		return false
	}
	for _, other := range ahead {
		if !other.over && (!other.limited || other.tool == c.tool) {
			return true
		}
	}
	return false
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
// one of them. Everything else waits behind them, so there is an end to it:
// holdAtMost after the server came back they all go.
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

// release sends the held calls that may go now, in their order. It does not
// flush.
func (s *Session) release() {
	if len(s.held) == 0 || s.conn == nil {
		return
	}
	kept := s.held[:0]
	for _, c := range s.held {
		switch {
		case c.over:
		case s.isBehind(kept, c) || !s.admits(c):
			kept = append(kept, c)
		default:
			if c.again {
				s.sendsAgain(c, s.conn)
			}
			s.transmit(c, s.conn)
		}
	}
	clear(s.held[len(kept):])
	s.held = kept
}

// callOverhead is what a queued message takes beyond its bytes.
const callOverhead = 1 << 10

// enqueue puts a call at the end of a queue of ours and counts its bytes.
func (s *Session) enqueue(queue *[]*call, c *call) {
	c.waited = true
	if c.queued == 0 {
		c.queued = len(c.msg.Raw) + callOverhead
		s.queued += c.queued
	}
	*queue = append(*queue, c)
	s.rouse()
}

// dequeued counts a call out that left our queues.
func (s *Session) dequeued(c *call) {
	if c.queued == 0 {
		return
	}
	s.queued -= c.queued
	c.queued = 0
	if s.queued <= s.maxQueued {
		s.roomy.Broadcast()
	}
}
