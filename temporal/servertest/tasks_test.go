package servertest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/temporal/flow"
)

// The worker is killed in the middle of a call, and so is the server. The task finishes on a
// different worker, with every effect once.
func TestWorkerAndServerAreKilled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	steps, keys := appends(8, 300)
	first := b.worker()
	id := b.start(b.plan(steps))
	b.untilEffects(3)
	kill(t, first.Process)
	b.worker()
	state := b.stopped(t.Context(), id, task.NeedsDecision)
	if call := state.Undecided(); call == nil || call.Call != len(b.effects()) {
		t.Fatalf("undecided: %+v, after %d effects", call, len(b.effects()))
	}
	after, err := b.Decide(t.Context(), id, "done")
	if err != nil {
		t.Fatal(err)
	}
	effects := b.untilEffects(6)
	process, err := os.FindProcess(effects[len(effects)-1].PID)
	if err != nil {
		t.Fatal(err)
	}
	kill(t, process)
	decisions := b.finish(id, after)
	b.wantKeys(keys)
	t.Logf("%d more decisions", decisions)
	b.replays(id, "killed")
}

// Calls that only read are repeated without a person.
func TestReadsAreRepeatedWhenTheWorkerDies(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.worker()
	id := b.start(b.plan(`
steps:
  - {id: before, server: s, tool: append, arguments: {key: before}}
  - {id: wait, server: s, tool: sleep, arguments: {ms: 4000}}
  - {id: after, server: s, tool: append, arguments: {key: after}}
`))
	b.untilEffects(1)
	b.untilCall(id, 2)
	kill(t, first.Process)
	b.worker()
	s, err := b.Wait(t.Context(), id, 0, nil)
	if err != nil || s.Done == nil {
		t.Fatalf("%v\n%s", err, s.Report(id, time.Now()))
	}
	if len(s.Calls) != 4 || s.Calls[2].Attempt != 2 {
		t.Errorf("%d calls", len(s.Calls))
	}
	b.wantKeys([]string{"before", "after"})
	b.replays(id, "killed-in-read")
}

// untilCall returns when the nth call has been written to the log.
func (b *bench) untilCall(id string, n int) {
	b.t.Helper()
	for look := time.NewTicker(20 * time.Millisecond); ; <-look.C {
		s, err := b.State(b.t.Context(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		if len(s.Calls) >= n {
			look.Stop()
			return
		}
	}
}

func TestTwoWorkersShareAHundredTasks(t *testing.T) {
	const tasks = 100
	b := newBench(t)
	b.worker("--tasks", "4")
	b.worker("--tasks", "4")
	begun := time.Now()
	ids := map[string][]string{}
	for i := range tasks {
		first, second := fmt.Sprintf("first-%d", i), fmt.Sprintf("second-%d", i)
		id := b.start(b.plan(fmt.Sprintf(`
steps:
  - {id: a, server: s, tool: append, arguments: {key: %s}}
  - {id: b, server: s, tool: echo, arguments: {text: %s}}
  - {id: c, server: s, tool: append, arguments: {key: "${b.text}"}}
`, first, second)))
		ids[id] = []string{first, second}
	}
	var want []string
	workers := map[string]int{}
	for id, keys := range ids {
		s, err := b.Wait(t.Context(), id, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Done == nil {
			t.Fatal(s.Report(id, time.Now()))
		}
		want = append(want, keys...)
		workers[b.workerOf(id)]++
	}
	t.Logf("%d tasks in %v: %v", tasks, time.Since(begun).Round(time.Second), workers)
	if len(workers) != 2 {
		t.Errorf("tasks by worker: %v", workers)
	}
	got := b.keys()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d effects, want %d", len(got), len(want))
	}
	all, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if ids[one.ID] != nil && one.Status != task.StatusDone {
			t.Errorf("%s is listed as %s", one.ID, one.Status)
		}
	}
}

// workerOf returns the worker that sent the calls of a task. It checks that there is one.
func (b *bench) workerOf(id string) (worker string) {
	b.t.Helper()
	calls := map[int64]bool{}
	events := b.Temporal.GetWorkflowHistory(b.t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			b.t.Fatal(err)
		}
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "gauze-call" {
			calls[e.GetEventId()] = true
		}
		if started := e.GetActivityTaskStartedEventAttributes(); started != nil && calls[started.GetScheduledEventId()] {
			if worker != "" && worker != started.GetIdentity() {
				b.t.Errorf("the calls of %s were sent by %s and %s", id, worker, started.GetIdentity())
			}
			worker = started.GetIdentity()
		}
	}
	return worker
}

