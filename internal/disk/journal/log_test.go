package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

var noon = time.Date(2026, 11, 14, 12, 0, 0, 250e6, time.UTC)

// openFor opens a journal for a test and closes it at the end.
func openFor(t testing.TB, path string) *Journal {
	t.Helper()
	j, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "state", FileName) }

func entry(kind string, data string) Entry {
	return Entry{Time: noon, Kind: kind, Data: json.RawMessage(data)}
}

func (j *Journal) must(t testing.TB, task string, after int, entries ...Entry) int {
	t.Helper()
	last, err := j.Append(context.Background(), task, after, entries...)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// told formats the entries of a task as "1:intent{} 2:outcome{}".
func (j *Journal) told(t testing.TB, task string) string {
	t.Helper()
	entries, err := j.Entries(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, e := range entries {
		words = append(words, fmt.Sprintf("%d:%s%s", e.Seq, e.Kind, e.Data))
	}
	return strings.Join(words, " ")
}

func TestEntriesAreKeptInOrder(t *testing.T) {
	path := newPath(t)
	j := openFor(t, path)
	if last := j.must(t, "a", 0, entry("begin", `{"n":1}`), entry("intent", "{}")); last != 2 {
		t.Errorf("the last entry is %d, want 2", last)
	}
	j.must(t, "b", 0, entry("begin", ""))
	j.must(t, "a", 2, entry("outcome", `"x"`))
	j.Close()
	j = openFor(t, path)
	if got := j.told(t, "a"); got != `1:begin{"n":1} 2:intent{} 3:outcome"x"` {
		t.Error(got)
	}
	if got := j.told(t, "unknown"); got != "" {
		t.Error(got)
	}
	if j.Salvaged() != nil {
		t.Error(j.Salvaged())
	}
	entries, _ := j.Entries(context.Background(), "a")
	if !entries[0].Time.Equal(noon) {
		t.Error(entries[0].Time)
	}
}

func TestTasksAreListedNewestFirst(t *testing.T) {
	j := openFor(t, newPath(t))
	for i, task := range []string{"b", "a", "c"} {
		at := noon.Add(time.Duration(i) * time.Minute)
		j.must(t, task, 0, Entry{Time: at, Kind: "begin"}, Entry{Time: at, Kind: "middle"}, Entry{Time: at, Kind: "end"})
	}
	heads, err := j.Tasks(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range heads {
		got = append(got, fmt.Sprint(h.Task, h.Last.Kind, h.Last.Seq))
	}
	if s := strings.Join(got, " "); s != "cend3 aend3 bend3" {
		t.Error(s)
	}
}

func TestAnAppendAfterTheWrongEntryChangesNothing(t *testing.T) {
	path := newPath(t)
	j, other := openFor(t, path), openFor(t, path)
	j.must(t, "a", 0, entry("begin", ""))
	other.must(t, "a", 1, entry("elsewhere", ""))
	for _, after := range []int{0, 1, 3, -1} {
		if last, err := j.Append(context.Background(), "a", after, entry("intent", "")); !errors.Is(err, ErrChanged) || last != 2 {
			t.Errorf("after %d: %d, %v", after, last, err)
		}
	}
	if got := j.told(t, "a"); got != "1:begin 2:elsewhere" {
		t.Error(got)
	}
}

func TestOneTaskHasOneRunner(t *testing.T) {
	path := newPath(t)
	j, other := openFor(t, path), openFor(t, path)
	unlock, err := j.Lock("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Lock("a"); !errors.Is(err, ErrRunning) {
		t.Errorf("a second runner: %v", err)
	}
	if free, err := other.Lock("b"); err != nil {
		t.Error(err)
	} else {
		free()
	}
	unlock()
	again, err := other.Lock("a")
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestTaskIDsAreFileNames(t *testing.T) {
	j := openFor(t, newPath(t))
	for _, id := range []string{"", "-", ".", "..", "../x", "a/b", `a\b`, "a b", "ä", "a:b", strings.Repeat("x", 65)} {
		if _, err := j.Append(context.Background(), id, 0, entry("begin", "")); err == nil || !strings.Contains(err.Error(), "invalid task id") {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := j.Entries(context.Background(), id); err == nil {
			t.Errorf("%q was read", id)
		}
		if _, err := j.Lock(id); err == nil {
			t.Errorf("%q was locked", id)
		}
	}
}

// Run with -race.
func TestManyTasksInSeveralJournalsAppendAtOnce(t *testing.T) {
	path := newPath(t)
	var all sync.WaitGroup
	for n := range 3 {
		j := openFor(t, path)
		for m := range 10 {
			task := fmt.Sprintf("t%d-%d", n, m)
			all.Go(func() {
				for seq := range 20 {
					if last, err := j.Append(context.Background(), task, seq, entry("step", fmt.Sprint(seq))); err != nil || last != seq+1 {
						t.Error(task, last, err)
					}
				}
			})
		}
	}
	all.Wait()
	j := openFor(t, path)
	heads, err := j.Tasks(context.Background())
	if err != nil || len(heads) != 30 {
		t.Fatal(len(heads), err)
	}
	for _, h := range heads {
		if entries, err := j.Entries(context.Background(), h.Task); err != nil || len(entries) != 20 {
			t.Errorf("%s has %d entries: %v", h.Task, len(entries), err)
		}
	}
}

func TestAClosedJournalSaysSo(t *testing.T) {
	j := openFor(t, newPath(t))
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if _, err := j.Append(context.Background(), "a", 0, entry("begin", "")); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestOnlyTheUserMayReadTheJournal(t *testing.T) {
	windowstest.Skip(t)
	path := newPath(t)
	j := openFor(t, path)
	j.must(t, "a", 0, entry("begin", ""))
	unlock, err := j.Lock("a")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	found := map[string]bool{}
	err = filepath.Walk(filepath.Dir(path), func(name string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		found[filepath.Base(name)] = true
		return err
	})
	if err != nil || !found[FileName] || !found[FileName+"-wal"] || !found[FileName+"-shm"] || !found[FileName+headsSuffix] {
		t.Error(found, err)
	}
}

// To check whether a task runs is not to run it: neither a second check nor a runner is misled.
func TestRunning(t *testing.T) {
	path := newPath(t)
	j, other := openFor(t, path), openFor(t, path)
	check, err := j.taskLock("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := files.TryRLock(check); err != nil { // in the middle of Running
		t.Fatal(err)
	}
	if other.Running("a") {
		t.Error("a task that is only checked is running")
	}
	locked := make(chan error)
	go func() {
		unlock, err := other.Lock("a")
		if err == nil {
			defer unlock()
			if !j.Running("a") {
				err = errors.New("a task with a runner is not running")
			}
		}
		locked <- err
	}()
	check.Close()
	if err := <-locked; err != nil {
		t.Error(err)
	}
}
