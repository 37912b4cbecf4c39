package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// onePlace has a file with two servers, and nothing that serves it yet.
func onePlace(t *testing.T) *upStorm {
	t.Helper()
	b, gauze := buildWithBugs(t)
	dir, err := os.MkdirTemp(b.dir, "kill-")
	if err != nil {
		t.Fatal(err)
	}
	s := &upStorm{servers: 2, dir: dir, self: b.self, gauze: gauze}
	if err := s.write(0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	return s
}

// byHand starts gauze up as a user does.
func (s *upStorm) byHand(t *testing.T) {
	t.Helper()
	var err error
	if s.up, err = startHTTP(s.command("up", "--no-token", "--listen", "127.0.0.1:0", "--quiet", "--no-dashboard", "--no-journal", s.file())); err != nil {
		t.Fatal(err)
	}
	until(t, "gauze up listens for gauze connect", func() bool {
		found, _ := filepath.Glob(filepath.Join(s.dir, "s", "up", "*.json"))
		return len(found) > 0
	})
}

// client is a client of gauze connect.
func (s *upStorm) client(t *testing.T) *lineClient {
	t.Helper()
	cmd := s.command("connect", "--file", s.file())
	c, err := dial(cmd.Args, cmd.Env...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// until waits for something that another process does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for begin := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > patience.Limit() {
			t.Fatalf("never: %s", what)
		}
	}
}

// slowCall begins a call that has its effect immediately and its response later, and returns once it has the effect.
func (s *upStorm) slowCall(t *testing.T, c *lineClient, key string, later time.Duration) {
	t.Helper()
	fmt.Fprintf(c.in, "%s", dialects[0].toolCall(fmt.Sprintf("%q", key), "s00__append", fmt.Sprintf(`{"key":%q,"ms":%d}`, key, later.Milliseconds())))
	until(t, key, func() bool {
		entries, _, err := faultyserver.ReadLedger(s.ledger())
		return err == nil && slices.ContainsFunc(entries, func(e faultyserver.Entry) bool { return e.Key == key })
	})
}

// works calls both servers.
func (c *lineClient) works(t *testing.T) {
	t.Helper()
	if _, err := c.callAll(2, 2); err != nil {
		t.Fatal(err)
	}
}

// gone waits until none of the processes is left.
func gone(t *testing.T, pids []int) {
	t.Helper()
	if len(pids) == 0 {
		t.Fatal("no server was running")
	}
	for _, pid := range pids {
		until(t, fmt.Sprintf("process %d is gone", pid), func() bool { return isGone(pid) })
	}
}

// next expects the response to a call, and nothing about it before.
func (c *lineClient) next(t *testing.T, key string, want ...string) {
	t.Helper()
	line, err := c.answer()
	if err != nil || string(rawID(line)) != fmt.Sprintf("%q", key) {
		t.Fatalf("%s, %v; want the response to %s", line, err, key)
	}
	for _, part := range want {
		if !strings.Contains(string(line), part) {
			t.Errorf("%s: want %s", line, part)
		}
	}
}

// The servers of a client whose gauze connect was killed end; the other client keeps its own.
func TestGauzeConnectIsKilled(t *testing.T) {
	s := onePlace(t)
	stays := s.client(t)
	stays.works(t)
	kept := s.processes(roleFaulty)
	killed := s.client(t)
	killed.works(t)
	s.slowCall(t, killed, "in progress", time.Hour)
	theirs := slices.DeleteFunc(s.processes(roleFaulty), func(pid int) bool { return slices.Contains(kept, pid) })
	killed.cmd.Process.Kill()
	gone(t, theirs)
	stays.works(t)
	if now := s.processes(roleFaulty); !slices.Equal(now, kept) {
		t.Errorf("servers %v, want %v", now, kept)
	}
}

// The servers of a gauze up that was killed end, whoever started it, and the sessions of gauze connect continue.
func TestGauzeUpIsKilled(t *testing.T) {
	for name, byHand := range map[string]bool{"on demand": false, "by hand": true} {
		t.Run(name, func(t *testing.T) {
			s := onePlace(t)
			if byHand {
				s.byHand(t)
			}
			c := s.client(t)
			c.works(t)
			s.slowCall(t, c, "in progress", time.Hour)
			servers := s.processes(roleFaulty)
			if byHand {
				s.up.cmd.Process.Kill()
			} else {
				s.killUp(0)
			}
			c.next(t, "in progress", "outcome-unknown")
			gone(t, servers)
			c.works(t)
			servers = s.processes(roleFaulty)
			c.close()
			gone(t, servers)
		})
	}
}

// A gauze up that is asked to end answers the calls that it has, and the sessions of gauze connect continue.
func TestGauzeUpEnds(t *testing.T) {
	for name, byHand := range map[string]bool{"on demand": false, "by hand": true} {
		t.Run(name, func(t *testing.T) {
			s := onePlace(t)
			if byHand {
				s.byHand(t)
			}
			c := s.client(t)
			c.works(t)
			servers := s.processes(roleFaulty)
			s.slowCall(t, c, "in progress", 500*time.Millisecond)
			ups := s.processes("--on-demand")
			if byHand {
				ups = []int{s.up.cmd.Process.Pid}
			}
			for _, pid := range ups {
				syscall.Kill(pid, syscall.SIGTERM)
			}
			c.next(t, "in progress", "appended in progress")
			c.works(t)
			gone(t, servers)
		})
	}
}
