//go:build unix

package demo

import (
	"fmt"
	"syscall"
)

const stopSignal = syscall.SIGSTOP

// signal sends a signal to the server, if there is one.
func (s *server) signal(sig syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid == 0 {
		return nil
	}
	if err := syscall.Kill(s.pid, sig); err != nil {
		return fmt.Errorf("breaking the server: %w", err)
	}
	return nil
}
