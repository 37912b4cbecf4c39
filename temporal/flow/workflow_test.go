package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

var threeCalls = []string{`read{"n":1}`, `write{"n":"ok"}`, `write{"n":3}`}

func TestTaskIsDone(t *testing.T) {
	s := newStage(t, threeSteps)
	s.run()
	s.wantDone(threeCalls...)
	var result Result
	if err := s.GetWorkflowResult(&result); err != nil || result.Status != "done" || result.Calls != 3 {
		t.Errorf("result %+v, %v", result, err)
	}
}

// loseCall lets the worker die during the nth call. sent says whether the server got it.
func (s *stage) loseCall(n int, sent bool, err error) {
	count := 0
	s.OnActivity(activityCall, mock.Anything, mock.Anything).Return(func(ctx context.Context, in CallRequest) (task.Outcome, error) {
		if count++; count != n {
			return s.real.Call(ctx, in)
		}
		if sent {
			s.servers.Call(ctx, in.Intent.Server, in.Intent.Tool, in.Intent.Arguments)
		}
		return task.Outcome{}, err
	})
}

func TestUnsafeCallIsNotRepeatedWhenItsWorkerDies(t *testing.T) {
	for decision, want := range map[string][]string{
		"done": threeCalls, "skip": threeCalls, "repeat": {threeCalls[0], threeCalls[1], threeCalls[1], threeCalls[2]},
	} {
		t.Run(decision, func(t *testing.T) {
			s := newStage(t, threeSteps)
			s.loseCall(2, true, temporal.NewHeartbeatTimeoutError())
			s.RegisterDelayedCallback(func() {
				state := s.state()
				if call := state.Undecided(); state.Status() != string(task.NeedsDecision) || call == nil || call.Call != 2 {
					t.Fatalf("the task is %s: %s", state.Status(), state.Report("id", time.Now()))
				}
				s.wantSent(threeCalls[:2]...)
				s.SignalWorkflow(signalDecide, task.Decided{Call: 1, Decision: "repeat"}) // stale: it is not acted on
				s.SignalWorkflow(signalDecide, task.Decided{Call: 2, Decision: decision})
			}, time.Hour)
			s.run()
			s.wantDone(want...)
		})
	}
}

func TestReadOnlyCallIsRepeatedWhenItsWorkerDies(t *testing.T) {
	s := newStage(t, threeSteps)
	s.loseCall(1, true, temporal.NewHeartbeatTimeoutError())
	s.run()
	s.wantDone(append([]string{threeCalls[0]}, threeCalls...)...)
}

func TestCallThatNoWorkerStartedIsSent(t *testing.T) {
	for name, err := range map[string]error{"canceled": temporal.NewCanceledError(), "session": workflow.ErrSessionFailed} {
		if !notStarted(err) {
			t.Errorf("%s: %v counts as started", name, err)
		}
	}
	for _, err := range []error{temporal.NewHeartbeatTimeoutError(), errors.New("anything"), temporal.NewApplicationError("x", "y")} {
		if notStarted(err) {
			t.Errorf("%v counts as not started", err)
		}
	}
	s := newStage(t, threeSteps)
	s.loseCall(2, false, temporal.NewCanceledError())
	s.run()
	s.wantDone(threeCalls...)
}

// A step that says to continue is given up if its server is dead, before it is called or because it
// loses every attempt.
func TestDeadServerIsContinuedWithout(t *testing.T) {
	for server, losses := range map[string]int{"down": 0, "s": 5} {
		t.Run(server, func(t *testing.T) {
			s := newStage(t, `
steps:
  - {id: a, server: `+server+`, tool: read, arguments: {n: 1}, on-error: continue}
  - {id: b, server: s, tool: write, arguments: {n: 2}}
`)
			s.servers.answer = func(_ context.Context, tool, _ string) task.Reply {
				if tool == "read" {
					return task.Reply{Status: task.Lost, Delivery: task.Unknown, Text: "it died"}
				}
				return task.Reply{Status: task.OK, Text: "ok"}
			}
			s.run()
			s.wantDone(append(slices.Repeat([]string{`read{"n":1}`}, losses), `write{"n":2}`)...)
			given := s.state().Calls[losses]
			if o := given.Outcome; string(given.Arguments) != `{"n":1}` || o.Status != task.Failed || o.Delivery != task.Unsent {
				t.Errorf("%+v %+v", given.Intent, o)
			}
		})
	}
}

