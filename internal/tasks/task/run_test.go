package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
)

func TestStepsRunInOrder(t *testing.T) {
	o := begin(t, `
steps:
  - {id: list, server: s, tool: read, arguments: {path: /}}
  - id: each
    server: s
    tool: write
    for: item in ${list.json.items}
    when: ${item.ok}
    arguments: {n: "${item.n}", from: "${list.json.name}"}
  - {id: never, server: s, tool: write, when: "${list.json.name} == other"}
  - {id: all, server: s, tool: read, arguments: {all: "${each.json}", text: "${each.text}"}}
`, func(_ context.Context, tool, arguments string) Reply {
		if tool == "read" {
			return says(`{"name": "x", "items": [{"n": 1, "ok": true}, {"n": 2, "ok": false}, {"n": 3, "ok": true}]}`)
		}
		return says(arguments[len(arguments)-2 : len(arguments)-1])
	})
	o.wantStatus("done", 0)
	o.wantCalls(`read {"path":"/"}`, `write {"from":"x","n":1}`, `write {"from":"x","n":3}`, `read {"all":[1,3],"text":"1\n3"}`)
	entries := len(o.log.entries)
	o.wantStatus("done", 0)
	if len(o.log.entries) != entries {
		t.Error("running a task that is done changed it")
	}
}

// A loop over nothing has a result: an empty list.
func TestLoopOverNothing(t *testing.T) {
	o := begin(t, `
steps:
  - {id: each, server: s, tool: write, for: "x in []", arguments: {x: "${x}"}}
  - {id: all, server: s, tool: read, arguments: {all: "${each.json}"}}
`, always(says("ok")))
	o.wantStatus("done", 0)
	o.wantCalls(`read {"all":[]}`)
}

func TestOnError(t *testing.T) {
	for name, test := range map[string]struct {
		step, status string
		exit, calls  int
	}{
		"by default the task stops": {"", "failed", 1, 1},
		"stop":                      {"on-error: stop", "failed", 1, 1},
		"continue":                  {"on-error: continue", "done", 0, 2},
		"retry":                     {"on-error: retry", "failed", 1, 3},
		"retry, then continue":      {"on-error: {retry: 5, then: continue}", "done", 0, 6},
	} {
		t.Run(name, func(t *testing.T) {
			o := begin(t, "steps:\n  - {id: a, server: s, tool: write, "+test.step+"}\n  - {id: b, server: s, tool: read}\n", func(_ context.Context, tool, _ string) Reply {
				if tool == "write" {
					return failed("no")
				}
				return says("yes")
			})
			o.wantStatus(test.status, test.exit)
			if len(o.calls) != test.calls {
				t.Errorf("%d calls, want %d", len(o.calls), test.calls)
			}
		})
	}
}

// A missing value fails the step before anything is sent.
func TestMissingValueFailsTheStep(t *testing.T) {
	file := "steps:\n  - {id: a, server: s, tool: read}\n  - {id: b, server: s, tool: write, arguments: {x: \"${a.json.nope}\"}%s}\n"
	o := begin(t, fmt.Sprintf(file, ""), always(says(`{"name": 1}`)))
	s := o.wantStatus("failed", 1)
	if !strings.Contains(s.Stopped.Message, `Step "b" was not sent: ${a.json.nope} has no value: a.json has no "nope"`) {
		t.Error(s.Stopped.Message)
	}
	o.wantCalls("read {}")
	o = begin(t, fmt.Sprintf(file, ", on-error: continue"), always(says(`{"name": 1}`)))
	o.wantStatus("done", 0)
	o.wantCalls("read {}")
}

// Resuming a task that failed sends the failed call again, and nothing before it.
func TestResumeAfterFailure(t *testing.T) {
	broken := true
	o := begin(t, "steps:\n  - {id: a, server: s, tool: write}\n  - {id: b, server: s, tool: set}\n", func(_ context.Context, tool, _ string) Reply {
		if broken && tool == "set" {
			return failed("no")
		}
		return says("ok")
	})
	o.wantStatus("failed", 1)
	o.wantStatus("failed", 1)
	broken = false
	o.wantStatus("done", 0)
	o.wantCalls("write {}", "set {}", "set {}", "set {}")
}

