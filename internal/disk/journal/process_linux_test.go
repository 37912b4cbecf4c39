package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
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

// strace kills a writer as it begins one of its writes: to the database, the write-ahead log, the
// heads, or the names of files.
func TestAKillAtAnyWriteLosesNothing(t *testing.T) {
	strace, err := exec.LookPath("strace")
	missing := t.Skip
	if os.Getenv("CI") == "true" { // the check has installed and tried it
		missing = t.Fatal
	}
	if err != nil {
		missing("strace is not installed: ", err)
	}
	const calls = "pwrite64,write,ftruncate,fsync,fdatasync,unlink,unlinkat,linkat,renameat,renameat2"
	kills, total, path := 0, 0, filepath.Join(memoryDir(t), "state", FileName)
	for n := range sample.Part(1000, 50) {
		if n%100 == 0 {
			os.RemoveAll(filepath.Dir(path)) // from the first write on
		}
		task := fmt.Sprint("t", n)
		cmd := exec.Command(strace, "-f", "-qq", "-o", os.DevNull, "-e", "trace="+calls,
			"-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", calls, 1+n%100), os.Args[0])
		cmd.Env = append(os.Environ(), envRole+"="+strings.Join([]string{"append", path, task}, " "))
		out, err := cmd.Output()
		if exit := new(exec.ExitError); !errors.As(err, &exit) {
			missing("strace cannot trace here: ", err)
		}
		acknowledged := strings.Count(string(out), "\n")
		kills++
		total += acknowledged
		j := openFor(t, path)
		entries, err := j.Entries(context.Background(), task)
		if err != nil || len(entries) < acknowledged || len(entries) > acknowledged+1 || j.Salvaged() != nil {
			t.Fatalf("kill at write %d: %d entries, %d acknowledged: %v, %v", 1+n%100, len(entries), acknowledged, err, j.Salvaged())
		}
		j.Close()
	}
	t.Logf("%d kills, %d entries", kills, total)
}
