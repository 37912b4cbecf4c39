package taskrun

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// forty returns forty steps: appends, except that step thirty reads. keys are their effects.
func forty() (steps string, keys []string) {
	var b strings.Builder
	b.WriteString("steps:\n")
	for i := 1; i <= 40; i++ {
		if i == 30 {
			b.WriteString("  - {id: s30, server: s, tool: echo, arguments: {text: hello}}\n")
			continue
		}
		fmt.Fprintf(&b, "  - {id: s%d, server: s, tool: append, arguments: {key: k%d}}\n", i, i)
		keys = append(keys, fmt.Sprintf("k%d", i))
	}
	return b.String(), keys
}

// A server that stops working at step thirty stops the task with its state, and the task finishes
// once the server is back.
func TestServerDiesAtStepThirty(t *testing.T) {
	for name, test := range map[string]struct {
		flags  []string
		dies   bool   // the server is killed before step thirty
		reason string // regular expression
	}{
		"it exits at every start": {[]string{"-exit-at-start=skip=1,code=3"}, true, "exit"},
		"it crashes in a loop":    {[]string{"-exit-after-initialize=skip=1,code=3"}, true, "The server"},
		"it hangs": {[]string{"-hang=1,calls=29", "-ignore-initialize=skip=1"}, false,
			"not (answer|respond)"},
	} {
		t.Run(name, func(t *testing.T) {
			windowstest.Skip(t)
			t.Parallel()
			steps, keys := forty()
			var b *bench
			try := func(wait time.Duration) *task.State {
				b = begin(t, steps, test.flags...)
				return b.run(func(r *task.Runner, servers *Servers) {
					servers.Wrap.Timing.Patience = wait
					servers.Wrap.Restart.Cap, servers.Wrap.Restart.OpenMax = wait/50, wait/50 // not a start every two milliseconds
					if !test.dies {
						servers.Wrap.Tools, servers.Wrap.StartTimeout = map[string]proxy.Policy{"echo": {Timeout: wait / 3}}, wait
					} else {
						r.Tell = func(s *task.State, e task.Entry) {
							if e.Kind == task.KindOutcome && len(s.Calls) == 29 {
								b.killServer(servers)
							}
						}
					}
				})
			}
			wait := 3 * time.Second
			s := try(wait)
			for len(s.Calls) < 29 && wait < patience.Limit() { // a busy machine takes longer to start the server
				wait *= 2
				s = try(wait)
			}
			b.want(s, "server-dead", 3)
			b.wantOnce(keys[:29]...)
			report := s.Report(taskID, time.Now())
			for _, want := range []string{`"s"`, "unavailable since", "Done: 29 of 40 steps", "Remaining: s30, s31", "\ngauze task resume test\n"} {
				if !strings.Contains(report, want) {
					t.Errorf("the report does not say %q:\n%s", want, report)
				}
			}
			if !regexp.MustCompile(test.reason).MatchString(report) {
				t.Errorf("the report does not give the reason %q:\n%s", test.reason, report)
			}
			b.plan.Servers["s"] = b.server()
			b.want(b.run(nil), "done", 0)
			b.wantOnce(keys...)
		})
	}
}

// killServer kills the server of the last effect and returns when gauze knows that it is dead.
func (b *bench) killServer(servers *Servers) {
	b.t.Helper()
	entries, _, err := faultyserver.ReadLedger(b.ledger())
	if err != nil {
		b.t.Fatal(err)
	}
	process, err := os.FindProcess(entries[len(entries)-1].PID)
	if err != nil {
		b.t.Fatal(err)
	}
	one, err := servers.server("s")
	if err != nil {
		b.t.Fatal(err)
	}
	generation := one.session.Upstream().Snapshot().Closures
	if err := process.Kill(); err != nil {
		b.t.Fatal(err)
	}
	for {
		one.mu.Lock()
		changed := one.changed
		one.mu.Unlock()
		if one.session.Upstream().Snapshot().Closures > generation {
			return
		}
		<-changed
	}
}

// A server that is only restarted does not stop a task.
func TestServerThatComesBackIsWaitedFor(t *testing.T) {
	steps, keys := forty()
	b := begin(t, steps)
	s := b.run(func(r *task.Runner, servers *Servers) {
		r.Tell = func(s *task.State, e task.Entry) {
			if e.Kind == task.KindOutcome && len(s.Calls)%7 == 0 {
				b.killServer(servers)
			}
		}
	})
	b.want(s, "done", 0)
	b.wantOnce(keys...)
}

func TestServerThatDoesNotExist(t *testing.T) {
	b := begin(t, "steps: [{id: a, server: s, tool: echo}]")
	b.plan.Servers["s"] = task.Server{Command: []string{"gauze-test-no-such-command"}}
	s := b.run(nil)
	b.want(s, "server-dead", 3)
	if report := s.Report(taskID, time.Now()); !strings.Contains(report, "gauze-test-no-such-command") && !strings.Contains(report, "not found") {
		t.Error(report)
	}
	b.plan.Servers["s"] = b.server()
	b.want(b.run(nil), "done", 0)
}