// lost says that a call got no answer.
func lost(d Delivery) Reply { return Reply{Status: Lost, Delivery: d, Fault: "server-unavailable"} }

func TestLostCalls(t *testing.T) {
	for name, test := range map[string]struct {
		tool     string
		delivery Delivery
		status   string
		calls    int
	}{
		"a read is repeated":                      {"read", Unknown, "done", 2},
		"an idempotent call is repeated":          {"set", Unknown, "done", 2},
		"a write that was not sent is repeated":   {"write", Unsent, "done", 2},
		"a write that may have run is not":        {"write", Unknown, "needs-decision", 1},
		"a write that was refused is not":         {"write", Refused, "needs-decision", 1},
		"an unlisted tool counts as one that may": {"other, unlisted: true", Unknown, "needs-decision", 1},
	} {
		t.Run(name, func(t *testing.T) {
			first := true
			o := begin(t, "steps: [{id: a, server: s, tool: "+test.tool+"}]", func(context.Context, string, string) Reply {
				if first {
					first = false
					return lost(test.delivery)
				}
				return says("ok")
			})
			if s := o.run(); s.Status() != test.status || len(o.calls) != test.calls {
				t.Errorf("the task is %s after %d calls, want %s after %d", s.Status(), len(o.calls), test.status, test.calls)
			}
		})
	}
}

// A call that is lost each time ends the task instead of repeating it indefinitely.
func TestLostEveryTime(t *testing.T) {
	o := begin(t, "steps: [{id: a, server: s, tool: read}]", always(lost(Unsent)))
	o.wantStatus("server-dead", 3)
	if len(o.calls) != maxLosses {
		t.Errorf("%d calls, want %d", len(o.calls), maxLosses)
	}
	o.wantStatus("server-dead", 3) // and so does resuming it
	if len(o.calls) != 2*maxLosses {
		t.Errorf("%d calls after resuming, want %d", len(o.calls), 2*maxLosses)
	}
}

// The health of a server is checked before every call, and a dead one is waited for within bounds.
func TestHealthBeforeEveryCall(t *testing.T) {
	var o *one
	down := func(until int) func() Situation {
		return func() (s Situation) {
			s.Health, s.Reconnects, s.Answered = "dead", o.reconnects, true
			if o.reconnects >= until {
				s.Health = "healthy"
			}
			return s
		}
	}
	for name, test := range map[string]struct {
		until      int
		status     string
		reconnects int
	}{
		"it comes back":       {2, "done", 2},
		"it does not":         {1000, "server-dead", defaultReconnects},
		"one attempt is left": {defaultReconnects, "done", defaultReconnects},
	} {
		t.Run(name, func(t *testing.T) {
			o = begin(t, "steps: [{id: a, server: s, tool: write}]", always(says("ok")))
			o.health = down(test.until)
			if s := o.run(); s.Status() != test.status || o.reconnects != test.reconnects {
				t.Errorf("the task is %s after %d attempts, want %s after %d", s.Status(), o.reconnects, test.status, test.reconnects)
			}
			if test.status == "server-dead" && len(o.calls) > 0 {
				t.Error("a call was sent to a dead server")
			}
		})
	}
}

// A server that died with a call is checked before the call is repeated.
func TestHealthBeforeARepetition(t *testing.T) {
	var o *one
	o = begin(t, "steps: [{id: a, server: s, tool: read}]", func(context.Context, string, string) Reply {
		o.health = func() (s Situation) { s.Health, s.Answered = "dead", true; return s }
		return lost(Unknown)
	})
	o.wantStatus("server-dead", 3)
	o.wantCalls("read {}")
}

