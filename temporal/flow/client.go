package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Client starts tasks on a cluster and asks about them.
type Client struct {
	Temporal client.Client
	Queue    string
	Timing   Timing // of tasks that are started
}

// ErrNoWorker means that no worker answered.
var ErrNoWorker = errors.New("no worker responded: start one with gauze worker --temporal HOST:PORT, on a machine that has the task's servers")

// IsUnreachable reports whether an error means that the Temporal server did not answer. It may have
// done what it was asked for.
func IsUnreachable(err error) bool {
	var unavailable *serviceerror.Unavailable
	var deadline *serviceerror.DeadlineExceeded
	code := status.Code(err)
	return errors.As(err, &unavailable) || errors.As(err, &deadline) || errors.Is(err, context.DeadlineExceeded) ||
		code == codes.Unavailable || code == codes.DeadlineExceeded
}

// Start starts a task and returns its id. Servers run where the worker is, in its directory unless
// the plan says otherwise. If Temporal did not answer, the task may have been started, and its id is
// returned with the error.
func (c *Client) Start(ctx context.Context, plan *task.Plan) (id string, err error) {
	if err := fits(plan); err != nil {
		return "", err
	}
	first := task.NewEntry(task.KindStarted, task.Started{Version: task.Version, Plan: *plan}, time.Now())
	first.Seq = 1
	id = taskrun.NewID(plan.Name)
	_, err = c.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: c.Queue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		Memo: map[string]any{memoStatus: task.StatusRunning, memoName: plan.Name},
	}, WorkflowName, Input{Entries: []task.Entry{first}, Timing: c.Timing})
	if IsUnreachable(err) {
		return id, fmt.Errorf("it is unknown whether the task was started: %w", err)
	}
	if err != nil {
		return "", fmt.Errorf("the task was not started: %w", err)
	}
	return id, nil
}

// Entries returns the log of a task. A worker must be running.
func (c *Client) Entries(ctx context.Context, id string) (entries []task.Entry, err error) {
	answer, err := c.Temporal.QueryWorkflow(ctx, id, "", queryEntries)
	if err != nil {
		return nil, c.explained(ctx, id, err)
	}
	err = answer.Get(&entries)
	return entries, err
}

// explained returns why a task could not be asked.
func (c *Client) explained(ctx context.Context, id string, err error) error {
	var missing *serviceerror.NotFound
	var notReady *serviceerror.WorkflowNotReady
	var unanswered *serviceerror.FailedPrecondition
	var failed *serviceerror.QueryFailed
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("the cluster has no task %q: gauze task list --temporal HOST:PORT shows all tasks", redact.Quote(id))
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &notReady):
		return ErrNoWorker
	case errors.As(err, &unanswered), IsUnreachable(err):
		return c.silent(ctx)
	case errors.As(err, &failed):
		return fmt.Errorf("cannot read the task %q: %w", redact.Quote(id), err)
	}
	return err
}

// silent returns whether it was the Temporal server or a worker that did not answer.
func (c *Client) silent(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	if _, err := c.Temporal.CheckHealth(ctx, nil); IsUnreachable(err) {
		return err
	}
	return ErrNoWorker
}

// State returns a task as its log says.
func (c *Client) State(ctx context.Context, id string) (*task.State, error) {
	entries, err := c.Entries(ctx, id)
	if err != nil {
		return nil, err
	}
	return task.Fold(entries)
}

// Resume continues a task that is stopped. It returns the Seq of the last entry before that, for
// Wait.
func (c *Client) Resume(ctx context.Context, id string) (after int, err error) {
	s, err := c.State(ctx, id)
	if err != nil {
		return 0, err
	}
	if s.Stopped == nil {
		return 0, nil // it runs, or is done
	}
	return s.Seq, c.signal(ctx, id, signalResume, nil)
}

// Replan continues a task that is stopped with a corrected plan for the steps that are not done.
func (c *Client) Replan(ctx context.Context, id string, plan *task.Plan) (after int, err error) {
	if err := fits(plan); err != nil {
		return 0, err
	}
	s, err := c.State(ctx, id)
	if err != nil {
		return 0, err
	}
	if s.Stopped == nil && s.Done == nil {
		return 0, fmt.Errorf("the task %s is running: stop it first", id)
	}
	if err := s.Accepts(plan); err != nil {
		return 0, fmt.Errorf("the task %s cannot continue with this file: %w", id, err)
	}
	return s.Seq, c.signal(ctx, id, signalReplan, plan)
}