// A call that the server may have run before it died is not repeated: a person decides.
func TestUnknownOutcomeNeedsADecision(t *testing.T) {
	for decision, want := range map[string][]string{
		"done":   {"one", "two"},
		"repeat": {"one", "one", "two"}, // the person said so
		"skip":   {"one", "two"},
	} {
		t.Run(decision, func(t *testing.T) {
			b := begin(t, `
steps:
  - {id: a, server: s, tool: die, arguments: {when: after-effect, key: one, times: 1}}
  - {id: b, server: s, tool: append, arguments: {key: two}}
`)
			s := b.run(nil)
			b.want(s, "needs-decision", 4)
			if report := s.Report(taskID, time.Now()); !strings.Contains(report, "gauze task decide test repeat") || !strings.HasSuffix(report, "gauze task resume test\n") {
				t.Error(report)
			}
			b.want(b.run(nil), "needs-decision", 4)
			if _, err := task.Decide(t.Context(), b.log, taskID, decision); err != nil {
				t.Fatal(err)
			}
			b.want(b.run(nil), "done", 0)
			if _, err := task.Decide(t.Context(), b.log, taskID, decision); err == nil {
				t.Error("a second decision about the same call was accepted")
			}
			b.wantOnce(want...)
		})
	}
}

// The tool of the next step changed while the task was stopped.
func TestToolChangedMeanwhile(t *testing.T) {
	for name, test := range map[string]struct{ change, call, status string }{
		"and no longer accepts the arguments": {"schema", `tool: die_read, arguments: {when: never}`, "tool-changed"},
		"and still accepts the arguments":     {"schema", `tool: echo, arguments: {text: hello}`, "done"},
		"and was removed":                     {"remove", `tool: get, arguments: {key: x}`, "tool-changed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := begin(t, `
steps:
  - {id: a, server: s, tool: append, arguments: {key: one}}
  - {id: b, server: s, `+test.call+`}
`, "-tools-change="+test.change)
			ctx, cancel := context.WithCancel(t.Context())
			s := b.runIn(ctx, func(r *task.Runner, _ *Servers) {
				r.Tell = func(_ *task.State, e task.Entry) {
					if e.Kind == task.KindOutcome {
						cancel()
					}
				}
			})
			b.want(s, "interrupted", 130)
			got := b.run(nil)
			if got.Status() != test.status {
				t.Fatalf("the task is %s, want %s\n%s", got.Status(), test.status, got.Report(taskID, time.Now()))
			}
			b.wantOnce("one")
		})
	}
}

// Steps that need a person, and what a task says about them.
func TestNeedsPerson(t *testing.T) {
	failed := func(text string) string {
		result, err := json.Marshal(map[string]any{"isError": true, "content": []map[string]string{{"type": "text", "text": text}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(result)
	}
	for name, test := range map[string]struct{ result, status string }{
		"login":       {failed("Error: login required to view this page"), "needs-person"},
		"captcha":     {failed("The site shows a CAPTCHA"), "needs-person"},
		"approval":    {failed("This operation requires human approval"), "needs-person"},
		"not a need":  {failed("no page called login"), "failed"},
		"a success":   {`{"content":[{"type":"text","text":"login required"}]}`, "done"},
		"other error": {failed("disk quota exceeded"), "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := json.Marshal(test.result)
			if err != nil {
				t.Fatal(err)
			}
			b := begin(t, "steps: [{id: a, server: s, tool: raw, arguments: {result: "+string(result)+"}}]")
			s := b.run(nil)
			if s.Status() != test.status {
				t.Errorf("the task is %s, want %s", s.Status(), test.status)
			}
		})
	}
}

// A question of the server to the user is rejected, because a task has no user to ask.
func TestQuestionOfTheServerIsRejected(t *testing.T) {
	b := begin(t, `steps: [{id: a, server: s, tool: ask, arguments: {method: elicitation/create}}]`)
	s := b.run(nil)
	b.want(s, "done", 0)
	if text := s.Calls[0].Outcome.Text; !strings.Contains(text, "does not support elicitation/create") {
		t.Errorf("the server received %s", text)
	}
}

// A step that says to continue is given up if its server does not start, and the other servers of the
// task go on.
func TestContinueWithoutAServerThatExits(t *testing.T) {
	b := begin(t, `
steps:
  - {id: a, server: s, tool: append, arguments: {key: one}}
`)
	plan, err := task.Parse("task.yaml", []byte(`
name: test
servers: {s: a/b, down: a/c}
steps:
  - {id: a, server: s, tool: append, arguments: {key: one}}
  - {id: b, server: down, tool: append, for: 'x in ["two", "three"]', arguments: {key: "${x}"}, on-error: continue}
  - {id: c, server: s, tool: append, arguments: {key: four}}
`))
	if err != nil {
		t.Fatal(err)
	}
	plan.Servers["s"], plan.Servers["down"] = b.plan.Servers["s"], b.server("-exit-at-start=code=3")
	b.plan = plan
	if err := task.Start(t.Context(), b.log, "other", plan); err != nil {
		t.Fatal(err)
	}
	s := b.run(func(r *task.Runner, servers *Servers) {
		r.ID, servers.Wrap.Timing.Patience = "other", 100*time.Millisecond
	})
	b.want(s, "done", 0)
	b.wantOnce("one", "four")
}
