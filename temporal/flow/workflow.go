package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

// Names by which clients and workers of different versions find each other.
const (
	WorkflowName = "gauze-task"
	DefaultQueue = "gauze-tasks"

	queryEntries  = "state"
	signalDecide  = "decide"
	signalResume  = "resume"
	signalStop    = "stop"
	signalReplan  = "replan"
	memoStatus    = "gauze-status"
	memoName      = "gauze-name"
	activityAct   = "gauze-act"
	activityCall  = "gauze-call"
	activityClose = "gauze-close"
)

// Input is how a workflow begins. Fields are only ever added, because running workflows are
// continued by later versions.
type Input struct {
	Entries []task.Entry `json:"entries"`
	Timing  Timing       `json:"timing,omitzero"`

	// These are set when a workflow continues with a new history.
	Session []byte  `json:"session,omitempty"` // of the worker that has the servers
	Signals Signals `json:"signals,omitzero"`  // not acted on yet
}

// Timing is how a workflow waits for workers. The zero value means the defaults.
type Timing struct {
	// Heartbeat is how long a worker may be silent before it is considered dead. Default 15s.
	Heartbeat time.Duration `json:"heartbeat,omitempty"`
	// MaxEvents is the length of the history after which the workflow continues with a new one, if
	// Temporal does not suggest it earlier. 0 means that only Temporal decides.
	MaxEvents int `json:"max-events,omitempty"`
}

// Result is how a workflow ends.
type Result struct {
	Status  string `json:"status"`
	Calls   int    `json:"calls"`
	Summary string `json:"summary,omitempty"`
}

// flow is a running workflow.
type flow struct {
	in      Input
	state   *task.State
	entries []task.Entry
	session workflow.Context // nil if no worker has the servers
	signals Signals
	cancel  workflow.CancelFunc // ends what is in progress; nil if nothing is
	shown   string              // the status in the memo
	losses  int                 // workers lost in a row before they did anything
}

// maxLosses is how many workers may die in a row over the same decision.
const maxLosses = 5

// Task is the workflow. It ends when the task is done or the workflow is canceled. A task that is
// stopped waits for a signal.
func Task(ctx workflow.Context, in Input) (*Result, error) {
	f := &flow{in: in, entries: in.Entries, signals: in.Signals}
	var err error
	if f.state, err = task.Fold(in.Entries); err != nil {
		return nil, temporal.NewNonRetryableApplicationError(err.Error(), "log", nil)
	}
	if err := workflow.SetQueryHandler(ctx, queryEntries, f.view); err != nil {
		return nil, err
	}
	workflow.Go(ctx, f.listen)
	for {
		f.show(ctx)
		next := f.state.Next()
		switch {
		case next.Do == task.DoRest && f.state.Done != nil:
			f.leave(ctx)
			return &Result{Status: f.state.Status(), Calls: len(f.state.Calls), Summary: f.state.Done.Summary}, nil
		case next.Do == task.DoRest:
			if err := f.park(ctx); err != nil {
				return nil, err
			}
		case next.Do == task.DoFinish:
			err = f.write(ctx, task.KindDone, task.Done{Summary: next.Summary})
		case f.signals.Stop || ctx.Err() != nil:
			f.signals.Stop = false
			err = f.stop(ctx, task.Stopped{Why: task.Interrupted, Message: "The task was interrupted."})
		case f.historyIsLong(ctx):
			return nil, f.continueAsNew(ctx)
		case next.Do == task.DoStop && (next.Stop.Why != task.ServerDead || !f.hasWorker()):
			err = f.stop(ctx, f.state.Explain(*next.Stop))
		default:
			err = f.carryOut(ctx, next)
		}
		if err != nil {
			return nil, temporal.NewNonRetryableApplicationError(err.Error(), "log", err)
		}
	}
}