// fits returns an error if a plan is too long for Temporal.
func fits(plan *task.Plan) error {
	text, err := json.Marshal(plan)
	if err == nil && len(text) > maxPlan {
		err = fmt.Errorf("the task is too large for Temporal: %d bytes (limit: %d); split it", len(text), maxPlan)
	}
	return err
}

// Decide says what a person decided about the call whose outcome is unknown, and continues the task.
func (c *Client) Decide(ctx context.Context, id, decision string) (after int, err error) {
	if !slices.Contains(task.Decisions, decision) {
		return 0, fmt.Errorf("invalid decision %q: must be %s", redact.Quote(decision), strings.Join(task.Decisions, ", "))
	}
	s, err := c.State(ctx, id)
	if err != nil {
		return 0, err
	}
	call := s.Undecided()
	if s.Stopped == nil || call == nil {
		return 0, fmt.Errorf("the task %s is not waiting for a decision: it is %s", id, s.Status())
	}
	return s.Seq, c.signal(ctx, id, signalDecide, task.Decided{Call: call.Call, Decision: decision})
}

// Stop stops a task that runs. The call in progress gets a moment to end.
func (c *Client) Stop(ctx context.Context, id string) error {
	return c.signal(ctx, id, signalStop, nil)
}

func (c *Client) signal(ctx context.Context, id, name string, data any) error {
	err := c.Temporal.SignalWorkflow(ctx, id, "", name, data)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return fmt.Errorf("the task %q is not running on this cluster", redact.Quote(id))
	}
	return err
}

// pollInterval is how often Wait looks at a task.
const pollInterval = 500 * time.Millisecond

// Wait returns when the task has stopped or is done, later than the entry after. It also waits while
// the Temporal server does not answer. tell is called for every new entry, and for each look without
// an answer; it may be nil.
func (c *Client) Wait(ctx context.Context, id string, after int, tell func(*task.State, []task.Entry, error)) (*task.State, error) {
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	seen := after
	for {
		entries, err := c.Entries(ctx, id)
		var s *task.State
		if err == nil {
			s, err = task.Fold(entries)
		}
		if err != nil && !errors.Is(err, ErrNoWorker) && !IsUnreachable(err) {
			return nil, err
		}
		if tell != nil {
			tell(s, entries[min(seen, len(entries)):], err)
		}
		if s != nil {
			if seen = s.Seq; seen > after && (s.Stopped != nil || s.Done != nil) || after == 0 && s.Done != nil {
				return s, nil
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// Listed is a task in a list.
type Listed struct {
	ID      string
	Name    string
	Status  string
	Started time.Time
	Closed  time.Time // zero while the workflow waits or runs
}

// List returns the tasks that Temporal still knows, newest first. It needs no worker.
func (c *Client) List(ctx context.Context) (all []Listed, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = '" + WorkflowName + "' AND ExecutionStatus != 'ContinuedAsNew'"}
	for {
		page, err := c.Temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("cannot list the tasks: %w", err)
		}
		for _, e := range page.GetExecutions() {
			one := Listed{ID: e.GetExecution().GetWorkflowId(), Started: e.GetStartTime().AsTime()}
			fields := e.GetMemo().GetFields()
			_ = converter.GetDefaultDataConverter().FromPayload(fields[memoName], &one.Name) // a foreign memo has no name
			_ = converter.GetDefaultDataConverter().FromPayload(fields[memoStatus], &one.Status)
			if e.GetCloseTime() != nil {
				one.Closed = e.GetCloseTime().AsTime()
			}
			if s := e.GetStatus(); s != enums.WORKFLOW_EXECUTION_STATUS_RUNNING && s != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
				one.Status = strings.ToLower(s.String())
			}
			all = append(all, one)
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b Listed) int { return b.Started.Compare(a.Started) })
	return all, nil
}

// MarshalJSON prints a task in a list as gauze task list --json does.
func (l Listed) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID      string    `json:"id"`
		Name    string    `json:"name"`
		Status  string    `json:"status"`
		Started time.Time `json:"started"`
		Closed  time.Time `json:"closed,omitzero"`
	}{l.ID, l.Name, l.Status, l.Started, l.Closed})
}
