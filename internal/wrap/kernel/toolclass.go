package kernel

// ToolClass returns what sending a call of a tool twice may do: as the user configured, or else as
// the tool declares. A tool that is not listed is unsafe, unless the user configured it.
func (s *Session) ToolClass(tool string) Class {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.policy(tool).Class(s.catalog.hinted(tool))
}

// classNow returns the class of a call that may have to be sent again. What licensed that when it was sent
// may have been withdrawn since; and the list that was out of date then may have been renewed before the
// call was lost. The caller holds the lock.
func (s *Session) classNow(c *Call) Class {
	if c.msg.Method != "tools/call" || c.class == Stream || c.class == Unsafe && !c.past.unlisted {
		return c.class
	}
	return s.policy(c.tool).Class(s.catalog.hinted(c.tool))
}
