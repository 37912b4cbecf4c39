//go:build linux

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// A wrap works without a state directory that can be trusted, says so once, and leaves it alone.
func TestRunDoesNotUseAStateDirectoryThatOthersCanWriteTo(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	if err := os.Chmod(state, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "gauze", "run", "--", "faultyserver")
	cmd.Env = append(os.Environ(), "GAUZE_STATE_DIR="+state)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), `"serverInfo"`) {
		t.Errorf("%v: %s", err, &stdout)
	}
	if strings.Count(stderr.String(), "chmod 700 "+state) != 1 || strings.Count(stderr.String(), "other users can write") != 1 {
		t.Errorf("said %s", &stderr)
	}
	if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
		t.Errorf("it has %v, %v", left, err)
	}
}

// A relative state directory is in the project, which could bring one along.
func TestRunDoesNotUseARelativeStateDirectory(t *testing.T) {
	t.Parallel()
	cmd := program(t, "gauze", "run", "--", "faultyserver")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GAUZE_STATE_DIR=state")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), `"serverInfo"`) || strings.Count(stderr.String(), "must be absolute") != 1 {
		t.Errorf("%v: %s %s", err, &stdout, &stderr)
	}
	if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
		t.Errorf("the project has %v, %v", left, err)
	}
}
