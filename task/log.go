package task

import (
	"context"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
)

// Log keeps tasks. Several goroutines can run tasks with one Log, and their entries are
// written to the disk together.
type Log struct{ store taskStore }

// taskStore is a journal or a memory.
type taskStore interface {
	Start(ctx context.Context, plan *task.Plan) (id string, err error)
	Run(ctx context.Context, id string, o taskrun.Options) (*task.State, error)
	Decide(ctx context.Context, id, decision string) (*task.State, error)
	State(ctx context.Context, id string) (*task.State, error)
	Close() error
}

// NewLog returns a log in the memory of this process.
func NewLog() *Log { return &Log{&taskrun.Memory{}} }

// OpenLog opens the journal in a directory, which is created if necessary. Entries are on the disk
// before they are acted on. Several processes can use a directory at the same time, among them the
// gauze command with GAUZE_STATE_DIR set to it. If dir is empty, the journal is the one that the gauze
// command uses by default. A directory that other users can write to is refused.
func OpenLog(dir string) (*Log, error) {
	store, err := openTasks(dir)
	if err != nil {
		return nil, err
	}
	return &Log{store}, nil
}

// Close closes the log. No task of it may be running.
func (l *Log) Close() error { return l.store.Close() }

// Task returns a task as it is now.
func (l *Log) Task(ctx context.Context, id string) (Result, error) {
	state, err := l.store.State(ctx, id)
	if err != nil {
		return Result{ID: id}, publicTaskError(err)
	}
	return publicTask(id, state), nil
}

// Decision is what was decided about a call whose outcome is unknown.
type Decision string

const (
	DecisionDone   Decision = "done"   // the call took effect; its result is not known
	DecisionRepeat Decision = "repeat" // the call did not take effect: send it again
	DecisionSkip   Decision = "skip"   // go on without the call
)

// Decide records what was decided about the call that a task with [StatusNeedsDecision] stopped at.
// [Resume] then continues the task.
func (l *Log) Decide(ctx context.Context, id string, decision Decision) error {
	_, err := l.store.Decide(ctx, id, string(decision))
	return publicTaskError(err)
}
