package taskrun

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

// envTask names a directory whose task this process is to run.
const envTask = "GAUZE_TEST_TASK"

// envKill is the write at which the process kills itself, such as 3 or -3: after the third write, or
// before it.
const envKill = "GAUZE_TEST_KILL"

// runTaskIfAsked turns this process into one that runs a task and exits with its status.
func runTaskIfAsked() {
	dir := os.Getenv(envTask)
	if dir == "" {
		return
	}
	os.Unsetenv(envTask)
	at, _ := strconv.Atoi(os.Getenv(envKill))
	text, err := os.ReadFile(filepath.Join(dir, "plan.json"))
	if err != nil {
		panic(err)
	}
	var plan task.Plan
	if err := json.Unmarshal(text, &plan); err != nil {
		panic(err)
	}
	log, closeLog, err := openLog(dir)
	if err != nil {
		panic(err)
	}
	servers := &Servers{Plan: plan.Servers, Wrap: quick()}
	r := &task.Runner{ID: taskID, Servers: servers, Backoff: time.Millisecond, Log: &killingLog{Log: log, at: at}}
	s, err := r.Run(context.Background())
	if err != nil {
		panic(err)
	}
	servers.Close(nil)
	if err := closeLog(); err != nil {
		panic(err)
	}
	os.Exit(s.ExitStatus())
}

// killingLog kills its process before or after a write.
type killingLog struct {
	task.Log
	at, writes int
}

func (l *killingLog) Append(ctx context.Context, id string, after int, entries ...task.Entry) (int, error) {
	l.writes++
	if l.writes == -l.at {
		killMyself()
	}
	last, err := l.Log.Append(ctx, id, after, entries...)
	if l.writes == l.at {
		killMyself()
	}
	return last, err
}

func killMyself() {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		panic(err)
	}
	_ = self.Kill()
	select {} // the signal may be delayed
}

// process runs the task in a process of its own and returns its exit status, or -1 if it was
// killed.
func (b *bench) process(killAt int) int {
	b.t.Helper()
	text, err := json.Marshal(b.plan)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "plan.json"), text, 0o600); err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envTask+"="+b.dir, envKill+"="+strconv.Itoa(killAt))
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		b.t.Fatal(err)
	}
	if strings.Contains(string(out), "panic: ") || strings.Contains(string(out), "DATA RACE") {
		b.t.Fatalf("%s", out)
	}
	if status := cmd.ProcessState.ExitCode(); status <= 4 {
		if killAt != 0 && status == 1 && len(out) == 0 && os.PathSeparator == '\\' {
			return -1 // Windows: a process that was killed exits with status 1
		}
		return status
	}
	b.t.Fatalf("exit status %d\n%s", cmd.ProcessState.ExitCode(), out)
	return 0
}

// workloads are what is killed at every write. keys are the effects of an undisturbed run.
var workloads = []struct {
	name, steps string
	keys        []string
}{
	{"reads and writes", `
steps:
  - {id: hello, server: s, tool: echo, arguments: {text: one}}
  - {id: first, server: s, tool: append, arguments: {key: "${hello.text}"}}
  - {id: second, server: s, tool: set, arguments: {key: two, value: "${hello.text}"}}
  - {id: third, server: s, tool: append, arguments: {key: three}}
`, []string{"one", "two", "three"}},
	{"a loop over results", `
steps:
  - {id: list, server: s, tool: echo, arguments: {text: '{"items": [{"k": "a"}, {"k": "b", "old": true}, {"k": "c"}]}'}}
  - id: each
    server: s
    tool: append
    for: item in ${list.json.items}
    when: not exists ${item.old}
    arguments: {key: "${item.k}"}
  - {id: last, server: s, tool: append, arguments: {key: "last of ${list.json.items.2.k}"}}
`, []string{"a", "c", "last of c"}},
	{"failures", `
steps:
  - {id: missing, server: s, tool: get, arguments: {key: nothing}, on-error: continue}
  - {id: skipped, server: s, tool: append, arguments: {key: "${missing.text}"}, on-error: continue}
  - {id: tried, server: s, tool: get, arguments: {key: nothing}, on-error: {retry: 2, then: continue}}
  - {id: kept, server: s, tool: append, when: "not exists ${tried.text}", arguments: {key: kept}}
`, []string{"kept"}},
}

