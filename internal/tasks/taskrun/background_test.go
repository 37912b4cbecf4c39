package taskrun

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

func TestBackgroundRunsEachTaskOnceAndStopsAllAtTheEnd(t *testing.T) {
	b := begin(t, "steps: [{id: a, server: s, tool: hang}]")
	store, err := Open(filepath.Join(b.dir, "gauze"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	plan := *b.plan
	var background Background
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan string, 2*MaxBackground)
	called := make(chan struct{}, 2*MaxBackground)
	run := func(id string) error {
		o := Options{Wrap: quick(), Tell: func(_ *task.State, e task.Entry) {
			if e.Kind == task.KindIntent {
				called <- struct{}{}
			}
		}}
		_, err := background.Go(ctx, store, id, o, func() { ended <- id })
		return err
	}
	var ids []string
	for i := range MaxBackground {
		plan.Name = fmt.Sprint("task ", i)
		id, err := store.Start(t.Context(), &plan)
		if err != nil {
			t.Fatal(err)
		}
		if err := run(id); err != nil {
			t.Fatal(err)
		}
		if err := run(id); !errors.Is(err, ErrRunning) {
			t.Errorf("the second run: %v", err)
		}
		ids = append(ids, id)
	}
	if err := run("one-more"); err == nil {
		t.Error("there is no limit")
	}
	for range ids {
		<-called
	}
	<-background.Stop(ids[0])
	if id := <-ended; id != ids[0] || background.Running(id) || background.Stop(id) != nil {
		t.Errorf("%s ended instead of %s", id, ids[0])
	}
	if err := run("nosuch"); err != nil {
		t.Fatal(err)
	}
	if id := <-ended; id != "nosuch" || background.Err(id) == nil {
		t.Errorf("%s: %v", id, background.Err(id))
	}
	cancel()
	background.Close()
	for _, id := range ids {
		if s, err := store.State(t.Context(), id); err != nil || s.Status() != string(task.Interrupted) || background.Err(id) != nil {
			t.Errorf("%s: %v, %v", s.Status(), err, background.Err(id))
		}
	}
	if run(ids[0]) == nil {
		t.Error("a task was started after the end")
	}
}
