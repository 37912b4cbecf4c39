package taskrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

// aged returns a store whose tasks ended some days before now: "done-31" is done since 31 days, and
// "stopped-31" can be resumed.
func aged(t *testing.T, now time.Time, days ...int) *Store {
	t.Helper()
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, kind := range []string{task.KindDone, task.KindStopped} {
		for _, n := range days {
			at := now.Add(-time.Duration(n) * 24 * time.Hour)
			begun := at.Add(-365 * 24 * time.Hour)
			if _, err := s.journal.Append(context.Background(), fmt.Sprintf("%s-%d", kind, n), 0,
				journal.Entry{Time: begun, Kind: task.KindStarted, Data: []byte(`{"version":1}`)}, journal.Entry{Time: at, Kind: kind, Data: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

func (s *Store) ids(t *testing.T) (ids []string) {
	t.Helper()
	all, err := s.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		ids = append(ids, one.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestOldTasksAreRemoved(t *testing.T) {
	now := time.Now()
	s := aged(t, now, 29, 31, 179, 181)
	unlock, err := s.journal.Lock("done-179")
	if err != nil {
		t.Fatal(err)
	}
	s.prune(context.Background(), now)
	unlock()
	if got, want := fmt.Sprint(s.ids(t)), "[done-179 done-29 stopped-179 stopped-29 stopped-31]"; got != want {
		t.Errorf("%s, want %s: one of them runs", got, want)
	}
	s.prune(context.Background(), now.Add(time.Minute)) // not yet due
	if got := len(s.ids(t)); got != 5 {
		t.Errorf("%d tasks", got)
	}
	s.prune(context.Background(), now.Add(2*pruneInterval))
	if got, want := fmt.Sprint(s.ids(t)), "[done-29 stopped-179 stopped-29 stopped-31]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The beginning of an id does not name a task, but the error says which tasks it may mean.
func TestBeginningsOfIDs(t *testing.T) {
	s := aged(t, time.Now(), 1, 20)
	for id, want := range map[string]string{
		"stopped-2": `unknown task "stopped-2"; did you mean "stopped-20"?`,
		"stopped":   `unknown task "stopped"; 2 task IDs begin with it; the latest is "stopped-1"`,
		"nosuch":    `unknown task "nosuch"; gauze task list shows all tasks`,
	} {
		if _, err := s.Entries(t.Context(), id); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

func TestANewTaskRemovesOldOnes(t *testing.T) {
	s := aged(t, time.Now(), 200)
	id, err := s.Start(context.Background(), &task.Plan{Name: "new"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.ids(t); !slices.Equal(got, []string{id}) {
		t.Error(got)
	}
}

func TestRemove(t *testing.T) {
	s := aged(t, time.Now(), 1, 2)
	ctx := context.Background()
	if err := s.Remove(ctx, "stopped-1"); err != nil {
		t.Error(err)
	}
	if err := s.Remove(ctx, "stopped-1"); err == nil {
		t.Error("a task was removed twice")
	}
	if _, err := s.Run(ctx, "stopped-1", Options{}); err == nil {
		t.Error("a removed task runs")
	}
	unlock, err := s.journal.Lock("done-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(ctx, "done-1"); !errors.Is(err, ErrRunning) {
		t.Error(err)
	}
	unlock()
	removed, err := s.RemoveDone(ctx)
	if slices.Sort(removed); err != nil || fmt.Sprint(removed) != "[done-1 done-2]" {
		t.Error(removed, err)
	}
	if got := fmt.Sprint(s.ids(t)); got != "[stopped-2]" {
		t.Error(got)
	}
}
