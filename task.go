package gauze

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gauze-mcp/gauze/llm"
)

// TaskStatus is how a task ended, or that it has not ended.
type TaskStatus string

const (
	TaskDone             TaskStatus = "done"              // all steps are complete, or the goal is met
	TaskServerDead       TaskStatus = "server-dead"       // a server is not available, and waiting for it does not help
	TaskNeedsDecision    TaskStatus = "needs-decision"    // it is unknown whether a call took effect, see TaskLog.Decide
	TaskNeedsPerson      TaskStatus = "needs-person"      // a person must log in, approve something or solve a captcha
	TaskFailed           TaskStatus = "failed"            // a step failed, or the model gave up
	TaskStuck            TaskStatus = "stuck"             // the same call had the same outcome again and again
	TaskBudgetSpent      TaskStatus = "budget-spent"      // the budget of steps, time, tokens or cost is spent
	TaskModelUnavailable TaskStatus = "model-unavailable" // the model did not choose a next step
	TaskToolChanged      TaskStatus = "tool-changed"      // the tool of the next step is gone or rejects its arguments
	TaskInterrupted      TaskStatus = "interrupted"       // the context was done
	TaskUnfinished       TaskStatus = "running"           // the task is running, or its process was killed
)

// TaskOptions configures [RunTask] and [ResumeTask]. The zero value of every field is a default.
type TaskOptions struct {
	// Log keeps the task. Default: it is kept in memory while RunTask runs, and cannot be resumed.
	Log *TaskLog
	// Servers are servers of the task by name. They are used instead of those of the plan with the
	// same name, and are not recorded: ResumeTask needs them again. Name is ignored, and Timeout is 10m by
	// default.
	Servers map[string]Options
	// Model chooses the calls of a plan without steps, and is asked about servers that fail. Default:
	// rules decide about servers.
	Model llm.Model
	// OnProgress is called after each entry of the task's log is durable, from the goroutine that
	// runs the task.
	OnProgress func(TaskProgress)
}

// TaskProgress is one entry of a task's log.
type TaskProgress struct {
	ID    string    // ID is the id of the task.
	Time  time.Time // Time is when the entry was written.
	Kind  string    // Kind is "tools", "intent", "outcome", "verdict", "chosen", "stopped", "resumed" or "done".
	Done  int       // Done counts the steps of the plan that are complete.
	Total int       // Total counts the steps of the plan; 0 if a model chooses the calls.
	Call  *TaskCall // Call is the call that an "intent" or "outcome" is about.
	Text  string    // Text says what happened, for a person.
}

// TaskCall is one tool call of a task.
type TaskCall struct {
	Step      string          // Step is the id of the step; empty if a model chose the call.
	Item      int             // Item is the index in the step's loop.
	Attempt   int             // Attempt counts from 1.
	Server    string          // Server is the server's name in the plan.
	Tool      string          // Tool is the name of the tool.
	Arguments json.RawMessage // Arguments are as they were sent.
	Sent      time.Time       // Sent is when the intent was recorded, just before the call.
	Took      time.Duration   // Took is how long the call took.
	Status    string          // Status is "ok", "failed", "lost", or empty if the outcome is not known.
	Text      string          // Text is the text of the result or the error.
	JSON      json.RawMessage // JSON is the structured content of the result.
	Code      Code            // Code is the code of the [Fault], if there is one.
	Healed    []string        // Healed is what Gauze repaired.
	Decision  TaskDecision    // Decision is what was decided about a call whose outcome is unknown.
}

// TaskSpent is what a task used of its budget.
type TaskSpent struct {
	Steps  int           // Steps counts tool calls.
	Time   time.Duration // Time is how long the task ran.
	Tokens int           // Tokens are those of models, in and out.
	Cost   float64       // Cost is that of models, in US dollars.
}

