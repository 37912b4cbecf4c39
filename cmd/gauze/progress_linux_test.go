package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// At a terminal, gauze doctor says how many servers are checked and which one it waits for, and leaves
// nothing of that behind.
func TestDoctorShowsItsProgress(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	gate := filepath.Join(home, "gate")
	slow := filepath.Join(home, "slow")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	server := program(t, "faultyserver").Path
	write(slow, "#!/bin/sh\nread line < "+gate+"\nexec "+server+"\n")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(home, ".cursor", "mcp.json"), `{"mcpServers": {"fast": {"command": "`+server+`"}, "slow": {"command": "`+slow+`"}}}`)
	cmd := program(t, "gauze", "doctor", "--timeout", "5m")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "TERM=vt100", "GAUZE_STATE_DIR="+filepath.Join(home, "state"))
	s := startOnScreen(t, 60, 24, cmd)
	s.want(`^1 of 2 checked; cursor/slow: waiting for `)
	write(gate, "go\n")
	s.want(`2 of 2 work`)
	s.until("the line of progress is still there", func() bool { return !strings.Contains(s.String(), "checked") })
}
