//go:build unix

package main

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

func TestHistoryFollowsServersThatStartLater(t *testing.T) {
	t.Parallel()
	environ := []string{"GAUZE_STATE_DIR=" + t.TempDir()}
	record := func(name string) {
		w := startRun(t, environ, "--quiet", "--name", name, "--", "faultyserver").initialize()
		w.in.Close()
		w.wantEnd(0)
	}
	record("notes")
	cmd := program(t, "gauze", "history", "--all", "--follow", "--server", "note")
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	wait := func(word string) {
		for lines.Scan() {
			if strings.Contains(lines.Text(), "files") {
				t.Errorf("an event of a different server: %s", lines.Text())
			}
			if strings.Contains(lines.Text(), word) {
				return
			}
		}
		t.Fatalf("no line with %q", word)
	}
	wait("notes")
	record("files")
	record("footnotes")
	wait("footnotes")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil { // Ctrl-C ends it
		t.Error(err)
	}
}