// A permanent cause stops the task after one attempt.
func TestPermanentCause(t *testing.T) {
	o := begin(t, "steps: [{id: a, server: s, tool: write}]", always(says("ok")))
	o.health = func() (s Situation) {
		s.Health, s.Answered, s.Detail, s.Remedy = "dead", true, "it exited", "Install it."
		s.Cause = verdict.Cause{Code: "command_path_missing", Explanation: "The command was not found.", Permanent: true, Confidence: 1}
		return s
	}
	s := o.wantStatus("server-dead", 3)
	if o.reconnects != 1 {
		t.Errorf("%d attempts, want 1", o.reconnects)
	}
	report := s.Report("id", time.Now())
	for _, want := range []string{`The server "s" is not available: the cause is permanent`, "The command was not found.", "Install it.", "Done: 0 of 1 step", "Remaining: a.", "gauze task resume id"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not say %q:\n%s", want, report)
		}
	}
}

// A server that rejects the credentials needs a person, whether or not it was called.
func TestCredentialsNeedAPerson(t *testing.T) {
	o := begin(t, "steps: [{id: a, server: s, tool: write}]", always(says("ok")))
	o.lost = &Reply{Status: Lost, Delivery: Unsent, Fault: "auth-required", Text: "401"}
	o.wantStatus("needs-person", 4)
	o.lost = nil
	o.answer = always(Reply{Status: Lost, Delivery: Unsent, Fault: "auth-required"})
	o.wantStatus("needs-person", 4)
	o.answer = always(says("ok"))
	o.wantStatus("done", 0)
	o.wantCalls("write {}", "write {}")
}

// A call that was sent and answered with 401 may have had its effect, so a login alone does not make
// the task send it again.
func TestRefusedCallIsNotRepeatedAfterALogin(t *testing.T) {
	for _, test := range []struct {
		tool     string
		delivery Delivery
		status   string
		calls    int // in all, after a resume
	}{
		{"read", Refused, "needs-person", 2},
		{"set", Refused, "needs-person", 2},
		{"write", Unsent, "needs-person", 2},
		{"write", Refused, "needs-decision", 1},
		{"write", Answered, "needs-decision", 1},
		{"write", Unknown, "needs-decision", 1},
	} {
		t.Run(fmt.Sprintf("%s %s", test.tool, test.delivery), func(t *testing.T) {
			o := begin(t, "steps: [{id: a, server: s, tool: "+test.tool+"}]",
				always(Reply{Status: Lost, Delivery: test.delivery, Fault: "auth-required"}))
			s := o.wantStatus(test.status, 4)
			if !strings.Contains(s.Stopped.Message, needs[needLogin]) {
				t.Error(s.Stopped.Message)
			}
			o.answer = always(says("ok"))
			o.run()
			if len(o.calls) != test.calls {
				t.Errorf("%d calls after a resume, want %d", len(o.calls), test.calls)
			}
			if test.calls > 1 {
				return
			}
			if _, err := Decide(t.Context(), o.log, "id", "repeat"); err != nil {
				t.Fatal(err)
			}
			o.wantStatus("done", 0)
		})
	}
}

