//go:build unix

package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/event"
)

// What is written to a file that has no name any more is lost when it is closed.
func TestAppendsToARemovedJournalFail(t *testing.T) {
	for name, suffixes := range map[string][]string{"all": {"", "-wal", "-shm"}, "the database": {""}, "the write-ahead log": {"-wal"}} {
		path := newPath(t)
		j := openFor(t, path)
		j.must(t, "a", 0, entry("begin", ""))
		for _, suffix := range suffixes {
			if err := os.Remove(path + suffix); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // also after a Recorder has made a new one
			_, err := j.Append(context.Background(), "a", 1, entry("next", ""))
			wantProblem(t, err, path, "was removed or replaced while gauze was using it", "next: check what")
			if !errors.Is(err, ErrMissing) {
				t.Errorf("without %s: %v", name, err)
			}
			if suffixes[0] == "" {
				if r := record(t, path, event.Event{Kind: event.Ready}); r.Lost() != 0 {
					t.Errorf("without %s: the event was not written", name)
				}
			}
		}
		j.Close()
	}
}

// What has the name of a file of the journal, but is not a file, is neither waited for nor read.
func TestWhatIsNotAFile(t *testing.T) {
	for _, suffix := range []string{"", "-wal", headsSuffix, lockSuffix} {
		for name, put := range map[string]func(path string) error{
			"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
			"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"a device":    func(path string) error { return os.Symlink("/dev/zero", path) },
		} {
			path := newPath(t)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := put(path + suffix); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path)
			wantProblem(t, err, path+suffix+" is not a file", "next: move it")
			if r := record(t, path, event.Event{Kind: event.Ready}); r.Lost() != 1 {
				t.Errorf("%s as %q: %d events lost", name, suffix, r.Lost())
			}
		}
	}
}
