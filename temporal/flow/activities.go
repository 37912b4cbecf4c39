package flow

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/llm"
)

// Activities are what a worker does for tasks. Every task has servers of its own, as on one machine.
// The zero value works.
type Activities struct {
	Model      llm.Model                                    // may be nil
	Configured func(name, dir string) (launch.Spec, error)  // may be nil
	Wrap       proxy.Options                                // configures the sessions with servers
	Backoff    time.Duration                                // before the second attempt of a call. Default 1s
	Servers    func(map[string]task.Server) closableServers // for tests; nil means real ones

	mu    sync.Mutex
	tasks map[string]*held
}

// closableServers are servers that can be stopped.
type closableServers interface {
	task.Servers
	Close(hurry <-chan struct{})
}

// held are the servers of one task on this worker.
type held struct {
	busy    chan struct{} // has one element while an activity uses them
	plan    map[string]task.Server
	servers closableServers
	used    time.Time
}

// ActRequest asks a worker to carry out a decision.
type ActRequest struct {
	Task    string       `json:"task"`
	Excerpt task.Excerpt `json:"excerpt"`
}

// CallRequest asks a worker to send a call.
type CallRequest struct {
	Task    string                 `json:"task"`
	Intent  task.Intent            `json:"intent"`
	Servers map[string]task.Server `json:"servers"`
	Left    time.Duration          `json:"left,omitempty"` // of the budget's time; 0 means no limit
}

// Act carries out a decision up to the intent of a call, and returns the entries to write.
func (a *Activities) Act(ctx context.Context, in ActRequest) ([]task.Entry, error) {
	ctx, release := a.begin(ctx, in.Task, in.Excerpt.Plan.Servers)
	defer release()
	entries, err := a.runner(ctx).Act(ctx, in.Excerpt)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	for i, e := range entries {
		if e.Kind != task.KindIntent {
			continue
		}
		intent, err := intentOf(e)
		if err != nil {
			return nil, err
		}
		intent.Arguments = nil // the workflow has them
		entries[i] = task.NewEntry(task.KindIntent, intent, e.Time)
	}
	return entries, nil
}

// Call sends a call, whose intent is durable because this activity was scheduled. It never fails: a
// call without an answer is an outcome as well.
func (a *Activities) Call(ctx context.Context, in CallRequest) (task.Outcome, error) {
	ctx, release := a.begin(ctx, in.Task, in.Servers)
	defer release()
	if ctx.Err() != nil {
		return task.Outcome{Call: in.Intent.Call, Status: task.Lost, Delivery: task.Unsent, Text: "the call was canceled before it was sent"}, nil
	}
	o := a.runner(ctx).Send(ctx, in.Intent, in.Left).Within(maxResult)
	if len(o.JSON) > 0 && !json.Valid(o.JSON) {
		o.JSON = nil
	}
	return o, nil
}

// Close stops the servers of a task.
func (a *Activities) Close(ctx context.Context, id string) error {
	a.mu.Lock()
	h := a.tasks[id]
	delete(a.tasks, id)
	a.mu.Unlock()
	if h != nil {
		h.servers.Close(ctx.Done())
	}
	return nil
}

// CloseAll stops all servers.
func (a *Activities) CloseAll() { a.closeUnused(0) }

// closeUnused stops the servers of tasks that no activity has used for a time: their workflow may
// have been terminated.
func (a *Activities) closeUnused(since time.Duration) {
	a.mu.Lock()
	var unused []*held
	for id, h := range a.tasks {
		if since == 0 || len(h.busy) == 0 && time.Since(h.used) > since {
			unused = append(unused, h)
			delete(a.tasks, id)
		}
	}
	a.mu.Unlock()
	var closing sync.WaitGroup
	for _, h := range unused {
		closing.Go(func() { h.servers.Close(nil) })
	}
	closing.Wait()
}

type serversKey struct{}

// begin returns a context with the servers of the task. It reports to Temporal that the worker is
// alive until release is called. One activity of a task runs at a time: one that Temporal gave up on
// may still be about to end.
func (a *Activities) begin(parent context.Context, id string, plan map[string]task.Server) (ctx context.Context, release func()) {
	alive, cancel := context.WithCancel(parent)
	var beating sync.WaitGroup
	beating.Go(func() { beat(alive, parent) })
	a.mu.Lock()
	h := a.tasks[id]
	if h != nil && !reflect.DeepEqual(h.plan, plan) { // its file was corrected, and this worker did not hear of the stop
		defer h.servers.Close(alive.Done())
		h = nil
	}
	if h == nil {
		h = &held{busy: make(chan struct{}, 1), plan: plan, servers: a.open(plan)}
		if a.tasks == nil {
			a.tasks = map[string]*held{}
		}
		a.tasks[id] = h
	}
	a.mu.Unlock()
	held := false
	select {
	case h.busy <- struct{}{}:
		held = true
	case <-alive.Done():
	}
	return context.WithValue(alive, serversKey{}, h.servers), func() {
		a.mu.Lock()
		h.used = time.Now()
		a.mu.Unlock()
		if held {
			<-h.busy
		}
		cancel()
		beating.Wait()
	}
}

// beat records heartbeats until ctx is done. They also tell the worker that an activity is canceled.
func beat(ctx, recorded context.Context) {
	every := time.NewTicker(max(activity.GetInfo(recorded).HeartbeatTimeout/4, 100*time.Millisecond))
	defer every.Stop()
	for {
		activity.RecordHeartbeat(recorded)
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

func (a *Activities) open(plan map[string]task.Server) closableServers {
	if a.Servers != nil {
		return a.Servers(plan)
	}
	return &taskrun.Servers{Plan: plan, Configured: a.Configured, Wrap: a.Wrap}
}

func (a *Activities) runner(ctx context.Context) *task.Runner {
	return &task.Runner{Servers: ctx.Value(serversKey{}).(closableServers), Model: a.Model, Backoff: a.Backoff}
}
