// Package task carries out a list of tool calls, or lets a model choose them, and keeps its place: a task
// whose server dies, or whose process is killed, is continued by [Resume] without repeating an effect.
//
//	plan, err := task.Parse("report.yaml", text)
//	result, err := task.Run(ctx, plan, task.Options{Log: log})
//
// [Evaluate] decides what a task of any kind does about a server that fails: continue, reconnect or
// stop. [Observe] describes the server of a [gauze.Transport] for it.
package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/llm"
)

// Status is how a task ended, or that it has not ended.
type Status string

const (
	StatusDone             Status = "done"              // all steps are complete, or the goal is met
	StatusServerDead       Status = "server-dead"       // a server is not available, and waiting for it does not help
	StatusNeedsDecision    Status = "needs-decision"    // it is unknown whether a call took effect, see Log.Decide
	StatusNeedsPerson      Status = "needs-person"      // a person must log in, approve something or solve a captcha
	StatusFailed           Status = "failed"            // a step failed, or the model gave up
	StatusStuck            Status = "stuck"             // the same call had the same outcome again and again
	StatusBudgetSpent      Status = "budget-spent"      // the budget of steps, time, tokens or cost is spent
	StatusModelUnavailable Status = "model-unavailable" // the model did not choose a next step
	StatusToolChanged      Status = "tool-changed"      // the tool of the next step is gone or rejects its arguments
	StatusInterrupted      Status = "interrupted"       // the context was done
	StatusUnfinished       Status = "running"           // the task is running, or its process was killed
)

// Options configures [Run] and [Resume]. The zero value of every field is a default.
type Options struct {
	// Log keeps the task. Default: it is kept in memory while Run runs, and cannot be resumed.
	Log *Log
	// Servers are servers of the task by name. They are used instead of those of the plan with the
	// same name, and are not recorded: Resume needs them again. Name is ignored, and Timeout is 10m by
	// default.
	Servers map[string]gauze.Options
	// Model chooses the calls of a plan without steps, and is asked about servers that fail. Default:
	// rules decide about servers.
	Model llm.Model
	// OnProgress is called after each entry of the task's log is durable, from the goroutine that
	// runs the task.
	OnProgress func(Progress)
}

// Progress is one entry of a task's log.
type Progress struct {
	ID    string    // the id of the task
	Time  time.Time // when the entry was written
	Kind  string    // "tools", "intent", "outcome", "verdict", "chosen", "stopped", "resumed" or "done"
	Done  int       // counts the steps of the plan that are complete
	Total int       // counts the steps of the plan; 0 if a model chooses the calls
	Call  *Call     // the call that an "intent" or "outcome" is about
	Text  string    // says what happened, for a person
}

// Call is one tool call of a task.
type Call struct {
	Step      string          // the id of the step; empty if a model chose the call
	Item      int             // the index in the step's loop
	Attempt   int             // counts from 1
	Server    string          // the server's name in the plan
	Tool      string          // the name of the tool
	Arguments json.RawMessage // as they were sent
	Sent      time.Time       // when the intent was recorded, just before the call
	Took      time.Duration   // how long the call took
	Status    string          // "ok", "failed", "lost", or empty if the outcome is not known
	Text      string          // the text of the result or the error
	JSON      json.RawMessage // the structured content of the result
	Code      fault.Code      // the code of the [fault.Fault], if there is one
	Healed    []string        // what Gauze repaired
	Decision  Decision        // what was decided about a call whose outcome is unknown
}

// Spent is what a task used of its budget.
type Spent struct {
	Steps  int           // counts tool calls
	Time   time.Duration // how long the task ran
	Tokens int           // those of models, in and out
	Cost   float64       // that of models, in US dollars
}

// Result is a task as its log describes it.
type Result struct {
	ID        string    // for [Resume]; empty if the task is not kept
	Name      string    // the name of the plan
	Status    Status    // how the task ended
	Message   string    // says what happened
	Diagnosis string    // what is known about the cause
	Remedy    string    // what the user can do about it
	Server    string    // the server that the task stopped at
	Step      string    // the step that the task stopped at
	Since     time.Time // when the server went down
	Done      int       // counts the steps of the plan that are complete
	Total     int       // counts the steps of the plan; 0 if a model chooses the calls
	Remaining []string  // the ids of the other steps
	Calls     []Call    // all calls in order
	Healed    []string  // what Gauze repaired, with the step or tool
	Spent     Spent     // what the task used of its budget
}

// Err returns nil if the task is done, and a [*StoppedError] otherwise.
func (r Result) Err() error {
	if r.Status == StatusDone {
		return nil
	}
	return &StoppedError{r}
}

// StoppedError says that a task is not done.
type StoppedError struct {
	Result Result // the task
}

// Error says why the task stopped.
func (e *StoppedError) Error() string {
	return fmt.Sprintf("gauze: the task %q stopped (%s): %s", e.Result.Name, e.Result.Status, e.Result.Message)
}

// ErrRunning means that the task is already running, in this process or a different one.
var ErrRunning = errors.New("gauze: the task is already running")

// Run runs the steps of a plan, or lets a model choose the calls if it has only a goal, until the
// task is done or stops. Its calls go through Gauze, so that restarts, replays and repairs apply.
//
// The intent of every call is recorded before it is sent and its outcome before anything depends on
// it, so a task that stopped, or whose process was killed, is continued by [Resume]. No effect
// happens twice: a call whose outcome is unknown is repeated only if that is safe, and otherwise the
// status is [StatusNeedsDecision]. If a server is permanently down, the task stops with
// [StatusServerDead] instead of trying forever. When ctx is done, the call in progress may take two
// more seconds, and the status is [StatusInterrupted].
//
// The error is a [*PlanError] if the plan is invalid. Other errors are those of the log: the task
// is where its last entry says. That a task stopped is not an error; see [Result.Err].
func Run(ctx context.Context, plan Plan, o Options) (Result, error) {
	valid, err := plan.internal(o.Servers)
	if err != nil {
		return Result{}, err
	}
	if valid.ByModel() && o.Model == nil {
		return Result{}, errors.New("gauze: the plan has a goal but no steps: set task.Options.Model to the model that chooses them")
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	kept := o.Log != nil
	if !kept {
		o.Log = NewLog()
	}
	id, err := o.Log.store.Start(context.WithoutCancel(ctx), valid)
	if err != nil {
		return Result{}, publicTaskError(err)
	}
	result, err := Resume(ctx, id, o)
	if !kept {
		result.ID = ""
	}
	return result, err
}

// Resume continues a task of o.Log. What stopped it gets another chance, and a budget that is
// spent is granted once more. A task that is done, or that waits for a decision, stays as it is. The
// error is ErrRunning if the task is already running.
func Resume(ctx context.Context, id string, o Options) (Result, error) {
	if o.Log == nil {
		return Result{ID: id}, errors.New("gauze: task.Options.Log is not set; Resume needs the log in which the task was recorded")
	}
	options, closeAll, err := o.internal(id)
	if err != nil {
		return Result{ID: id}, err
	}
	defer closeAll()
	state, err := o.Log.store.Run(ctx, id, options)
	if state == nil {
		return Result{ID: id}, publicTaskError(err)
	}
	return publicTask(id, state), publicTaskError(err)
}
