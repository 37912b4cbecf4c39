package kernel

import (
	"slices"
	"time"
)

// order says which calls may go now, and what was written after a call (writes.go).
type order struct {
	s         *Session
	admission admission
	sends     uint64
	lastWrite uint64 // value of sends at the last call that may write
	writes    uint64 // this session's part of Writes
}

// admission limits how many unsafe calls are in flight after a crash, because the outcome of each
// of them is unknown if the server dies again. A server that has not crashed has no limit. The
// limit is an economy, not a safeguard: unless the user fixed the window, no call is held longer
// than MaxHold for it, so a tool that waits for the effect of a different call is not locked out.
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
func (o *order) admits(c *Call) bool {
	if c.id == nil || c.awaitsList {
		return c.id == nil
	}
	a := &o.admission
	now := c.arrived
	if c.state != arrived || len(o.s.table.queue) > 0 {
		now = time.Now()
	}
	switch {
	case o.atLimit(c), now.Before(c.past.retryAt), c.past.suspect && now.Sub(o.s.link.upSince) < o.s.config.Timing.MaxHold && !o.suspectMayGo(), o.s.link.conn.Remote() && o.wouldOvertake(c):
		return false
	}
	return c.class != Unsafe || a.allows(now) || a.fixed == 0 && now.Sub(c.arrived) >= o.s.config.Timing.MaxHold
}

// atLimit reports whether the call's tool has reached its own max-in-flight.
func (o *order) atLimit(c *Call) bool {
	limit := o.toolLimit(c)
	return limit > 0 && o.admission.tools[c.tool] >= limit
}

// toolLimit returns the max-in-flight of the call's tool; 0: no limit.
func (o *order) toolLimit(c *Call) int {
	if c.tool == "" {
		return 0
	}
	return o.s.policy(c.tool).MaxInFlight
}

// isBehind reports whether a call has to wait for one of those ahead: on a pipe, messages reach the
// server in the order they were sent. A call that waits for its own tool's max-in-flight holds up
// that tool only. Over HTTP requests have no order, with or without gauze.
func (o *order) isBehind(ahead []*Call, c *Call) bool {
	if o.s.link.conn.Remote() || c.msg.Method == "ping" { // a ping has no effect
		return false
	}
	return slices.ContainsFunc(ahead, func(other *Call) bool { return other.tool == c.tool || !o.atLimit(other) })
}

// occupy counts a call that was sent.
func (o *order) occupy(c *Call) {
	if c.own != nil {
		return
	}
	if c.class == Unsafe {
		o.admission.unsafe++
	}
	if o.toolLimit(c) > 0 {
		o.admission.tools[c.tool]++
	}
}

// vacate reverts occupy, unless the connection is gone and the count with it.
func (o *order) vacate(c *Call) {
	if c.own != nil || c.conn != o.s.link.conn {
		return
	}
	if c.class == Unsafe {
		o.admission.unsafe--
		o.admission.grow()
	}
	if o.toolLimit(c) > 0 {
		o.admission.tools[c.tool]--
	}
}

// wouldOvertake reports whether a write came after an idempotent call that is still to be repeated:
// sent before it, the write would be undone. Such a call is queued, or held until a person has logged in.
func (o *order) wouldOvertake(c *Call) bool {
	if !c.class.writes() {
		return false
	}
	first := func(other *Call) bool {
		return other.class == Idempotent && other.past.deaths > 0 && other.seq < c.seq
	}
	if o.s.table.keeps.all > 0 {
		for other := range o.s.table.calls.all() {
			if other.state == held && first(other) {
				return true
			}
		}
	}
	return slices.ContainsFunc(o.s.table.queue, first)
}

// suspectMayGo keeps the repetitions of calls that the server died with apart, so that a second
// death points at one of them. Other calls wait for them, so this ends MaxHold after the server
// came back.
func (o *order) suspectMayGo() bool {
	for _, other := range o.s.table.flight {
		if other.past.suspect && other.conn == o.s.link.conn && time.Since(other.sent) < o.s.config.Timing.SuspectsApart {
			return false
		}
	}
	return true
}
