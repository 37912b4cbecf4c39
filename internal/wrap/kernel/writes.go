package kernel

import "slices"

// An idempotent call is repeated only if nothing was written after it, by any session: the servers
// of a gateway's sessions share files and databases, so their writes are counted together.

// noteSent records that the call is being sent. The caller holds the lock.
func (o *order) noteSent(c *Call) {
	o.sends++
	c.order = o.sends
	if c.past.deaths == 0 {
		c.past.others = o.otherWrites()
	}
	if c.class.writes() {
		o.lastWrite = o.sends
		o.writes++
		o.s.config.Writes.Add(1)
	}
}

// otherWrites returns the number of writes that other sessions have sent.
func (o *order) otherWrites() uint64 { return o.s.config.Writes.Load() - o.writes }

// laterWrite reports whether a call that may write was sent after c, by this session or another.
func (o *order) laterWrite(c *Call) bool {
	return o.lastWrite > c.order || o.otherWrites() != c.past.others
}

// overtaken reports whether another session has written since c, which is about to be repeated, was
// first sent. Writes of this session wait for c.
func (o *order) overtaken(c *Call) bool {
	return c.class == Idempotent && c.past.deaths > 0 && o.otherWrites() != c.past.others
}

// writtenSince reports whether a call of this session that may write came after c. Those of other
// sessions do not matter: c itself had no effect.
func (o *order) writtenSince(c *Call) bool {
	return o.lastWrite > c.order || slices.ContainsFunc(o.s.table.queue, func(other *Call) bool { return other.class.writes() && other.seq > c.seq })
}
