package demo

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// freeze: Windows cannot freeze a process from outside; it is ended, which
// the wrap has to survive all the same.
func (s *server) freeze(context.Context) error { return s.signal(syscall.SIGKILL) }

// signal ends the server, if there is one.
func (s *server) signal(syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid == 0 {
		return nil
	}
	process, err := os.FindProcess(s.pid)
	if err != nil {
		return nil // it is gone already
	}
	s.pid = 0
	if err := process.Kill(); err != nil {
		return fmt.Errorf("breaking the server: %w", err)
	}
	return nil
}
