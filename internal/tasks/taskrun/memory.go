package taskrun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// ErrRunning means that the task is already running, in this process or a different one.
var ErrRunning = journal.ErrRunning

// ErrClosed means that the Store was closed.
var ErrClosed = journal.ErrClosed

// Memory keeps tasks in the memory of this process, and runs them like a Store. The zero value is
// ready to use.
type Memory struct {
	mu     sync.Mutex
	logs   map[string][]task.Entry
	locked map[string]bool
}

// Append implements [task.Log].
func (m *Memory) Append(_ context.Context, id string, after int, entries ...task.Entry) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := len(m.logs[id]); last != after {
		return last, fmt.Errorf("%w: the last entry of task %s is %d, not %d", journal.ErrChanged, id, last, after)
	}
	if m.logs == nil {
		m.logs = map[string][]task.Entry{}
	}
	for _, e := range entries {
		after++
		e.Seq = after
		m.logs[id] = append(m.logs[id], e)
	}
	return after, nil
}

// Entries implements [task.Log].
func (m *Memory) Entries(_ context.Context, id string) ([]task.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.logs[id]), nil
}

// Start records a new task and returns its id.
func (m *Memory) Start(ctx context.Context, plan *task.Plan) (id string, err error) {
	here, err := prepared(*plan)
	if err != nil {
		return "", err
	}
	id = newID(plan.Name)
	return id, task.Start(ctx, m, id, &here)
}

// Run runs or resumes a task until it is done or stops.
func (m *Memory) Run(ctx context.Context, id string, o Options) (*task.State, error) {
	unlock, err := m.lock(id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	state, err := m.State(ctx, id)
	if err != nil {
		return nil, err
	}
	return o.run(ctx, m, id, state.Plan.Servers)
}

// Decide records what a person decided about a call whose outcome is unknown.
func (m *Memory) Decide(ctx context.Context, id, decision string) (*task.State, error) {
	unlock, err := m.lock(id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return task.Decide(ctx, m, id, decision)
}

// State returns a task as its log says.
func (m *Memory) State(ctx context.Context, id string) (*task.State, error) {
	entries, err := m.Entries(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("unknown task %q: it is not in this process's memory", redact.Quote(id))
	}
	return task.Fold(entries)
}

// Close does nothing: the tasks stay until the Memory is no longer used.
func (m *Memory) Close() error { return nil }

// lock makes the caller the only runner of a task.
func (m *Memory) lock(id string) (unlock func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locked[id] {
		return nil, fmt.Errorf("%w: this process is running task %s", ErrRunning, id)
	}
	if m.locked == nil {
		m.locked = map[string]bool{}
	}
	m.locked[id] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.locked, id)
	}, nil
}

// run runs a task of a log that no one else runs.
func (o Options) run(ctx context.Context, log task.Log, id string, servers map[string]task.Server) (*task.State, error) {
	open := &Servers{Plan: servers, Configured: o.Configured, Sessions: o.Sessions, Wrap: o.Wrap, Observe: o.observer(id, servers)}
	defer open.Close(o.Hurry)
	r := &task.Runner{ID: id, Log: log, Servers: open, Model: o.Model, Hurry: o.Hurry, Backoff: o.Backoff, Tell: o.teller(id, open)}
	return r.Run(ctx)
}

// teller returns what receives every entry. The sessions of the servers and the stream of events get
// the verdicts among them.
func (o Options) teller(id string, servers *Servers) func(*task.State, task.Entry) {
	return func(s *task.State, e task.Entry) {
		if o.Tell != nil {
			o.Tell(s, e)
		}
		var j task.Judged
		if e.Kind != task.KindVerdict || json.Unmarshal(e.Data, &j) != nil {
			return
		}
		servers.noteVerdict(j.Server, j.Action)
		if o.Events != nil {
			o.Events.Emit(event.Event{Kind: event.Judged, Task: id, Server: shownName(servers.Plan, j.Server), Client: clientName, To: j.Action, Detail: j.Reason})
		}
	}
}

// observer returns who receives the events of the servers of a task. The stream has them under the
// name by which a client knows the server.
func (o Options) observer(id string, servers map[string]task.Server) func(string, event.Event) {
	if o.Events == nil {
		return o.Observe
	}
	return func(server string, e event.Event) {
		if o.Observe != nil {
			o.Observe(server, e)
		}
		e.Task, e.Server = id, shownName(servers, server)
		o.Events.Emit(e)
	}
}
