package taskrun

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Background runs tasks that outlive the request that asked for them. They end with it, saved, and
// can be resumed. The zero value is ready for use.
type Background struct {
	mu      sync.Mutex
	failed  map[string]error // why the last run of a task failed
	active  map[string]*Run
	running sync.WaitGroup
	ended   bool
}

// Run is one run of a task.
type Run struct {
	Stop context.CancelFunc // interrupts it
	Done chan struct{}      // closed when it has ended
	err  error              // written before Done is closed
}

// Err returns why the run could not begin or be recorded: nil as long as it runs.
func (r *Run) Err() error {
	if r.Running() {
		return nil
	}
	return r.err
}

// Running reports whether the run has not ended.
func (r *Run) Running() bool {
	select {
	case <-r.Done:
		return false
	default:
		return true
	}
}

// MaxBackground limits the tasks that a Background runs at the same time.
const MaxBackground = 8

// Room returns an error if b runs as many tasks as it may.
func (b *Background) Room() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.room()
}

func (b *Background) room() error {
	if len(b.active) >= MaxBackground {
		return fmt.Errorf("%d tasks are already running, which is the limit", len(b.active))
	}
	return nil
}

// Go runs a task until it is done, stops, or ctx ends. It returns before the task ends, and then
// ended is called.
func (b *Background) Go(ctx context.Context, s *Store, id string, o Options, ended func()) (*Run, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch err := b.room(); {
	case b.ended:
		return nil, errors.New("gauze is stopping")
	case b.active[id] != nil:
		return nil, ErrRunning
	case err != nil:
		return nil, err
	}
	if b.failed == nil {
		b.failed, b.active = map[string]error{}, map[string]*Run{}
	}
	delete(b.failed, id)
	ctx, stop := context.WithCancel(ctx)
	r := &Run{Stop: stop, Done: make(chan struct{})}
	b.active[id] = r
	b.running.Go(func() {
		defer stop()
		_, r.err = s.Run(ctx, id, o)
		b.mu.Lock()
		delete(b.active, id)
		if r.err != nil {
			b.failed[id] = r.err
		}
		b.mu.Unlock()
		ended()
		close(r.Done)
	})
	return r, nil
}

// Running reports whether b runs the task.
func (b *Background) Running(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.active[id] != nil
}

// Stop interrupts a task that b runs, and returns a channel that is closed when it has stopped. It is
// nil if b does not run the task.
func (b *Background) Stop(id string) (stopped <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.active[id]
	if r == nil {
		return nil
	}
	r.Stop()
	return r.Done
}

// Err returns why the last run of a task could not begin or be recorded, or nil.
func (b *Background) Err(id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed[id]
}

// Close waits until all tasks have stopped, which the end of their context makes them do.
func (b *Background) Close() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.running.Wait()
}
