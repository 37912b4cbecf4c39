//go:build unix

package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
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
	pid := strconv.Itoa(s.pid)
	s.mu.Unlock()
	for ctx.Err() == nil {
		if strings.HasPrefix(state(pid), "T") {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

// state returns the state of a process, as one letter.
func state(pid string) string {
	if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil {
		return strings.TrimSpace(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	}
	out, err := exec.Command("ps", "-o", "state=", "-p", pid).Output()
	if err != nil {
		return "T" // not known: continue
	}
	return strings.TrimSpace(string(out))
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
