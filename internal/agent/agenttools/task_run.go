package agenttools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// tasks are the tasks that this process runs. They end with it, saved, and can be resumed.
type tasks struct {
	dir        string // of the journal
	background taskrun.Background

	mu    sync.Mutex
	store *taskrun.Store // nil until a task is used
	runs  map[string]*backgroundRun
	ended bool
}

// backgroundRun is the last run of a task in this process, so the user has confirmed the task.
type backgroundRun struct {
	*taskrun.Run
	handle string // its id in the protocol
	number int    // among the runs of the task, from 1
}

// maxKnownRuns limits the runs that are known: a task that is forgotten must be confirmed again before
// it is resumed.
const maxKnownRuns = 1000

// open opens the journal when a task is first used.
func (t *tasks) open() (*taskrun.Store, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.store != nil:
		return t.store, nil
	case t.dir == "" || t.ended:
		return nil, errors.New("tasks are not available here: gauze mcp has no state directory")
	}
	store, err := taskrun.Open(t.dir)
	if err != nil {
		return nil, err
	}
	t.store = store
	return store, nil
}

// roomFor returns an error if too many tasks are running.
func (t *tasks) roomFor() error {
	if err := t.background.Room(); err != nil {
		return failure(err.Error(), "wait for one of them to finish (get_task)")
	}
	return nil
}

// confirmed reports whether the user has confirmed the task since this process started.
func (t *tasks) confirmed(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.runs[id] != nil
}

// last returns the last run of a task in this process, or nil.
func (t *tasks) last(id string) *backgroundRun {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.runs[id]
}

// wait waits until a task that this process runs has ended.
func (t *tasks) wait(ctx context.Context, id string, limit time.Duration) {
	r := t.last(id)
	if r == nil {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-r.Done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// begin begins a run. It fails if the task is running here, if too many are, or at the end.
func (t *tasks) begin(ctx context.Context, id string, r *backgroundRun, o taskrun.Options, ended func()) error {
	if err := t.roomFor(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if before := t.runs[id]; before != nil && before.Running() {
		return failure("the task is already running", `call get_task with {"id": %q}`, redact.Quote(id))
	}
	if t.ended {
		return errors.New("gauze mcp is stopping")
	}
	for old, r := range t.runs {
		if len(t.runs) >= maxKnownRuns && !r.Running() {
			delete(t.runs, old)
		}
	}
	run, err := t.background.Go(ctx, t.store, id, o, ended)
	if err == nil {
		r.Run = run
		t.runs[id] = r
	}
	return err
}

// close waits until the tasks have saved their state and stopped their servers.
func (t *tasks) close() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	stopped := make(chan struct{})
	go func() {
		t.background.Close()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(stopTimeout):
		return // the journal has all that was done
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.store != nil {
		_ = t.store.Close() // every entry was durable when it was written
	}
}

// taskGoesOn means that a client of the modern protocol era polls a task that is still running.
type taskGoesOn struct{ id string }

func (*taskGoesOn) Error() string { return "the task is running" }

// background runs a task that the user has confirmed, and reports on it when it has ended or wait has
// passed. The task outlives the call. A call that is a task of the protocol waits for the end.
func (c *call) background(id string, plan *task.Plan, review *taskcli.Review, wait time.Duration) (out TaskRun, err error) {
	store, err := c.service.tasks.open()
	if err != nil {
		return out, err
	}
	entries, err := store.Entries(c.ctx, id)
	if err = cmp.Or(err, c.ctx.Err()); err != nil {
		return out, err
	}
	sessions, closeAll, err := c.sessions(plan)
	if err != nil {
		return out, err
	}
	r := &backgroundRun{number: nextRun(entries)}
	if r.handle = c.request.TaskID; r.handle != "" {
		wait = math.MaxInt64
	} else {
		r.handle = runID(id, r.number)
	}
	o := taskrun.Options{Model: c.service.Model, Events: c.service.Events, Configured: review.Launch, Sessions: sessions, Wrap: proxy.Options{Timing: proxy.Timing{Timeout: taskrun.CallTimeout}}}
	if err := c.service.tasks.begin(c.service.ctx, id, r, o, closeAll); err != nil {
		closeAll()
		return out, err
	}
	c.progress("task %s is running", id)
	c.service.tasks.wait(c.ctx, id, wait)
	if c.request.MayDefer && r.Running() {
		return out, &taskGoesOn{r.handle}
	}
	out.Status = done
	out.Task, err = c.reportTask(id, "")
	return out, err
}

// sessions returns how the servers of a plan are run that are not configured.
func (c *call) sessions(plan *task.Plan) (all map[string]proxy.Options, closeAll func(), err error) {
	var opened []func()
	closeAll = func() {
		for _, done := range opened {
			done()
		}
	}
	all = map[string]proxy.Options{}
	for name, s := range plan.Servers {
		if s.Configured != "" {
			continue
		}
		given := taskrun.Given(s)
		if given.Env, err = s.Environ(); err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("the server %q cannot be started: %w", redact.Quote(name), err)
		}
		spec, remote, err := c.service.Fleet.LaunchGiven(given)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		if remote != nil {
			opened = append(opened, remote.Close)
		}
		all[name] = proxy.Options{Spec: spec, Remote: remote, Timing: proxy.Timing{Timeout: taskrun.CallTimeout}}
	}
	return all, closeAll, nil
}
