package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// While gauze asks, it keeps nobody waiting. If the file is then no longer what it showed, it shows
// the new diff and asks again.
func TestAnAnswerCountsForTheDiffThatWasShown(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, ".cursor", "mcp.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"mcpServers": {"a": {"command": "npx"}, "b": {"command": "npx"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	gauze := func(args ...string) *exec.Cmd {
		cmd := program(t, "gauze", args...)
		path, err := exec.LookPath("gauze")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "HOME="+home, "GAUZE_STATE_DIR="+filepath.Join(home, "state"), "GAUZE_BIN="+path, "TERM=vt100", "NO_COLOR=yes")
		return cmd
	}
	wrapped := func() (names string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			if strings.Contains(string(text), `"--name=`+name+`"`) {
				names += name
			}
		}
		return names
	}

	cmd := gauze("wrap", "a")
	s := startOnScreen(t, 200, 60, cmd)
	s.want(`Make this change to .*\? \[y/N\]`)
	if out, err := gauze("wrap", "b", "--yes").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.press("y\r")
	s.want(`so gauze did not write to them\. The diff is now:`, `(?s)The diff is now:.*Make this change to .*\? \[y/N\]`)
	if got := wrapped(); got != "b" {
		t.Errorf("wrapped before the second answer: %q", got)
	}
	s.press("y\r")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, s)
	}
	if got := wrapped(); got != "ab" {
		t.Errorf("wrapped: %q", got)
	}
}