// The kinds of failures that need a person. Codes count before words, and words only in failures.
func TestNeedOf(t *testing.T) {
	for text, want := range map[string]string{
		"authentication required": needLogin, "Please log in first": needLogin, "You are not logged in.": needLogin, "login required": needLogin,
		"session has expired": needLogin, "verification required": needLogin,
		"captcha": needCaptcha, "human verification": needCaptcha,
		"this needs manual approval": needApproval, "human intervention": needApproval,
		"permission denied": needAccess, "access denied": needAccess,
		"authentication": needLogin, "login": needLogin, "verification": needLogin, "Login failed: wrong password": needLogin, "two-factor code required": needLogin,
		"checksum verification failed": "", "certificate verification failed": "", "1 test failed: the login page\nFAIL login form test failed": "",
		"authorization header could not be parsed, 2 retries needed": "",
		"no such file: login.txt":                                    "", "unknown author": "", "approval rating: 3": "", "": "",
	} {
		if got := needOf(failed(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if got := needOf(says(text)); got != "" {
			t.Errorf("%q in a success: %q", text, got)
		}
	}
	for _, r := range []Reply{
		{Status: Failed, Asked: true}, {Status: Lost, Fault: "auth-required"}, {Status: Lost, Fault: "auth-denied"}, {Status: Failed, Cause: "invalid_api_key"}, {Status: Failed, Cause: "bot_challenge"},
	} {
		if needs[needOf(r)] == "" {
			t.Errorf("%+v: nothing", r)
		}
	}
}

// The same call with the same failure three times in a row makes no progress.
func TestStuck(t *testing.T) {
	step := "  - {id: a%d, server: s, tool: %s, arguments: {x: %d}, on-error: continue}\n"
	for name, test := range map[string]struct {
		steps  []any // tool and argument by turns
		answer func(n int) Reply
		status string
	}{
		"the same failure":       {[]any{"read", 1, "read", 1, "read", 1, "read", 1}, func(int) Reply { return failed("e1") }, "stuck"},
		"twice":                  {[]any{"read", 1, "read", 1}, func(int) Reply { return failed("e1") }, "done"},
		"different failures":     {[]any{"read", 1, "read", 1, "read", 1, "read", 1}, func(n int) Reply { return failed(fmt.Sprint(n % 2)) }, "done"},
		"different tools":        {[]any{"read", 1, "set", 1, "read", 1, "set", 1}, func(int) Reply { return failed("e1") }, "done"},
		"different arguments":    {[]any{"read", 1, "read", 2, "read", 3, "read", 4}, func(int) Reply { return failed("e1") }, "done"},
		"the plan says so often": {[]any{"read", 1, "read", 1, "read", 1, "read", 1}, func(int) Reply { return says("pending") }, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			file := "steps:\n"
			for i := 0; i < len(test.steps); i += 2 {
				file += fmt.Sprintf(step, i, test.steps[i], test.steps[i+1])
			}
			n := 0
			o := begin(t, file, func(context.Context, string, string) Reply { n++; return test.answer(n) })
			if s := o.run(); s.Status() != test.status {
				t.Errorf("the task is %s, want %s", s.Status(), test.status)
			}
		})
	}
}

// A loop over items with equal results is progress.
func TestLoopWithEqualResultsIsNotStuck(t *testing.T) {
	o := begin(t, "steps: [{id: a, server: s, tool: write, for: 'x in [1, 2, 3, 4, 5]', arguments: {x: \"${x}\"}, on-error: continue}]", always(failed("no")))
	o.wantStatus("done", 0)
	if len(o.calls) != 5 {
		t.Errorf("%d calls, want 5", len(o.calls))
	}
}

// The next round of a loop costs the same however long the list is.
func TestLongLoopIsNotReadInEveryRound(t *testing.T) {
	const rounds = 2000
	list := "[0" + strings.Repeat(", 0", rounds-1) + "]"
	o := begin(t, "steps: [{id: a, server: s, tool: write, for: 'x in "+list+"'}]\nbudget: {steps: 10}", always(says("ok")))
	s := o.wantStatus("budget-spent", 1)
	if allocs := testing.AllocsPerRun(10, func() { s.nextStep() }); allocs > rounds/10 {
		t.Errorf("%v allocations to find the next of %d rounds", allocs, rounds)
	}
}

// A failure of many bytes is in the log once.
func TestDiagnosisIsShort(t *testing.T) {
	o := begin(t, "steps: [{id: a, server: s, tool: write}]", always(failed(strings.Repeat("x", 1<<20))))
	if s := o.wantStatus("failed", 1); len(s.Stopped.Diagnosis) > maxShownResult || len(s.Calls[0].Outcome.Text) != 1<<20 {
		t.Errorf("a diagnosis of %d bytes", len(s.Stopped.Diagnosis))
	}
}

func TestBudgets(t *testing.T) {
	o := begin(t, "budget: {steps: 2}\nsteps: [{id: a, server: s, tool: write, for: 'x in [1, 2, 3, 4, 5]', arguments: {x: \"${x}\"}}]", always(says("ok")))
	o.wantStatus("budget-spent", 1)
	o.wantStatus("budget-spent", 1)
	o.wantStatus("done", 0)
	o.wantCalls(`write {"x":1}`, `write {"x":2}`, `write {"x":3}`, `write {"x":4}`, `write {"x":5}`)
}

// The time of a budget counts while the task runs, ends a call that takes too long, and not while
// the task is stopped.
func TestTimeBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := begin(t, "budget: {time: 10s}\nsteps: [{id: a, server: s, tool: read, for: 'x in [1, 2, 3, 4]'}]", func(ctx context.Context, _, _ string) Reply {
			select {
			case <-time.After(4 * time.Second):
				return says("ok")
			case <-ctx.Done():
				return lost(Unknown)
			}
		})
		start := time.Now()
		s := o.wantStatus("budget-spent", 1)
		if took := time.Since(start); took > 13*time.Second || !strings.Contains(s.Stopped.Message, "10s") {
			t.Errorf("stopped after %v: %s", took, s.Stopped.Message)
		}
		time.Sleep(time.Hour)
		o.wantStatus("done", 0)
	})
}

