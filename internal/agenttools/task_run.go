package agenttools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/mcptasks"
	"github.com/gauze-mcp/gauze/internal/proxy"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/task"
	"github.com/gauze-mcp/gauze/internal/taskcli"
	"github.com/gauze-mcp/gauze/internal/taskrun"
)

// tasks are the tasks that this process runs. They end with it, saved, and can be resumed.
type tasks struct {
	dir string // of the journal

	mu    sync.Mutex
	store *taskrun.Store // nil until a task is used
	runs  map[string]*backgroundRun
	ended bool
}

// backgroundRun is the last run of a task in this process, so the user has confirmed the task.
type backgroundRun struct {
	handle string // its id in the protocol
	number int    // among the runs of the task, from 1
	stop   context.CancelFunc
	done   chan struct{}
	err    error // valid once done is closed
}

const (
	maxRunningTasks = 8
	maxKnownRuns    = 1000 // a task that is forgotten must be confirmed again before it is resumed
)

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

func (r *backgroundRun) running() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// roomFor returns an error if too many tasks are running.
func (t *tasks) roomFor() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	count := 0
	for _, r := range t.runs {
		if r.running() {
			count++
		}
	}
	if count >= maxRunningTasks {
		return failure(fmt.Sprintf("%d tasks are already running, which is the limit", count), "wait for one of them with get_task")
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
	case <-r.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// begin registers a run. It fails if the task is running here, if too many are, or at the end.
func (t *tasks) begin(id string, r *backgroundRun) error {
	if err := t.roomFor(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if before := t.runs[id]; before != nil && before.running() {
		return failure("the task is already running", `call get_task with {"id": %q}`, redact.Quote(id))
	}
	if t.ended {
		return errors.New("gauze mcp is stopping")
	}
	for old, r := range t.runs {
		if len(t.runs) >= maxKnownRuns && !r.running() {
			delete(t.runs, old)
		}
	}
	t.runs[id] = r
	return nil
}

// close waits until the tasks have saved their state and stopped their servers.
func (t *tasks) close() {
	t.mu.Lock()
	t.ended = true
	var all []*backgroundRun
	for _, r := range t.runs {
		all = append(all, r)
	}
	t.mu.Unlock()
	enough := time.After(stopTimeout)
	for _, r := range all {
		select {
		case <-r.done:
		case <-enough:
			return // the journal has all that was done
		}
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
	r := &backgroundRun{number: nextRun(entries), done: make(chan struct{})}
	if r.handle = mcptasks.IDOf(c.request); r.handle != "" {
		wait = math.MaxInt64
	} else {
		r.handle = runID(id, r.number)
	}
	ctx, stop := context.WithCancel(c.service.ctx)
	r.stop = stop
	if err := c.service.tasks.begin(id, r); err != nil {
		stop()
		closeAll()
		return out, err
	}
	o := taskrun.Options{Model: c.service.Model, Events: c.service.Events, Configured: review.Launch, Sessions: sessions, Wrap: proxy.Options{Timeout: taskrun.CallTimeout}}
	go func() {
		defer close(r.done)
		defer closeAll()
		defer stop()
		_, r.err = store.Run(ctx, id, o)
	}()
	c.progress("task %s is running", id)
	c.service.tasks.wait(c.ctx, id, wait)
	if mcptasks.MayDefer(c.request) && r.running() {
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
		all[name] = proxy.Options{Spec: spec, Remote: remote, Timeout: taskrun.CallTimeout}
	}
	return all, closeAll, nil
}