// carryOut lets a worker do what was decided, and sends the call that it leads to.
func (f *flow) carryOut(ctx workflow.Context, d task.Decision) error {
	if d.Intent != nil && len(d.Intent.Arguments) > maxArguments {
		return f.stop(ctx, task.Stopped{Why: task.StepFailed, Step: d.Intent.Step, Item: d.Intent.Item, Server: d.Intent.Server,
			Message: fmt.Sprintf("The call to %s was not sent: its arguments are %d bytes long, and Temporal accepts at most %d.", d.Intent.Tool, len(d.Intent.Arguments), maxArguments)})
	}
	work, release := f.work(ctx)
	defer release()
	if work == nil {
		return nil // a signal came before a worker was available
	}
	var drafted []task.Entry
	request := ActRequest{f.id(ctx), f.state.Excerpt(d, workflow.Now(ctx))}
	if err := workflow.ExecuteActivity(f.options(work), activityAct, request).Get(ctx, &drafted); err != nil {
		return f.noWork(ctx, d, err)
	}
	f.losses = 0
	for i, e := range drafted {
		if e.Kind == task.KindIntent {
			intent, err := intentOf(e)
			if err != nil {
				return err
			}
			intent.Arguments = f.argumentsOf(d) // workers do not send them back
			if i == len(drafted)-1 {
				return f.call(ctx, work, intent)
			}
			e = task.NewEntry(task.KindIntent, intent, e.Time) // its outcome follows: it was given up
		}
		if err := f.add(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// argumentsOf returns the arguments of the call that a decision is about.
func (f *flow) argumentsOf(d task.Decision) json.RawMessage {
	if d.Intent != nil {
		return d.Intent.Arguments
	}
	return f.state.Calls[d.Stop.Call-1].Arguments
}

// call writes the intent of a call, sends the call and writes its outcome. From the moment the
// activity is scheduled the intent is durable.
func (f *flow) call(ctx, work workflow.Context, intent task.Intent) error {
	if err := f.write(ctx, task.KindIntent, intent); err != nil {
		return err
	}
	var outcome task.Outcome
	request := CallRequest{f.id(ctx), intent, f.state.Plan.Servers, f.state.Left(workflow.Now(ctx))}
	if err := workflow.ExecuteActivity(f.options(work), activityCall, request).Get(ctx, &outcome); err != nil {
		outcome = lostCall(intent, err)
	}
	return f.write(ctx, task.KindOutcome, outcome)
}

// options returns how activities run: once, because whether a call may be sent again is not for
// Temporal to decide. What was canceled is waited for, because a call that no worker has started is
// then known to be unsent.
func (f *flow) options(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: maxCall, HeartbeatTimeout: f.heartbeat(), WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
}

// lostCall returns the outcome of a call without an answer. Workers always answer, so a call that
// was canceled was not started.
func lostCall(i task.Intent, err error) task.Outcome {
	o := task.Outcome{Call: i.Call, Status: task.Lost, Delivery: task.Unknown, Text: "the worker that sent the call stopped before it reported the result"}
	if notStarted(err) {
		o.Delivery, o.Text = task.Unsent, "no worker accepted the call"
	}
	return o
}

// noWork handles an activity that ended without entries. A worker that died is replaced, a few
// times; an error of the worker stops the task.
func (f *flow) noWork(ctx workflow.Context, d task.Decision, err error) error {
	stop := task.Stopped{Why: task.StepFailed, Message: "The worker could not continue the task."}
	if d.Intent != nil {
		stop.Step, stop.Item, stop.Server = d.Intent.Step, d.Intent.Item, d.Intent.Server
	}
	var failed *temporal.ApplicationError
	if errors.As(err, &failed) {
		stop.Diagnosis = failed.Message()
		return f.stop(ctx, stop)
	}
	if f.signals.Stop || ctx.Err() != nil {
		return nil
	}
	if f.losses++; f.losses < maxLosses {
		return nil
	}
	f.losses = 0
	stop.Message = fmt.Sprintf("%d workers in a row stopped before they could continue the task.", maxLosses)
	return f.stop(ctx, stop)
}

// write adds an entry.
func (f *flow) write(ctx workflow.Context, kind string, data any) error {
	return f.add(ctx, task.NewEntry(kind, data, workflow.Now(ctx)))
}

// add adds an entry that a worker drafted. All times are those of the workflow, because workers have
// different clocks.
func (f *flow) add(ctx workflow.Context, e task.Entry) error {
	e.Seq, e.Time = f.state.Seq+1, workflow.Now(ctx).UTC()
	if err := f.state.Apply(e); err != nil {
		return err
	}
	f.entries = append(f.entries, e)
	return nil
}

func (f *flow) stop(ctx workflow.Context, s task.Stopped) error {
	s.Diagnosis = short(s.Diagnosis)
	return f.write(ctx, task.KindStopped, s)
}

// id returns the id of the task, which is that of the workflow.
func (f *flow) id(ctx workflow.Context) string { return workflow.GetInfo(ctx).WorkflowExecution.ID }

// show makes the status visible to lists, which do not ask workers.
func (f *flow) show(ctx workflow.Context) {
	if status := f.state.Status(); status != f.shown {
		f.shown = status
		if err := workflow.UpsertMemo(ctx, map[string]any{memoStatus: status, memoName: f.state.Plan.Name}); err != nil {
			workflow.GetLogger(ctx).Warn("Could not update the task's status; task lists will show the old one", "error", err)
		}
	}
}

// view answers the query for the entries, as far as they fit into an answer.
func (f *flow) view() ([]task.Entry, error) {
	if size(f.entries) <= maxView {
		return f.entries, nil
	}
	return f.state.Forget(f.entries, maxView), nil
}

// historyIsLong reports whether the workflow should continue with a new history. A new history makes
// progress first.
func (f *flow) historyIsLong(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	if len(f.entries) <= len(f.in.Entries) {
		return false
	}
	return info.GetContinueAsNewSuggested() || f.in.Timing.MaxEvents > 0 && info.GetCurrentHistoryLength() >= f.in.Timing.MaxEvents
}

// continueAsNew continues with a new history that begins with the entries.
func (f *flow) continueAsNew(ctx workflow.Context) error {
	in := Input{Timing: f.in.Timing, Session: f.handOver(), Entries: f.state.Forget(f.entries, maxCarried)}
	f.settle(ctx)
	in.Signals = f.signals
	return workflow.NewContinueAsNewError(ctx, WorkflowName, in)
}