// A budget of time that ends while the task waits for a server stops it because of the server, and a
// resume grants the time again.
func TestTimeBudgetEndsTheWaitForAServer(t *testing.T) {
	for name, waits := range map[string]func(o *one) *deaf{
		"it does not come back": func(o *one) *deaf { return &deaf{fake: o.fake} },
		"it never answers":      func(o *one) *deaf { return &deaf{fake: o.fake, silent: true} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := begin(t, "budget: {time: 10s}\nsteps: [{id: a, server: s, tool: write}]", always(says("ok")))
				o.health = func() (s Situation) { s.Health, s.Answered = "dead", true; return s }
				o.r.Servers = waits(o)
				s := o.wantStatus("server-dead", 3)
				if report := s.Report("id", time.Now()); !strings.Contains(report, "time budget") || !strings.HasSuffix(report, "\ngauze task resume id\n") {
					t.Error(report)
				}
				o.health, o.r.Servers = nil, o.fake
				o.wantStatus("done", 0)
				o.wantCalls("write {}")
			})
		})
	}
}

// The time ends before the next attempt of a call that the server did not answer, or while the new
// process has yet to answer: the server is the reason, and what was reported of the call is shown.
func TestTimeBudgetEndsAfterALostCall(t *testing.T) {
	for name, test := range map[string]struct {
		backoff time.Duration
		silent  bool
	}{
		"before the next attempt":   {backoff: time.Minute},
		"waiting for a new process": {silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reply := lost(Unknown)
				reply.Text = "the server did not answer in time"
				answer, silent := always(reply), false
				o := begin(t, "budget: {time: 10s}\nsteps: [{id: a, server: s, tool: read}]", func(ctx context.Context, tool, arguments string) Reply {
					silent = test.silent
					return answer(ctx, tool, arguments)
				})
				o.r.Backoff = test.backoff
				o.r.Servers = &fresh{fake: o.fake, silent: &silent}
				s := o.wantStatus("server-dead", 3)
				if report := s.Report("id", time.Now()); !strings.Contains(report, "time budget") || !strings.Contains(report, "Reported: the server did not answer in time") {
					t.Error(report)
				}
				answer, o.r.Servers = always(says("ok")), o.fake
				o.wantStatus("done", 0)
			})
		})
	}
}

// A server that is there again after each call it loses has been unavailable since the first of them.
func TestUnavailableSinceTheFirstLostCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := begin(t, "steps: [{id: a, server: s, tool: read}]", func(context.Context, string, string) Reply {
			time.Sleep(time.Minute)
			return lost(Unknown)
		})
		begun := time.Now()
		o.health = func() (s Situation) { s.Health, s.Since = "healthy", time.Now(); return s }
		s := o.wantStatus("server-dead", 3)
		if !s.Stopped.Since.Equal(begun) {
			t.Errorf("since %v, want %v", s.Stopped.Since, begun)
		}
	})
}