// The commands of gauze, against a server that dies and comes back.
func TestDeadServerParksTheTask(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.worker()
	steps, keys := appends(4, 300)
	running := b.launch("task", "run", "--yes", "--heartbeat", heartbeat.String(), b.file(steps))
	effects := b.untilEffects(2)
	b.remove()
	process, err := os.FindProcess(effects[len(effects)-1].PID)
	if err != nil {
		t.Fatal(err)
	}
	kill(t, process)
	status, said := running.wait()
	id := said[strings.LastIndex(strings.TrimSpace(said), " ")+1:]
	id = strings.TrimSpace(id)
	if status == 4 { // the call during which the server died may have had its effect, as it has
		status, said = b.gauze("task", "decide", id, "done")
	}
	if status != 3 {
		t.Fatalf("exit status %d\n%s", status, said)
	}
	resume := fmt.Sprintf("\ngauze task resume --temporal %s --namespace %s %s\n", b.address, b.namespace, id)
	for _, want := range []string{`The server "s" is not available`, "It has been unavailable since", "Done: ", "Remaining: ", resume} {
		if !strings.Contains(said, want) {
			t.Errorf("gauze did not say %q:\n%s", want, said)
		}
	}
	if status, said := b.gauze("task", "show", id); status != 0 || !strings.Contains(said, "stopped: server-dead") {
		t.Errorf("exit status %d\n%s", status, said)
	}
	b.listed(id, "server-dead")
	b.repair()
	if status, said = b.gauze("task", "resume", id); status != 0 {
		t.Fatalf("exit status %d\n%s", status, said)
	}
	b.wantKeys(keys)
	b.listed(id, "done")
	if status, said := b.gauze("task", "resume", id); status != 0 {
		t.Errorf("resuming a task that is done: exit status %d\n%s", status, said)
	}
	b.wantKeys(keys)
	b.replays(id, "server-dead")
}

// listed checks the status in gauze task list. Lists follow a little later.
func (b *bench) listed(id, status string) {
	b.t.Helper()
	for look := time.NewTicker(50 * time.Millisecond); b.t.Context().Err() == nil; <-look.C {
		exit, said := b.gauze("task", "list")
		if exit != 0 {
			b.t.Fatalf("exit status %d\n%s", exit, said)
		}
		for line := range strings.Lines(said) {
			if words := strings.Fields(line); len(words) > 1 && words[0] == id && words[1] == status {
				look.Stop()
				return
			}
		}
	}
}

// A stop during a call waits a moment for its result, and does not repeat it.
func TestStopDuringACall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.worker()
	id := b.start(b.plan(`
steps:
  - {id: a, server: s, tool: append, arguments: {key: long, ms: 600000}}
  - {id: b, server: s, tool: append, arguments: {key: last}}
`))
	b.untilEffects(1)
	if err := b.Stop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	state := b.stopped(t.Context(), id, task.Interrupted)
	if call := state.Undecided(); call == nil || call.Outcome == nil || call.Outcome.Delivery != task.Unknown {
		t.Fatalf("%+v", call)
	}
	after, err := b.Decide(t.Context(), id, "done")
	if err != nil {
		t.Fatal(err)
	}
	b.finish(id, after)
	b.wantKeys([]string{"long", "last"})
	b.replays(id, "stopped")
}

// A long task continues with new histories on the same worker.
func TestContinueAsNew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Timing.MaxEvents = 60
	b.worker()
	steps, keys := appends(20, 0)
	id := b.start(b.plan(steps))
	if decisions := b.finish(id, 0); decisions > 0 {
		t.Errorf("%d decisions", decisions)
	}
	b.wantKeys(keys)
	processes := map[int]bool{}
	for _, e := range b.effects() {
		processes[e.PID] = true
	}
	if len(processes) != 1 {
		t.Errorf("the task used %d server processes, one after the other", len(processes))
	}
	described, err := b.Temporal.DescribeWorkflowExecution(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	if n := described.GetWorkflowExecutionInfo().GetHistoryLength(); n > 100 {
		t.Errorf("the last history has %d events", n)
	}
	b.replays(id, "continued")
}

// Without a worker, commands say so.
func TestNoWorker(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.start(b.plan("steps: [{id: a, server: s, tool: echo}]"))
	if _, err := b.Entries(t.Context(), id); !errors.Is(err, flow.ErrNoWorker) {
		t.Errorf("got %v", err)
	}
	if _, err := b.Entries(t.Context(), "no-such-task"); err == nil || !strings.Contains(err.Error(), "has no task") {
		t.Errorf("got %v", err)
	}
	b.worker()
	b.finish(id, 0)
}

// A namespace that does not exist is reported by every command, and starts nothing.
func TestWrongNamespace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.namespace = "no-such-namespace"
	for _, args := range [][]string{{"task", "run", "--yes", b.file("steps: [{id: a, server: s, tool: echo}]")}, {"task", "list"}, {"task", "show", "x"}} {
		if status, said := b.gauze(args...); status != 2 || !strings.Contains(said, `has no namespace "no-such-namespace"`) {
			t.Errorf("%v: exit status %d\n%s", args, status, said)
		}
	}
}
