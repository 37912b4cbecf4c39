package flow

import (
	"go.temporal.io/sdk/workflow"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

// Signals are the signals that were received and not acted on yet.
type Signals struct {
	Stop    bool          `json:"stop,omitempty"`
	Resume  bool          `json:"resume,omitempty"`
	Decided *task.Decided `json:"decided,omitempty"`
	Plan    *task.Plan    `json:"plan,omitempty"` // a corrected one, with which to resume
}

// listen receives signals for as long as the workflow runs.
func (f *flow) listen(ctx workflow.Context) {
	s := workflow.NewSelector(ctx)
	s.AddReceive(workflow.GetSignalChannel(ctx, signalStop), func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, nil)
		if f.state.Stopped != nil {
			return // there is nothing to stop
		}
		f.signals.Stop = true
		if f.cancel != nil {
			f.cancel()
		}
	})
	s.AddReceive(workflow.GetSignalChannel(ctx, signalResume), func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, nil)
		f.signals.Resume = f.state.Stopped != nil
	})
	s.AddReceive(workflow.GetSignalChannel(ctx, signalDecide), func(c workflow.ReceiveChannel, _ bool) {
		var d task.Decided
		c.Receive(ctx, &d)
		if call := f.state.Undecided(); f.state.Stopped != nil && call != nil && call.Call == d.Call {
			f.signals.Decided = &d
		}
	})
	s.AddReceive(workflow.GetSignalChannel(ctx, signalReplan), func(c workflow.ReceiveChannel, _ bool) {
		var p task.Plan
		c.Receive(ctx, &p)
		if f.state.Stopped != nil && f.state.Accepts(&p) == nil {
			f.signals.Plan = &p
		}
	})
	s.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {})
	for ctx.Err() == nil {
		s.Select(ctx)
	}
}

// settle returns when everything that has arrived was received, because a workflow that continues with
// a new history loses the rest. Routines run in the order in which they were started.
func (f *flow) settle(ctx workflow.Context) {
	settled := false
	workflow.Go(ctx, func(workflow.Context) { settled = true })
	_ = workflow.Await(ctx, func() bool { return settled }) // fails only if the workflow is canceled
}

// park lets the worker go and waits until a person acts. The error is that of a canceled workflow.
func (f *flow) park(ctx workflow.Context) error {
	f.leave(ctx)
	f.signals.Stop = false
	if err := workflow.Await(ctx, func() bool { return f.signals.Resume || f.signals.Decided != nil || f.signals.Plan != nil }); err != nil {
		return err
	}
	if d := f.signals.Decided; d != nil {
		if err := f.write(ctx, task.KindDecided, d); err != nil {
			return err
		}
	}
	if p := f.signals.Plan; p != nil && f.state.Accepts(p) == nil {
		if err := f.write(ctx, task.KindReplanned, task.Replanned{Plan: *p}); err != nil {
			return err
		}
	}
	f.signals = Signals{}
	return f.write(ctx, task.KindResumed, task.Resumed{})
}