func TestDeadServerParksTheTask(t *testing.T) {
	s := newStage(t, threeSteps)
	dead := false
	s.servers.answer = func(_ context.Context, tool, _ string) task.Reply {
		dead = tool == "read"
		return task.Reply{Status: task.OK, Text: "ok"}
	}
	s.servers.health = func() string {
		if dead {
			return "dead"
		}
		return "healthy"
	}
	s.RegisterDelayedCallback(func() {
		state := s.state()
		report := state.Report("id", time.Now())
		if state.Status() != string(task.ServerDead) || state.ExitStatus() != 3 {
			t.Fatal(report)
		}
		for _, want := range []string{`The server "s" is not available`, "It has been unavailable since", "Start it again.", "1 of 3 steps", "Remaining: b, c.", "gauze task resume id"} {
			if !strings.Contains(report, want) {
				t.Errorf("the report lacks %q:\n%s", want, report)
			}
		}
		if s.servers.closed == 0 {
			t.Error("the servers of a parked task still run")
		}
		dead = false
		s.SignalWorkflow(signalResume, nil)
	}, time.Hour)
	s.run()
	s.wantDone(threeCalls...)
}

// The environment ends canceled activities without waiting for them, so this stops before a call. A
// real server is tested with a stop during one.
// A task that stopped continues with a corrected plan. One that changes what is done has no effect.
func TestCorrectedPlan(t *testing.T) {
	s := newStage(t, `
steps:
  - {id: a, server: s, tool: write, arguments: {n: 1}}
  - {id: b, server: down, tool: write, arguments: {n: 2}}
`)
	correct := func(steps string) task.Plan {
		plan, err := task.Parse("task.yaml", []byte("name: test\nservers: {s: {command: [better]}}\nsteps: ["+steps+"]"))
		if err != nil {
			t.Fatal(err)
		}
		return *plan
	}
	s.RegisterDelayedCallback(func() {
		if state := s.state(); state.Status() != string(task.ServerDead) {
			t.Fatal(state.Report("id", time.Now()))
		}
		s.SignalWorkflow(signalReplan, correct("{id: a, server: s, tool: write}"))
	}, time.Hour)
	s.RegisterDelayedCallback(func() {
		if state := s.state(); state.Status() != string(task.ServerDead) || len(state.Calls) != 1 {
			t.Fatal(state.Report("id", time.Now()))
		}
		s.SignalWorkflow(signalReplan, correct("{id: a, server: s, tool: write, arguments: {n: 1}}, {id: b, server: s, tool: set, arguments: {n: 3}}"))
	}, 2*time.Hour)
	s.run()
	s.wantDone(`write{"n":1}`, `set{"n":3}`)
	if command := s.opened["s"].Command; command[0] != "better" {
		t.Errorf("the servers are those of the old plan: %v", command)
	}
}

