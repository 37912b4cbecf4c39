package kernel

import "time"

// quarantine is the poison rule: a call that was in flight at two deaths in a row is not sent again
// for a while. A success in between clears it.
type quarantine struct {
	last   map[uint64]bool      // signs in flight at the last death
	barred map[uint64]time.Time // until when
}

// bar keeps a call away until then, and forgets those whose time is over.
func (q *quarantine) bar(sign uint64, now, until time.Time) {
	for other, end := range q.barred {
		if end.Before(now) {
			delete(q.barred, other)
		}
	}
	q.barred[sign] = until
}

// clear lifts the suspicion from a call that was answered.
func (q *quarantine) clear(c *Call) {
	if len(q.last)+len(q.barred) > 0 {
		sign := c.Sign()
		delete(q.last, sign)
		delete(q.barred, sign)
	}
}
