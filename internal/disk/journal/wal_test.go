package journal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gauze-mcp/gauze/event"
)

// tornImage writes the files of a journal whose last commit has several frames, of which the first
// did not reach the disk. It returns the heads before and after that commit.
func tornImage(t *testing.T, path string, extra int) (before, after []byte) {
	t.Helper()
	from := newPath(t)
	j := openFor(t, from)
	j.must(t, "a", 0, entry("one", ""))
	j.must(t, "a", 1, entry("two", ""))
	read := func(suffix string) []byte {
		content, err := os.ReadFile(from + suffix)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	before = read(headsSuffix)
	end := len(read("-wal"))
	j.must(t, "a", 2, Entry{Time: noon, Kind: "three", Data: bytes.Repeat([]byte("1"), 20_000)})
	after = read(headsSuffix)
	for range extra {
		record(t, from, event.Event{Kind: event.Ready})
	}
	log := read("-wal")
	if (len(log)-end)/(4096+24) < 5 {
		t.Fatalf("the last commit has %d bytes", len(log)-end)
	}
	clear(log[end : end+(4096+24)])
	if err := makeDir(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	for suffix, content := range map[string][]byte{"": read(""), "-wal": log} {
		if err := os.WriteFile(path+suffix, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return before, after
}

// After a power failure, part of a commit may be on disk, in any order.
func TestATornCommitThatWasNotAcknowledgedIsNotDamage(t *testing.T) {
	path := newPath(t)
	before, _ := tornImage(t, path, 0)
	if err := os.WriteFile(path+headsSuffix, before, 0o600); err != nil {
		t.Fatal(err)
	}
	j := openFor(t, path)
	if j.Salvaged() != nil {
		t.Error(j.Salvaged())
	}
	if got := j.told(t, "a"); got != "1:one 2:two" {
		t.Error(got)
	}
	j.must(t, "a", 2, entry("again", ""))
	j.Close()
	if j = openFor(t, path); j.Salvaged() != nil || j.told(t, "a") != "1:one 2:two 3:again" {
		t.Error(j.Salvaged(), j.told(t, "a"))
	}
}

// A Recorder uses such a journal as well.
func TestARecorderWritesAfterATornCommit(t *testing.T) {
	path := newPath(t)
	tornImage(t, path, 0)
	if r := record(t, path, event.Event{Kind: event.Ready}); r.Lost() != 0 {
		t.Error("the event was not written")
	}
}

func TestATornCommitThatWasAcknowledgedIsDamage(t *testing.T) {
	path := newPath(t)
	_, after := tornImage(t, path, 0)
	if err := os.WriteFile(path+headsSuffix, after, 0o600); err != nil {
		t.Fatal(err)
	}
	j := openFor(t, path)
	var damage *Damage
	if _, err := j.Entries(context.Background(), "a"); !errors.As(err, &damage) || damage.Lost != 1 || j.Salvaged() == nil {
		t.Errorf("%v, %v", err, j.Salvaged())
	} else if log, err := os.ReadFile(j.Salvaged().File + "-wal"); err != nil || len(log) == 0 {
		t.Errorf("the damaged log was not kept: %v", err)
	}
}

// Without the heads: a commit that later ones follow was acknowledged.
func TestATornCommitBeforeOthersIsDamage(t *testing.T) {
	path := newPath(t)
	tornImage(t, path, 2)
	if s := openFor(t, path).Salvaged(); s == nil || !s.Unsure {
		t.Error(s)
	}
}