// fresh is a server that looks healthy, and does not list its tools while it is silent.
type fresh struct {
	*fake
	silent *bool
}

func (f *fresh) Tools(ctx context.Context, server string) ([]Tool, *Reply) {
	if *f.silent {
		<-ctx.Done()
		return nil, &Reply{Status: Lost, Delivery: Unsent}
	}
	return f.fake.Tools(ctx, server)
}

// deaf is a server whose connection takes as long as it is given.
type deaf struct {
	*fake
	silent bool // it is connected, but does not answer
}

func (d *deaf) Tools(ctx context.Context, server string) ([]Tool, *Reply) {
	if d.silent {
		<-ctx.Done()
	}
	return nil, &Reply{Status: Lost, Delivery: Unsent, Text: "no answer"}
}

func (d *deaf) Reconnect(ctx context.Context, server string) { <-ctx.Done() }

// The time between a kill and a decision is not part of the budget.
func TestTimeBudgetAfterAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := begin(t, "budget: {time: 10s}\nsteps: [{id: a, server: s, tool: write}, {id: b, server: s, tool: read}]", always(says("ok")))
		o.wantStatus("done", 0)
		for n, e := range o.log.entries {
			if e.Kind == KindIntent {
				o.log.entries = o.log.entries[:n+1] // killed during the first call
				break
			}
		}
		time.Sleep(time.Hour)
		if _, err := Decide(t.Context(), o.log, "id", "done"); err != nil {
			t.Fatal(err)
		}
		o.wantStatus("done", 0)
	})
}

// The log names the process that runs the task, even if a different one only started it.
// A clock that was set back between two runs neither spends the budget nor extends it.
func TestClockThatWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		o := begin(t, "budget: {time: 1m}\nsteps: [{id: a, server: s, tool: write}, {id: b, server: s, tool: write}]", func(ctx context.Context, _, _ string) Reply {
			if !down {
				<-ctx.Done()
				return Reply{Status: Lost, Delivery: Unsent}
			}
			return failed("no")
		})
		o.wantStatus("failed", 1)
		for i := range o.log.entries {
			o.log.entries[i].Time = o.log.entries[i].Time.Add(24 * time.Hour)
		}
		down = false
		start := time.Now()
		s := o.wantStatus("budget-spent", 1)
		if took := time.Since(start); took < time.Minute || took > 2*time.Minute {
			t.Errorf("a budget of 1m lasted %v", took)
		}
		s.Stopped.Since = time.Now().Add(time.Hour)
		if text := s.Report("id", time.Now()); !strings.Contains(text, "(0s)") {
			t.Error(text)
		}
	})
}

func TestProcessThatRuns(t *testing.T) {
	o := begin(t, "steps: [{id: a, server: s, tool: read}]", always(says("ok")))
	data, err := read[Started](o.log.entries[0])
	if err != nil {
		t.Fatal(err)
	}
	data.PID++
	o.log.entries[0] = entry(KindStarted, data, time.Now())
	o.log.entries[0].Seq = 1
	if s := o.run(); s.PID != os.Getpid() {
		t.Errorf("the task says that process %d runs it, not %d", s.PID, os.Getpid())
	}
}

