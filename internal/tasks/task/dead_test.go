package task

import (
	"context"
	"strings"
	"testing"
	"time"
)

// partly is a set of servers of which one is dead.
type partly struct {
	*fake
	dead string
}

func (p *partly) Tools(ctx context.Context, server string) ([]Tool, *Reply) {
	if server == p.dead {
		return nil, &Reply{Status: Lost, Delivery: Unsent, Text: "it exited"}
	}
	return p.fake.Tools(ctx, server)
}

func (p *partly) Situation(server string) Situation {
	s := p.fake.Situation(server)
	if server == p.dead {
		s.Health, s.Answered = "dead", true
	}
	return s
}

// on-error: continue holds for a server that is dead, as for one that answers with an error.
func TestContinueWithoutADeadServer(t *testing.T) {
	const servers = "servers: {s: a/b, down: a/c}\n"
	for name, test := range map[string]struct {
		steps, status string
		exit          int
		calls         []string
	}{
		"the task goes on":            {"{id: a, server: down, tool: write, on-error: continue}, {id: b, server: s, tool: read}", "done", 0, []string{"read {}"}},
		"retries are not made":        {"{id: a, server: down, tool: write, on-error: {retry: 5, then: continue}}, {id: b, server: s, tool: read}", "done", 0, []string{"read {}"}},
		"every item of a loop":        {"{id: a, server: down, tool: write, for: 'x in [1, 2, 3, 4]', on-error: continue}, {id: b, server: s, tool: read, arguments: {x: '${a.json}'}}", "done", 0, []string{`read {"x":[]}`}},
		"the result is missing":       {"{id: a, server: down, tool: read, on-error: continue}, {id: b, server: s, tool: read, arguments: {x: '${a.text}'}}", "failed", 1, nil},
		"by default, the task stops":  {"{id: a, server: down, tool: write}, {id: b, server: s, tool: read}", "server-dead", 3, nil},
		"on-error: retry, it stops":   {"{id: a, server: down, tool: write, on-error: retry}, {id: b, server: s, tool: read}", "server-dead", 3, nil},
		"the next step needs it, too": {"{id: a, server: down, tool: write, on-error: continue}, {id: b, server: down, tool: read}", "server-dead", 3, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := begin(t, servers+"steps: ["+test.steps+"]", always(says("ok")))
			o.r.Servers = &partly{o.fake, "down"}
			s := o.wantStatus(test.status, test.exit)
			o.wantCalls(test.calls...)
			for _, c := range s.Calls {
				if c.Server == "down" && (c.Attempt != 1 || c.Outcome == nil || c.Outcome.Delivery != Unsent || !strings.Contains(c.Outcome.Text, `"down" is not available`)) {
					t.Errorf("%+v %+v", c.Intent, c.Outcome)
				}
			}
		})
	}
}

// A server that dies with each attempt of a call is dead as well.
func TestContinueAfterLosses(t *testing.T) {
	for tool, test := range map[string]struct {
		status string
		calls  int
	}{"read": {"done", maxLosses + 1}, "write": {"needs-decision", 1}} {
		o := begin(t, "steps: [{id: a, server: s, tool: "+tool+", on-error: continue}, {id: b, server: s, tool: set}]", func(_ context.Context, called, _ string) Reply {
			if called == "set" {
				return says("ok")
			}
			return lost(Unknown)
		})
		if s := o.run(); s.Status() != test.status || len(o.calls) != test.calls {
			t.Errorf("%s: the task is %s after %d calls, want %s after %d", tool, s.Status(), len(o.calls), test.status, test.calls)
		}
	}
}

// A task that is killed or interrupted after it gave up on a step does not try that step again.
func TestGivenUpStepIsSettled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := begin(t, "servers: {s: a/b, down: a/c}\nsteps: [{id: a, server: down, tool: write, on-error: continue}, {id: b, server: s, tool: read}]", always(says("ok")))
	o.r.Servers = &partly{o.fake, "down"}
	o.r.Tell = func(_ *State, e Entry) {
		if e.Kind == KindOutcome {
			cancel()
		}
	}
	if s, err := o.r.Run(ctx); err != nil || s.Status() != "interrupted" || s.Remaining()[0] != "b" {
		t.Fatal(s.Report("id", time.Now()), err)
	}
	o.r.Servers, o.r.Tell = o.fake, nil
	o.wantStatus("done", 0)
	o.wantCalls("read {}")
}

// A loop that runs elsewhere gets the step that was given up, and no call to send.
func TestGivenUpApart(t *testing.T) {
	o := begin(t, "servers: {down: a/c}\nsteps: [{id: a, server: down, tool: write, on-error: continue}]", always(says("ok")))
	s := o.state(t, 0)
	r := &Runner{Servers: &partly{o.fake, "down"}, Backoff: time.Nanosecond}
	entries, err := r.Act(t.Context(), s.Excerpt(s.Next(), time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		entries[i].Seq = s.Seq + 1
		if err := s.Apply(entries[i]); err != nil {
			t.Fatal(err)
		}
	}
	if d := s.Next(); d.Do != DoFinish || len(o.calls) != 0 {
		t.Errorf("%+v after %d calls", d, len(o.calls))
	}
}
