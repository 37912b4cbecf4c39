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
	active  map[string]*run
	running sync.WaitGroup
	ended   bool
}

// run is a task that is running.
type run struct {
	stop context.CancelFunc
	done chan struct{}
}

// maxBackground limits the tasks that a Background runs at the same time.
const maxBackground = 8

// Go runs a task until it is done, stops, or ctx ends. It returns before the task ends, and then
// ended is called.
func (b *Background) Go(ctx context.Context, s *Store, id string, o Options, ended func()) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ended:
		return errors.New("gauze is stopping")
	case b.active[id] != nil:
		return ErrRunning
	case len(b.active) >= maxBackground:
		return fmt.Errorf("%d tasks are already running, which is the limit", len(b.active))
	}
	if b.failed == nil {
		b.failed, b.active = map[string]error{}, map[string]*run{}
	}
	delete(b.failed, id)
	ctx, stop := context.WithCancel(ctx)
	r := &run{stop, make(chan struct{})}
	b.active[id] = r
	b.running.Go(func() {
		defer stop()
		_, err := s.Run(ctx, id, o)
		b.mu.Lock()
		delete(b.active, id)
		if err != nil {
			b.failed[id] = err
		}
		b.mu.Unlock()
		close(r.done)
		ended()
	})
	return nil
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
	r.stop()
	return r.done
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
