//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// A journal that another process keeps to itself does not respond, like a disk that hangs.
func TestAJournalThatHangsDoesNotKeepGauzeFromExiting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := os.Create(filepath.Join(dir, "journal.db.lock"))
	if err == nil {
		err = files.TryLock(lock)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	status := filepath.Join(t.TempDir(), "status.json")
	w := startRun(t, []string{"GAUZE_STATE_DIR=" + dir, hurried}, "--quiet", "--status-file", status, "--", "faultyserver").initialize()
	w.in.Close()
	w.wantEnd(0)
	text, err := os.ReadFile(status)
	if err != nil || !strings.Contains(string(text), `"unrecorded": `) || strings.Contains(string(text), `"unrecorded": 0`) {
		t.Errorf("the events are not counted: %v\n%s", err, text)
	}
	if said := w.stderr.String(); strings.Count(said, "events are not recorded: ") != 1 || !strings.Contains(said, "in time") {
		t.Errorf("got %q, want one warning", said)
	}
}

// With few files, what a wrap can do without must not take those that the server needs.
func TestAWrapWithFewFilesDoesWithoutTheJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := startWrap(t, program(t, "sh", "-c", `ulimit -n 28; exec gauze run --quiet -- faultyserver`), []string{"GAUZE_STATE_DIR=" + dir}).initialize()
	w.call("echo", `{"text":"x"}`)
	if _, answer := w.response(); !strings.Contains(answer, `"x"`) {
		t.Error(answer)
	}
	w.in.Close()
	w.wantEnd(0)
	if said := w.stderr.String(); strings.Count(said, "events are not recorded: ") != 1 || !strings.Contains(said, "the limit on open files is low") {
		t.Errorf("got %q, want one warning", said)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("%v was written", files)
	}
}
