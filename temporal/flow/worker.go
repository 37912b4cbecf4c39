package flow

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
)

// DefaultTasks is how many tasks a worker has at the same time. Each has its own server processes.
const DefaultTasks = 16

// stopTimeout is how long calls in progress may take to end when a worker stops.
const stopTimeout = 10 * time.Second

// unusedTimeout is when the servers of a task without activity are stopped. Pauses between attempts
// are shorter.
const unusedTimeout = 10 * time.Minute

// Registry is what workers and tests register the workflow and the activities with.
type Registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register registers the workflow and the activities.
func Register(r Registry, a *Activities) {
	r.RegisterWorkflowWithOptions(Task, workflow.RegisterOptions{Name: WorkflowName})
	r.RegisterActivityWithOptions(a.Act, activity.RegisterOptions{Name: activityAct})
	r.RegisterActivityWithOptions(a.Call, activity.RegisterOptions{Name: activityCall})
	r.RegisterActivityWithOptions(a.Close, activity.RegisterOptions{Name: activityClose})
}

// KeepReporting returns an option for the client of a worker: results are reported until Temporal
// answers or ctx is done. The SDK gives up after ten seconds, and a call whose result is lost needs a
// person.
func KeepReporting(ctx context.Context) grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(call context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		err := invoke(call, method, request, reply, conn, options...)
		if !strings.Contains(method, "/RespondActivityTask") {
			return err
		}
		for IsUnreachable(err) && ctx.Err() == nil {
			again, cancel := context.WithTimeout(context.WithoutCancel(call), reportTimeout)
			err = invoke(again, method, request, reply, conn, append(options, grpc.WaitForReady(true))...)
			cancel()
		}
		return err
	})
}

// Serve runs tasks of a queue until ctx is done. The client should have the option KeepReporting.
func Serve(ctx context.Context, c client.Client, queue string, tasks int, a *Activities) error {
	w := worker.New(c, queue, worker.Options{
		EnableSessionWorker: true, MaxConcurrentSessionExecutionSize: tasks, WorkerStopTimeout: stopTimeout,
		// A busy machine is not a deadlock.
		DeadlockDetectionTimeout: 30 * time.Second,
	})
	Register(w, a)
	if err := w.Start(); err != nil {
		return fmt.Errorf("the worker cannot start: %w", err)
	}
	look := time.NewTicker(time.Minute)
	defer look.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-look.C:
			a.closeUnused(unusedTimeout)
		}
	}
	w.Stop()
	a.CloseAll()
	return nil
}
