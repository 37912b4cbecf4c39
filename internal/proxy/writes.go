package proxy

// An idempotent call is repeated only if nothing was written after it, by any session: the servers
// of a gateway's sessions share files and databases, so their writes are counted together.

// noteSent records that the call is being sent. The caller holds the lock.
func (s *Session) noteSent(c *call) {
	s.sends++
	c.order = s.sends
	if c.deaths == 0 {
		c.others = s.otherWrites()
	}
	if c.class.writes() {
		s.lastWrite = s.sends
		s.writes++
		s.Writes.Add(1)
	}
}

// otherWrites returns the number of writes that other sessions have sent.
func (s *Session) otherWrites() uint64 { return s.Writes.Load() - s.writes }

// laterWrite reports whether a call that may write was sent after c, by this session or another.
func (s *Session) laterWrite(c *call) bool {
	return s.lastWrite > c.order || s.otherWrites() != c.others
}

// overtaken reports whether another session has written since c, which is about to be repeated, was
// first sent. Writes of this session wait for c.
func (s *Session) overtaken(c *call) bool {
	return c.class == Idempotent && c.deaths > 0 && s.otherWrites() != c.others
}
