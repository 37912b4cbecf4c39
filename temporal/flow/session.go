package flow

import (
	"cmp"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

// A task stays on one worker while that lives, because its servers run there and may have state. A
// session of Temporal's SDK keeps it there, notices if the worker dies, and limits how many tasks a
// worker has.

func (f *flow) heartbeat() time.Duration { return cmp.Or(f.in.Timing.Heartbeat, DefaultHeartbeat) }

// hasWorker reports whether a worker has the servers of the task.
func (f *flow) hasWorker() bool {
	return f.session != nil && workflow.GetSessionInfo(f.session).SessionState == workflow.SessionStateOpen
}

// work returns a context for activities, on the worker that has the servers or on one that is free.
// It waits for one. The context is nil if a signal ended the wait.
func (f *flow) work(ctx workflow.Context) (work workflow.Context, release func()) {
	for !f.hasWorker() {
		if f.signals.Stop || ctx.Err() != nil {
			return nil, func() {}
		}
		f.openSession(ctx)
	}
	work, cancel := workflow.WithCancel(f.session)
	f.cancel = cancel
	return work, func() {
		f.cancel = nil
		cancel()
	}
}

// openSession asks for a worker, first for the one that has the servers already.
func (f *flow) openSession(ctx workflow.Context) {
	waiting, cancel := workflow.WithCancel(ctx)
	f.cancel = cancel
	defer func() { f.cancel = nil }()
	options := &workflow.SessionOptions{ExecutionTimeout: maxSession, CreationTimeout: maxQueued, HeartbeatTimeout: f.heartbeat()}
	var err error
	if token := f.in.Session; token != nil {
		f.in.Session = nil
		options.CreationTimeout = reuseTimeout
		f.session, err = workflow.RecreateSession(waiting, token, options)
	} else {
		f.session, err = workflow.CreateSession(waiting, options)
	}
	if err != nil {
		cancel()
		f.session = nil
		workflow.GetLogger(ctx).Info("No worker is available", "error", err)
		return
	}
	if f.state.Seq == 1 {
		f.beginNow(ctx)
	}
}

// beginNow starts the clock of the task: the time in the queue is not part of its budget.
func (f *flow) beginNow(ctx workflow.Context) {
	first := f.entries[0]
	first.Time = workflow.Now(ctx).UTC()
	if state, err := task.Fold([]task.Entry{first}); err == nil {
		f.state, f.entries = state, []task.Entry{first}
	}
}

// leave stops the servers and lets the worker go.
func (f *flow) leave(ctx workflow.Context) {
	if !f.hasWorker() {
		f.session = nil
		return
	}
	closing, cancel := workflow.NewDisconnectedContext(f.session)
	defer cancel()
	closing = workflow.WithActivityOptions(closing, workflow.ActivityOptions{
		ScheduleToStartTimeout: closeTimeout, StartToCloseTimeout: closeTimeout, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	if err := workflow.ExecuteActivity(closing, activityClose, f.id(ctx)).Get(closing, nil); err != nil {
		workflow.GetLogger(ctx).Info("The worker did not confirm that the servers stopped", "error", err)
	}
	workflow.CompleteSession(f.session)
	f.session = nil
}

// handOver ends the session but leaves the servers running, and returns by which token the next run
// finds them.
func (f *flow) handOver() []byte {
	if !f.hasWorker() {
		return nil
	}
	token := workflow.GetSessionInfo(f.session).GetRecreateToken()
	workflow.CompleteSession(f.session)
	f.session = nil
	return token
}

// notStarted reports whether an activity that ended with this error was never started.
func notStarted(err error) bool {
	var canceled *temporal.CanceledError
	var timeout *temporal.TimeoutError
	switch {
	case errors.Is(err, workflow.ErrSessionFailed), errors.As(err, &canceled):
		return true
	case errors.As(err, &timeout):
		return timeout.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
	}
	return false
}
