package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
)

// reviewPlan returns the review of a plan that would run here.
func reviewPlan(plan task.Plan) (*taskcli.Review, error) {
	here, err := taskrun.Here(plan)
	if err != nil {
		return nil, err
	}
	f, err := fleetHere()
	if err != nil {
		return nil, err
	}
	return taskcli.Of(f, here)
}

// reviewFile returns the review of the plan in a file.
func reviewFile(plan *task.Plan, file string) (*taskcli.Review, error) {
	review, err := reviewPlan(*plan)
	if err != nil {
		return nil, err
	}
	return review, review.From(file)
}

// confirm reports whether a plan may run, after it asked about one that no one has seen.
func (f *taskFlags) confirm(cmd *cobra.Command, review *taskcli.Review, id string) (run bool, err error) {
	desk := taskcli.Desk{Command: cmd.CommandPath(), Flags: cmd.Flags(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(), Seen: f.seen, Ask: askerOf(cmd)}
	run, err = f.consent.Confirm(desk, review, id)
	if errors.Is(err, taskcli.ErrNotConfirmed) {
		err = exitStatus(1)
	}
	return run, err
}

// resume continues a task with the plan in its log. It asks only if the plan was never seen with its
// servers as they are now. Then it calls prepare.
func (f *taskFlags) resume(ctx context.Context, cmd *cobra.Command, s *taskrun.Store, id string, prepare func() error) error {
	state, err := s.Runnable(ctx, id)
	if err != nil {
		return err
	}
	review, err := reviewPlan(state.Plan)
	if err != nil {
		return err
	}
	if state.Done == nil {
		if run, err := f.confirm(cmd, review, id); !run {
			return err
		}
	}
	if err := prepare(); err != nil {
		return err
	}
	f.seen.Agreed(review.Thing(id), review.About())
	return f.run(cmd, s, id, review)
}

// correct continues a task with the plan of a corrected file.
func (f *taskFlags) correct(ctx context.Context, cmd *cobra.Command, s *taskrun.Store, id, file string) error {
	if _, err := s.Runnable(ctx, id); err != nil {
		return err
	}
	plan, err := taskcli.ReadFile(file)
	if err != nil {
		return err
	}
	review, err := reviewFile(plan, file)
	if err != nil {
		return err
	}
	if run, err := f.confirm(cmd, review, id); !run {
		return err
	}
	if _, err := s.Replan(ctx, id, plan); err != nil {
		return err
	}
	f.seen.Agreed(review.Thing(id), review.About())
	return f.run(cmd, s, id, review)
}
