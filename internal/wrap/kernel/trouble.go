package kernel

import "github.com/gauze-mcp/gauze/internal/wrap/upstream"

// Trouble returns why the server is unavailable, or nil if it is connected or being started.
func (s *Session) Trouble() *upstream.Trouble {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link.trouble
}
