package proxy

// ToolClass returns what sending a call of a tool twice may do: as the user configured, or else as
// the tool declares. A tool that is not listed is unsafe, unless the user configured it.
func (s *Session) ToolClass(tool string) Class {
	s.mu.Lock()
	defer s.mu.Unlock()
	hinted := Unsafe
	if t, ok := s.catalog.tools[tool]; ok {
		hinted = t.class
	}
	return s.Tools[tool].class(hinted)
}
