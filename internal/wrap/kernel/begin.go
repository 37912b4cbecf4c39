package kernel

import (
	"cmp"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// How a session begins although its server does not: a client that waits for initialize learns
// within seconds what keeps the server from starting. A start that only takes long is waited for.

// delay is what keeps a session from beginning.
type delay struct {
	since   time.Time        // when the first start failed
	trouble upstream.Trouble // of the last one
}

// noteDelay records that a start failed, and answers who waited long enough.
func (l *likeness) noteDelay(t upstream.Trouble, now time.Time) {
	if l.begun() {
		return
	}
	if l.delayed == nil || t.Evidence.Stage >= upstream.Spoke {
		l.delayed = &delay{since: now}
		if t.Attempts == 1 {
			l.delayed.since = t.Since // before the diagnosis
		}
	}
	l.delayed.trouble = t
	l.endStarts(now)
}

// endStarts answers the calls that waited long enough for a session that cannot begin.
func (l *likeness) endStarts(now time.Time) {
	d := l.delayed
	if d == nil {
		return
	}
	if l.begun() || l.s.link.conn != nil && l.s.link.conn.LastHeard().After(l.s.link.conn.Started) {
		l.delayed = nil
		return
	}
	inOrder := func(a, b *Call) int { return cmp.Compare(a.seq, b.seq) } // what opens the session comes first
	for _, c := range slices.SortedFunc(l.s.table.calls.all(), inOrder) {
		if c.state == held || c.class == Stream || now.Before(d.end(c.arrived, l.s.config.Timing.StartAnswer)) || l.underWay(c, now) {
			continue
		}
		l.s.expectLate(c)
		l.unavailable(c, &d.trouble)
	}
}

// end returns until when a call is held that arrived at some time. All that arrive during the first
// wait end with it: a client that asks server/discover and soon after initialize does not wait twice.
func (d *delay) end(arrived time.Time, wait time.Duration) time.Time {
	if end := d.since.Add(wait); arrived.Before(end) {
		return end
	}
	return arrived.Add(wait)
}

// lateFailure is when a start failed late. The next one would take as long to fail, and the client
// would not wait for it.
const lateFailure = 5 * time.Second

// again reports whether a start that failed may just have had bad luck.
func (d *delay) again() bool {
	return d.trouble.Attempts < 2 && d.trouble.Evidence.Ran < lateFailure
}

// underWay reports whether a call is with a server that may still answer it. A process that starts
// again after it failed once, and soon, gets its time while it works.
func (l *likeness) underWay(c *Call, now time.Time) bool {
	switch {
	case c.state == queued:
		return l.s.link.conn != nil
	case c.state != sent || c.conn.Remote():
		return true
	}
	return l.delayed.again() && !c.conn.Overdue(c.sent, now, l.s.config.Timing.StartAnswer)
}
