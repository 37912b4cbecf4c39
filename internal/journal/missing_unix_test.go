//go:build unix

package journal

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/gauze-mcp/gauze/internal/event"
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