// TaskResult is a task as its log describes it.
type TaskResult struct {
	ID        string     // ID is for [ResumeTask]; empty if the task is not kept.
	Name      string     // Name is the name of the plan.
	Status    TaskStatus // Status is how the task ended.
	Message   string     // Message says what happened.
	Diagnosis string     // Diagnosis is what is known about the cause.
	Remedy    string     // Remedy is what the user can do about it.
	Server    string     // Server is the server that the task stopped at.
	Step      string     // Step is the step that the task stopped at.
	Since     time.Time  // Since is when the server went down.
	Done      int        // Done counts the steps of the plan that are complete.
	Total     int        // Total counts the steps of the plan; 0 if a model chooses the calls.
	Remaining []string   // Remaining are the ids of the other steps.
	Calls     []TaskCall // Calls are all calls in order.
	Healed    []string   // Healed is what Gauze repaired, with the step or tool.
	Spent     TaskSpent  // Spent is what the task used of its budget.
}

// Err returns nil if the task is done, and a [*TaskStoppedError] otherwise.
func (r TaskResult) Err() error {
	if r.Status == TaskDone {
		return nil
	}
	return &TaskStoppedError{r}
}

// TaskStoppedError says that a task is not done.
type TaskStoppedError struct {
	Result TaskResult // Result is the task.
}

// Error says why the task stopped.
func (e *TaskStoppedError) Error() string {
	return fmt.Sprintf("gauze: the task %q stopped (%s): %s", e.Result.Name, e.Result.Status, e.Result.Message)
}

// ErrTaskRunning means that the task is already running, in this process or a different one.
var ErrTaskRunning = errors.New("gauze: the task is already running")

// RunTask runs the steps of a plan, or lets a model choose the calls if it has only a goal, until the
// task is done or stops. Its calls go through Gauze, so that restarts, replays and repairs apply.
//
// The intent of every call is recorded before it is sent and its outcome before anything depends on
// it, so a task that stopped, or whose process was killed, is continued by [ResumeTask]. No effect
// happens twice: a call whose outcome is unknown is repeated only if that is safe, and otherwise the
// status is [TaskNeedsDecision]. If a server is permanently down, the task stops with
// [TaskServerDead] instead of trying forever. When ctx is done, the call in progress may take two
// more seconds, and the status is [TaskInterrupted].
//
// The error is a [*TaskPlanError] if the plan is invalid. Other errors are those of the log: the task
// is where its last entry says. That a task stopped is not an error; see [TaskResult.Err].
func RunTask(ctx context.Context, plan TaskPlan, o TaskOptions) (TaskResult, error) {
	valid, err := plan.internal(o.Servers)
	if err != nil {
		return TaskResult{}, err
	}
	if valid.ByModel() && o.Model == nil {
		return TaskResult{}, errors.New("gauze: the plan has a goal but no steps: set TaskOptions.Model to the model that chooses them")
	}
	if err := ctx.Err(); err != nil {
		return TaskResult{}, err
	}
	kept := o.Log != nil
	if !kept {
		o.Log = NewTaskLog()
	}
	id, err := o.Log.store.Start(context.WithoutCancel(ctx), valid)
	if err != nil {
		return TaskResult{}, err
	}
	result, err := ResumeTask(ctx, id, o)
	if !kept {
		result.ID = ""
	}
	return result, err
}

// ResumeTask continues a task of o.Log. What stopped it gets another chance, and a budget that is
// spent is granted once more. A task that is done, or that waits for a decision, stays as it is. The
// error is ErrTaskRunning if the task is already running.
func ResumeTask(ctx context.Context, id string, o TaskOptions) (TaskResult, error) {
	if o.Log == nil {
		return TaskResult{ID: id}, errors.New("gauze: TaskOptions.Log is not set: a task is resumed from the log that keeps it")
	}
	options, closeAll, err := o.internal(id)
	if err != nil {
		return TaskResult{ID: id}, err
	}
	defer closeAll()
	state, err := o.Log.store.Run(ctx, id, options)
	if state == nil {
		return TaskResult{ID: id}, publicTaskError(err)
	}
	return publicTask(id, state), publicTaskError(err)
}
