package flow

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

// fakeServers answer as a function says, and remember what they were asked.
type fakeServers struct {
	mu     sync.Mutex
	calls  []string // tool and arguments
	closed int
	answer func(ctx context.Context, tool, arguments string) task.Reply
	health func() string
}

var classes = map[string]task.Class{"read": task.ReadOnly, "set": task.Idempotent, "write": task.Unsafe}

func (f *fakeServers) Tools(context.Context, string) (tools []task.Tool, lost *task.Reply) {
	for _, name := range []string{"read", "set", "write"} {
		tools = append(tools, task.Tool{Name: name, Class: classes[name], Shape: name})
	}
	return tools, nil
}

func (f *fakeServers) Call(ctx context.Context, _, tool string, arguments json.RawMessage) task.Reply {
	f.mu.Lock()
	f.calls = append(f.calls, tool+string(arguments))
	f.mu.Unlock()
	if f.answer == nil {
		return task.Reply{Status: task.OK, Text: "ok"}
	}
	return f.answer(ctx, tool, string(arguments))
}

func (f *fakeServers) Situation(server string) task.Situation {
	s := task.Situation{Detail: "it exited", Remedy: "Start it again."}
	s.Server, s.Health = server, "healthy"
	switch {
	case server == "down":
		s.Health = "dead"
	case f.health != nil:
		s.Health = f.health()
	}
	if s.Health == "dead" {
		s.Since = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		s.Cause.Permanent, s.Cause.Confidence, s.Cause.Code = true, 1, "command_not_found"
	}
	return s
}

func (f *fakeServers) Reconnect(context.Context, string) {}

func (f *fakeServers) Close(<-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
}

func (f *fakeServers) sent() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// stage is a workflow in the test environment of Temporal's SDK, in which time passes immediately.
type stage struct {
	*testsuite.TestWorkflowEnvironment
	t       *testing.T
	servers *fakeServers
	opened  map[string]task.Server // the plan for which servers were opened last
	real    *Activities
	input   Input
}

const threeSteps = `
steps:
  - {id: a, server: s, tool: read, arguments: {n: 1}}
  - {id: b, server: s, tool: write, arguments: {n: "${a.text}"}}
  - {id: c, server: s, tool: write, arguments: {n: 3}}
`

func newStage(t *testing.T, steps string) *stage {
	t.Helper()
	plan, err := task.Parse("task.yaml", []byte("name: test\nservers: {s: {command: [server]}, down: {command: [server]}}\n"+steps))
	if err != nil {
		t.Fatal(err)
	}
	first := task.NewEntry(task.KindStarted, task.Started{Version: task.Version, Plan: *plan}, time.Now())
	first.Seq = 1
	s := &stage{t: t, servers: &fakeServers{}, input: Input{Entries: []task.Entry{first}}}
	s.again(s.input)
	return s
}

// again begins a new environment with the same servers, for a workflow that continues.
func (s *stage) again(in Input) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(noLog{})
	s.input = in
	s.TestWorkflowEnvironment = suite.NewTestWorkflowEnvironment()
	s.SetWorkerOptions(worker.Options{EnableSessionWorker: true, DeadlockDetectionTimeout: time.Minute})
	s.SetTestTimeout(time.Minute)
	s.real = &Activities{Backoff: time.Nanosecond, Servers: func(plan map[string]task.Server) closableServers {
		s.opened = plan
		return s.servers
	}}
	Register(s, s.real)
}

// state returns what the query for the state returns.
func (s *stage) state() *task.State {
	s.t.Helper()
	answer, err := s.QueryWorkflow(queryEntries)
	if err != nil {
		s.t.Fatal(err)
	}
	var entries []task.Entry
	if err := answer.Get(&entries); err != nil {
		s.t.Fatal(err)
	}
	state, err := task.Fold(entries)
	if err != nil {
		s.t.Fatal(err)
	}
	return state
}

// run runs the workflow to its end.
func (s *stage) run() {
	s.t.Helper()
	s.ExecuteWorkflow(WorkflowName, s.input)
	if !s.IsWorkflowCompleted() {
		s.t.Fatal("the workflow is not complete")
	}
}

// wantDone checks that the task is done and that its servers were stopped.
func (s *stage) wantDone(sent ...string) {
	s.t.Helper()
	if err := s.GetWorkflowError(); err != nil {
		s.t.Fatal(err)
	}
	if got := s.state().Status(); got != task.StatusDone {
		s.t.Errorf("the task is %s", got)
	}
	s.wantSent(sent...)
	if s.servers.closed == 0 {
		s.t.Error("the servers still run")
	}
}

func (s *stage) wantSent(sent ...string) {
	s.t.Helper()
	got := s.servers.sent()
	if len(got) != len(sent) {
		s.t.Fatalf("sent %q, want %q", got, sent)
	}
	for i := range sent {
		if got[i] != sent[i] {
			s.t.Errorf("sent %q, want %q", got, sent)
		}
	}
}

type noLog struct{}

func (noLog) Debug(string, ...any) {}
func (noLog) Info(string, ...any)  {}
func (noLog) Warn(string, ...any)  {}
func (noLog) Error(string, ...any) {}
