package taskrun

import (
	"context"
	"errors"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// startIn starts a task of one step in a store and runs it in the background. sent is closed when the
// call is about to be sent.
func startIn(t *testing.T, ctx context.Context, store *Store, step string, o Options) (id string, sent chan struct{}, ended chan *task.State) {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	plan, err := task.Parse("task.yaml", []byte("name: test\nservers: {s: a/b}\nsteps: [{id: a, server: s, "+step+"}]"))
	if err != nil {
		t.Fatal(err)
	}
	plan.Servers["s"] = b.server()
	if id, err = store.Start(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	sent, ended = make(chan struct{}), make(chan *task.State, 1)
	o.Wrap = quick()
	o.Tell = func(_ *task.State, e task.Entry) {
		if e.Kind == task.KindIntent {
			close(sent)
		}
	}
	go func() {
		s, err := store.Run(ctx, id, o)
		if err != nil {
			t.Error(err)
		}
		ended <- s
	}()
	return id, sent, ended
}

// Stop stops one task. Another task of the same process continues.
func TestStopStopsOnlyTheTask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runner, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	stopper, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stopper.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	one, oneSent, oneEnded := startIn(t, ctx, runner, "tool: sleep, arguments: {ms: 600000}", Options{})
	_, otherSent, otherEnded := startIn(t, ctx, runner, "tool: sleep, arguments: {ms: 600000}", Options{})
	<-oneSent
	<-otherSent
	state, err := stopper.Stop(t.Context(), one)
	if err != nil || state.Status() != string(task.Interrupted) {
		t.Fatalf("%+v, %v", state, err)
	}
	if s := <-oneEnded; s.ExitStatus() != 130 {
		t.Errorf("exit status %d", s.ExitStatus())
	}
	select {
	case s := <-otherEnded:
		t.Errorf("the other task is %s", s.Status())
	default:
	}
	if _, err := stopper.Stop(t.Context(), one); !errors.Is(err, ErrIdle) {
		t.Errorf("stopping it again: %v", err)
	}
	if _, err := stopper.Stop(t.Context(), "nosuch"); err == nil || errors.Is(err, ErrIdle) {
		t.Errorf("stopping an unknown task: %v", err)
	}
	cancel()
	<-otherEnded
}

// The stream has what happened to the servers of a task, with its id.
func TestEventsOfATask(t *testing.T) {
	t.Parallel()
	store, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	events := event.New()
	received, stop := events.Subscribe(1000)
	id, _, ended := startIn(t, t.Context(), store, "tool: die_read, arguments: {times: 1, key: x}", Options{Events: events})
	<-ended
	stop()
	replayed := 0
	for e := range received {
		if e.Task != id || e.Server != "s" {
			t.Errorf("%+v", e)
		}
		if e.Kind == event.Replayed {
			replayed++
		}
	}
	if replayed != 1 {
		t.Errorf("%d calls were replayed, want 1", replayed)
	}
}

// The stream has the verdicts of a task, under the name by which a client knows the server.
func TestVerdictsAreEvents(t *testing.T) {
	events := event.New()
	received, stop := events.Subscribe(10)
	told := 0
	o := Options{Events: events, Tell: func(*task.State, task.Entry) { told++ }}
	session := proxy.New(proxy.Options{})
	tell := o.teller("t-1", &Servers{Plan: map[string]task.Server{"s": {Configured: "cursor/notes"}}, open: map[string]*server{"s": {session: session}}})
	tell(nil, task.Entry{Kind: task.KindOutcome, Data: []byte(`{}`)})
	tell(nil, task.Entry{Kind: task.KindVerdict, Data: []byte(`{"server":"s","action":"stop_task","reason":"it stays dead"}`)})
	stop()
	var got []event.Event
	for e := range received {
		got = append(got, e)
	}
	if told != 2 || len(got) != 1 || got[0].Kind != event.Judged || got[0].Server != "cursor/notes" || got[0].Task != "t-1" || got[0].To != "stop_task" || got[0].Detail != "it stays dead" {
		t.Errorf("told %d, %+v", told, got)
	}
	if got[0].Client != "gauze task" {
		t.Errorf("client %q", got[0].Client)
	}
	if counted := session.Observe(false).Verdicts; len(counted) != 1 || counted["stop_task"] != 1 {
		t.Errorf("the session counted %v", counted)
	}
}