// A worker that did not hear that the task stopped starts the servers of the corrected plan.
func TestWorkerReplacesTheServersOfAnOldPlan(t *testing.T) {
	var opened []string
	a := &Activities{Servers: func(plan map[string]task.Server) closableServers {
		opened = append(opened, plan["s"].URL)
		return &fakeServers{}
	}}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(noLog{})
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a.Call)
	for _, url := range []string{"http://old", "http://old", "http://new"} {
		if _, err := env.ExecuteActivity(a.Call, CallRequest{Task: "id", Intent: task.Intent{Call: 1, Server: "s", Tool: "read"}, Servers: map[string]task.Server{"s": {URL: url}}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(opened, " "); got != "http://old http://new" {
		t.Errorf("opened %s", got)
	}
}

func TestStopAndResume(t *testing.T) {
	s := newStage(t, threeSteps)
	s.RegisterDelayedCallback(func() { s.SignalWorkflow(signalStop, nil) }, 0)
	s.RegisterDelayedCallback(func() {
		s.wantSent()
		if state := s.state(); state.Status() != string(task.Interrupted) {
			t.Errorf("the task is %s", state.Status())
		}
		s.SignalWorkflow(signalResume, nil)
	}, time.Hour)
	s.run()
	s.wantDone(threeCalls...)
}

func TestCanceledWorkflowEnds(t *testing.T) {
	s := newStage(t, threeSteps)
	s.servers.answer = func(_ context.Context, tool, _ string) task.Reply {
		if tool == "read" {
			s.CancelWorkflow()
		}
		return task.Reply{Status: task.OK, Text: "ok"}
	}
	s.run()
	if err := s.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("the workflow ended with %v", err)
	}
	if got := s.state().Status(); got != string(task.Interrupted) {
		t.Errorf("the task is %s", got)
	}
	s.wantSent(threeCalls[0])
}

func TestLongHistoryContinuesAsNew(t *testing.T) {
	s := newStage(t, threeSteps)
	s.SetContinueAsNewSuggested(true)
	runs := 1
	for ; ; runs++ {
		s.run()
		var next *workflow.ContinueAsNewError
		if !errors.As(s.GetWorkflowError(), &next) {
			break
		}
		var in Input
		if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
			t.Fatal(err)
		}
		if len(in.Entries) <= len(s.input.Entries) {
			t.Fatal("a run made no progress")
		}
		s.again(in)
		s.SetContinueAsNewSuggested(true)
	}
	if runs < 3 {
		t.Errorf("%d runs", runs)
	}
	s.wantDone(threeCalls...)
}

func TestLargeResultsAndArguments(t *testing.T) {
	s := newStage(t, `
steps:
  - {id: a, server: s, tool: read}
  - {id: b, server: s, tool: write, arguments: {n: "${a.text}"}}
`)
	s.servers.answer = func(context.Context, string, string) task.Reply {
		return task.Reply{Status: task.OK, Text: strings.Repeat("x", maxResult+1)}
	}
	s.RegisterDelayedCallback(func() {
		stop := s.state().Stopped
		if stop == nil || stop.Why != task.StepFailed || !strings.Contains(stop.Message, fmt.Sprintf("the limit is %d", maxResult)) {
			t.Errorf("stopped: %+v", stop)
		}
		s.CancelWorkflow()
	}, time.Hour)
	s.run()
	s.wantSent("read{}")

	s = newStage(t, `
steps:
  - {id: a, server: s, tool: read}
  - {id: b, server: s, tool: write, arguments: {n: "${a.text} ${a.text} ${a.text}"}}
`)
	s.servers.answer = func(context.Context, string, string) task.Reply {
		return task.Reply{Status: task.OK, Text: strings.Repeat("x", maxResult)}
	}
	s.RegisterDelayedCallback(func() {
		stop := s.state().Stopped
		if stop == nil || stop.Why != task.StepFailed || !strings.Contains(stop.Message, "Temporal accepts at most") {
			t.Errorf("stopped: %+v", stop)
		}
		s.CancelWorkflow()
	}, time.Hour)
	s.run()
	s.wantSent("read{}")
}

func TestWorkersThatDieOverAndOverStopTheTask(t *testing.T) {
	s := newStage(t, threeSteps)
	attempts := 0
	s.OnActivity(activityAct, mock.Anything, mock.Anything).Return(func(context.Context, ActRequest) ([]task.Entry, error) {
		attempts++
		return nil, temporal.NewHeartbeatTimeoutError()
	})
	s.RegisterDelayedCallback(func() {
		if stop := s.state().Stopped; stop == nil || attempts != maxLosses {
			t.Errorf("after %d attempts: %+v", attempts, stop)
		}
		s.CancelWorkflow()
	}, time.Hour)
	s.run()
}
