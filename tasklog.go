package gauze

import (
	"context"

	"github.com/gauze-mcp/gauze/internal/task"
	"github.com/gauze-mcp/gauze/internal/taskrun"
)

// TaskLog keeps tasks. Several goroutines can run tasks with one TaskLog, and their entries are
// written to the disk together.
type TaskLog struct{ store taskStore }

// taskStore is a journal or a memory.
type taskStore interface {
	Start(ctx context.Context, plan *task.Plan) (id string, err error)
	Run(ctx context.Context, id string, o taskrun.Options) (*task.State, error)
	Decide(ctx context.Context, id, decision string) (*task.State, error)
	State(ctx context.Context, id string) (*task.State, error)
	Close() error
}

// NewTaskLog returns a log in the memory of this process.
func NewTaskLog() *TaskLog { return &TaskLog{&taskrun.Memory{}} }

// OpenTaskLog opens the journal in a directory, which is created if necessary. Entries are on the disk
// before they are acted on. Several processes can use a directory at the same time, among them the
// gauze command with GAUZE_STATE_DIR set to it. If dir is empty, the journal is the one that the gauze
// command uses by default.
func OpenTaskLog(dir string) (*TaskLog, error) {
	store, err := openTasks(dir)
	if err != nil {
		return nil, err
	}
	return &TaskLog{store}, nil
}

// Close closes the log. No task of it may be running.
func (l *TaskLog) Close() error { return l.store.Close() }

// Task returns a task as it is now.
func (l *TaskLog) Task(ctx context.Context, id string) (TaskResult, error) {
	state, err := l.store.State(ctx, id)
	if err != nil {
		return TaskResult{ID: id}, publicTaskError(err)
	}
	return publicTask(id, state), nil
}

// TaskDecision is what was decided about a call whose outcome is unknown.
type TaskDecision string

const (
	DecisionDone   TaskDecision = "done"   // the call took effect; its result is not known
	DecisionRepeat TaskDecision = "repeat" // the call did not take effect: send it again
	DecisionSkip   TaskDecision = "skip"   // go on without the call
)

// Decide records what was decided about the call that a task with [TaskNeedsDecision] stopped at.
// [ResumeTask] then continues the task.
func (l *TaskLog) Decide(ctx context.Context, id string, decision TaskDecision) error {
	_, err := l.store.Decide(ctx, id, string(decision))
	return publicTaskError(err)
}
