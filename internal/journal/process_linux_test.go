package journal

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gauze-mcp/gauze/internal/event"
)

// limitFileSize makes writes beyond 128 kB fail, as on a full disk.
func limitFileSize() {
	signal.Ignore(syscall.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 128 << 10, Max: 128 << 10}); err != nil {
		panic(err)
	}
}

func TestAFullDiskIsReportedAndLosesNothing(t *testing.T) {
	path := newPath(t)
	p := start(t, "full", path, "a")
	acknowledged := 0
	last := ""
	for p.lines.Scan() {
		if last = p.lines.Text(); !strings.Contains(last, " ") {
			acknowledged++
		}
		if strings.Contains(last, "next: ") {
			break
		}
	}
	p.kill()
	if acknowledged == 0 || !strings.Contains(last, "free some space") {
		t.Errorf("%d entries, then %q", acknowledged, last)
	}
	j := openFor(t, path)
	entries, err := j.Entries(context.Background(), "a")
	if err != nil || len(entries) != acknowledged || j.Salvaged() != nil {
		t.Errorf("%d entries of %d, %v, %v", len(entries), acknowledged, err, j.Salvaged())
	}
}

// Root may write anywhere, so the directory is one in which nothing can be created: a file system
// of the kernel.
func TestADirectoryThatCannotBeWrittenIsReported(t *testing.T) {
	path := filepath.Join("/proc/self", "gauze", FileName)
	_, err := Open(path)
	wantProblem(t, err, path, "cannot be", "GAUZE_STATE_DIR")
	if r := record(t, path, event.Event{Kind: event.Ready}); r.Lost() != 1 {
		t.Error("an event was written to /proc")
	}
}

func TestAReadOnlyJournalIsReported(t *testing.T) {
	path := newPath(t)
	openFor(t, path).Close()
	dir := filepath.Dir(path)
	if err := errors.Join(os.Chmod(dir, 0o555), os.Chmod(path, 0o444), os.Chmod(path+lockSuffix, 0o666)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	p := start(t, "stranger", path, "a") // root may write anything
	var said []string
	for p.lines.Scan() {
		said = append(said, p.lines.Text())
	}
	if text := strings.Join(said, "\n"); !strings.Contains(text, path+" cannot be written: the file or its directory is read-only\nnext: ") {
		t.Errorf("%q", text)
	}
}

// becomeStranger gives up the rights of root.
func becomeStranger() {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			panic(err)
		}
	}
}
