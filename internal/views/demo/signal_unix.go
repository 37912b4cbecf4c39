//go:build unix

package demo

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// hungAbout says how long gauze waits for a server that is suspended.
var hungAbout = fmt.Sprintf("Gauze replaces it if it is not resumed within %v.", hangGrace)

// freeze stops the server and returns when it has stopped: after the signal it could still answer a
// call.
func (s *server) freeze(ctx context.Context) error {
	if err := s.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	s.mu.Lock()
	pid := s.pid
	s.mu.Unlock()
	for ctx.Err() == nil && !stopped(pid) {
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

// signal sends a signal to the server, if it is running.
func (s *server) signal(sig syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid == 0 {
		return nil
	}
	if err := syscall.Kill(s.pid, sig); err != nil {
		return fmt.Errorf("cannot send a signal to the server: %w", err)
	}
	return nil
}