// An interrupt waits briefly for the call in progress, a second one does not; both resume.
func TestInterrupt(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration // of the call, after the interrupt
		hurry bool
		after string // status after resuming
		calls int
	}{
		"the call ends in time":     {time.Second, false, "done", 2},
		"the call takes too long":   {time.Minute, false, "needs-decision", 1},
		"the second one is at once": {time.Second, true, "needs-decision", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				hurry := make(chan struct{})
				o := begin(t, "steps:\n  - {id: a, server: s, tool: write}\n  - {id: b, server: s, tool: read}\n", nil)
				o.answer = func(call context.Context, tool, _ string) Reply {
					if tool == "read" {
						return says("ok")
					}
					cancel()
					if test.hurry {
						close(hurry)
					}
					select {
					case <-time.After(test.takes):
						return says("ok")
					case <-call.Done():
						return lost(Unknown)
					}
				}
				o.r.Hurry = hurry
				start := time.Now()
				s, err := o.r.Run(ctx)
				if err != nil || s.Status() != "interrupted" || s.ExitStatus() != 130 {
					t.Fatalf("%s, %v", s.Status(), err)
				}
				if took := time.Since(start); took > 3*time.Second || test.hurry && took > 0 {
					t.Errorf("stopped after %v", took)
				}
				o.r.Hurry = nil
				if s := o.run(); s.Status() != test.after || len(o.calls) != test.calls {
					t.Errorf("resumed: %s after %d calls, want %s after %d", s.Status(), len(o.calls), test.after, test.calls)
				}
			})
		})
	}
}

// What cannot be recorded is not sent.
func TestFullDisk(t *testing.T) {
	o := begin(t, "steps: [{id: a, server: s, tool: write}]", always(says("ok")))
	o.r.Tell = func(_ *State, e Entry) { o.log.full = e.Kind == KindTools }
	_, err := o.r.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "not sent") || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v", err)
	}
	o.wantCalls()
	o.log.full, o.r.Tell = false, nil
	o.wantStatus("done", 0)
	o.wantCalls("write {}")
}

func TestLogsThatCannotBeRead(t *testing.T) {
	started := `{"version":1,"plan":{"name":"x","servers":{},"steps":[]}}`
	for name, test := range map[string]struct {
		entries []Entry
		want    string
	}{
		"empty":           {nil, "never started"},
		"a newer version": {[]Entry{{Seq: 1, Kind: "started", Data: []byte(`{"version":99}`)}}, "newer version"},
		"an unknown kind": {[]Entry{{Seq: 1, Kind: "started", Data: []byte(started)}, {Seq: 2, Kind: "dreamt"}}, "newer version"},
		"a gap":           {[]Entry{{Seq: 1, Kind: "started", Data: []byte(started)}, {Seq: 3, Kind: "resumed"}}, "entries are missing"},
		"no beginning":    {[]Entry{{Seq: 1, Kind: "resumed"}}, "the first entry"},
		"not JSON":        {[]Entry{{Seq: 1, Kind: "started", Data: []byte("{")}}, "cannot be read"},
		"no such call":    {[]Entry{{Seq: 1, Kind: "started", Data: []byte(started)}, {Seq: 2, Kind: "outcome", Data: []byte(`{"call":5}`)}}, "call 5"},
		"decided nothing": {[]Entry{{Seq: 1, Kind: "started", Data: []byte(started)}, {Seq: 2, Kind: "decided", Data: []byte(`{"call":5}`)}}, "call 5"},
	} {
		if _, err := Fold(test.entries); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
	if _, err := Fold([]Entry{{Seq: 1, Kind: "started", Data: []byte(`{"version":2}`)}}); !errors.Is(err, errNewer) {
		t.Error(err)
	}
}

// An earlier version took a login as the licence to repeat a refused call. Its logs replay, but the
// call is not sent.
func TestEarlierVersionsLoginIsNoLicence(t *testing.T) {
	text, err := os.ReadFile("testdata/histories/needs-person.json")
	if err != nil {
		t.Fatal(err)
	}
	var h history
	if err := json.Unmarshal(text, &h); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(h.Entries, func(e Entry) bool { return e.Kind == KindStopped })
	log := &memory{entries: h.Entries[:at+1]}
	f := &fake{answer: always(says("ok"))}
	s, err := (&Runner{ID: "id", Log: log, Servers: f}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Status() != "needs-decision" || len(f.calls) != 0 || !strings.Contains(s.Stopped.Message, needs[needLogin]) {
		t.Errorf("the task is %s after %d calls: %s", s.Status(), len(f.calls), s.Report("id", time.Now()))
	}
	if c := s.Undecided(); c == nil {
		t.Error("there is nothing to decide about")
	}
}