// A kill before and one after each write of each workload.
func TestKilledAtEveryWrite(t *testing.T) {
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			writes := 0
			whole := begin(t, w.steps)
			if status := whole.process(0); status != 0 {
				t.Fatalf("undisturbed, the task exits with status %d", status)
			}
			whole.want(whole.state(), "done", 0)
			writes = len(whole.entries()) - 1 // the first was written by begin
			whole.wantOnce(w.keys...)
			for at := 1; at <= writes; at++ {
				for _, killAt := range []int{-at, at} {
					t.Run(fmt.Sprintf("%+d", killAt), func(t *testing.T) { killed(t, w.steps, killAt, w.keys) })
				}
			}
		})
	}
}

// killed kills a task in a process of its own at a write, and resumes it here until it is done,
// deciding by the ledger.
func killed(t *testing.T, steps string, killAt int, keys []string) {
	b := begin(t, steps)
	switch status := b.process(killAt); {
	case status == 0 && len(b.entries())-1 < max(killAt, -killAt): // on a busy machine the undisturbed one wrote more
		b.wantOnce(keys...)
		return
	case status != -1:
		t.Fatalf("exit status %d instead of a kill", status)
	}
	acknowledged := b.entries()
	for decisions := 0; ; decisions++ {
		status := b.run(nil).ExitStatus()
		before, effects := b.state(), b.effects()
		if again := b.run(nil).ExitStatus(); again != status || !slices.Equal(b.effects(), effects) || b.state().Status() != before.Status() {
			t.Fatalf("resuming again: exit status %d after %d, effects %v after %v", again, status, b.effects(), effects)
		}
		if status == 0 {
			break
		}
		call := b.state().Undecided()
		if status != 4 || call == nil || decisions > 0 {
			t.Fatalf("exit status %d\n%s", status, b.state().Report(taskID, time.Now()))
		}
		var sent struct{ Key string }
		if err := json.Unmarshal(call.Arguments, &sent); err != nil {
			t.Fatal(err)
		}
		decision := "repeat"
		if slices.Contains(effects, sent.Key) {
			decision = "done"
		}
		if _, err := task.Decide(t.Context(), b.log, taskID, decision); err != nil {
			t.Fatal(err)
		}
	}
	if all := b.entries(); len(all) < len(acknowledged) || !sameEntries(all[:len(acknowledged)], acknowledged) {
		t.Error("entries that were durable at the kill are gone")
	}
	want := slices.Clone(keys)
	got := b.effects()
	slices.Sort(want)
	slices.Sort(got)
	// The value of an idempotent call may be set twice: that is what idempotent means.
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("effects %q, want %q", got, want)
	}
	b.noneTwice()
}

// noneTwice checks that no effect of a tool that is not idempotent happened twice.
func (b *bench) noneTwice() {
	b.t.Helper()
	seen := map[string]bool{}
	for _, c := range b.state().Calls {
		var sent struct{ Key string }
		_ = json.Unmarshal(c.Arguments, &sent)
		if c.Tool != "append" || seen[sent.Key] {
			continue
		}
		seen[sent.Key] = true
		count := 0
		for _, key := range b.effects() {
			if key == sent.Key {
				count++
			}
		}
		if count > 1 {
			b.t.Errorf("the effect %q happened %d times", sent.Key, count)
		}
	}
}

func sameEntries(a, b []task.Entry) bool {
	for i := range a {
		if a[i].Kind != b[i].Kind || string(a[i].Data) != string(b[i].Data) {
			return false
		}
	}
	return true
}

func (b *bench) state() *task.State {
	b.t.Helper()
	s, err := task.Fold(b.entries())
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}
