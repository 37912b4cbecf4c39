package taskrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

// A process that wants a task to stop creates a file, and the process that runs the task looks for
// it. A signal would stop everything else that process does: gauze mcp runs several tasks.

// ErrIdle means that no process runs the task.
var ErrIdle = errors.New("the task is not running")

const (
	stopTimeout  = 30 * time.Second       // how long Stop waits for the task
	stopInterval = 100 * time.Millisecond // between two looks for the file, or for the end of the task
)

// stopFile returns the file that asks a task to stop.
func (s *Store) stopFile(id string) string { return filepath.Join(s.dir, "tasks", id+".stop") }

// Stop interrupts a task that a different process runs, as Ctrl-C there does, and returns when it has
// stopped. Other tasks of that process continue.
func (s *Store) Stop(ctx context.Context, id string) (*task.State, error) {
	state, err := s.State(ctx, id)
	if err != nil {
		return nil, err
	}
	if !s.Running(id) {
		return state, ErrIdle
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	defer os.Remove(s.stopFile(id))
	look := time.NewTicker(stopInterval)
	defer look.Stop()
	for s.Running(id) {
		// Again each time: a run that begins removes what an earlier Stop may have left.
		if err := os.WriteFile(s.stopFile(id), nil, 0o600); err != nil {
			return state, fmt.Errorf("the task cannot be stopped: %w", err)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return state, fmt.Errorf("the task %s was asked to stop, but is still running after %v", id, stopTimeout)
		}
	}
	return s.State(context.WithoutCancel(ctx), id)
}

// untilStopped returns a context that ends when Stop is called for a task that this process is about
// to run. done must be called.
func (s *Store) untilStopped(ctx context.Context, id string) (_ context.Context, done context.CancelFunc) {
	os.Remove(s.stopFile(id)) // of a Stop that was killed
	return until(ctx, stopInterval, func() bool {
		_, err := os.Lstat(s.stopFile(id))
		return err == nil
	})
}
