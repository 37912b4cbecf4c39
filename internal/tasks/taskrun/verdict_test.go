package taskrun

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/testonly/modeltest"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/llm"
)

// killedExit is how a process that was killed has ended.
var killedExit = map[bool]string{false: "signal: killed", true: "exit status 1"}[runtime.GOOS == "windows"]

const twoSteps = `
goal: Write a word and say it.
steps:
  - {id: first, server: s, tool: append, arguments: {key: one}}
  - {id: second, server: s, tool: echo, arguments: {text: two}}
`

// sick is a server that does not come back.
type sick struct {
	flags []string         // of a process
	kill  bool             // the process is killed after the first step
	url   bool             // it is at a URL, and goes away
	fault faultyhttp.Fault // instead of going away
	steps int              // that succeed before
	wants []string         // in the question
}

var sickServers = map[string]sick{
	"URL refused":               {url: true, wants: []string{`"http"`, "refused", `"never"`}},
	"URL refused after a step":  {url: true, steps: 1, wants: []string{"refused", "first (s/append)"}},
	"URL with 503":              {url: true, fault: faultyhttp.Status503Bare, wants: []string{"unavailable"}},
	"URL with 503 after a step": {url: true, fault: faultyhttp.Status503Bare, steps: 1, wants: []string{"sent 2 times without an answer", "ago: "}},
	"dead at the first step":    {flags: []string{"-exit-at-start=code=3"}, wants: []string{`"stdio"`, "exit status 3"}},
	"dead after a step":         {flags: []string{"-exit-at-start=skip=1,code=3"}, kill: true, steps: 1, wants: []string{"exit status 3", "first (s/append)"}},
	"crash loop":                {flags: []string{"-exit-after-initialize=code=3"}, wants: []string{"exit status 3"}},
	"crash loop after a step":   {flags: []string{"-exit-after-initialize=skip=1,code=3"}, kill: true, steps: 1, wants: []string{"exit status 3"}},
	"hung at the first step":    {flags: []string{"-ignore-initialize"}, wants: []string{"timeout"}},
	"hung after a step":         {flags: []string{"-ignore-initialize=skip=1"}, kill: true, steps: 1, wants: []string{killedExit}}, // the start that hangs may still be in progress
}

// run runs two steps with a sick server, which is waited for as long as wait says.
func (k sick) run(t *testing.T, model llm.Model, wait time.Duration) (*bench, *task.State) {
	t.Helper()
	b := begin(t, twoSteps, k.flags...)
	fail := func(*Servers) {}
	switch {
	case k.kill:
		fail = b.killServer
	case k.url:
		s := faultyhttp.New(faultyhttp.Config{Ledger: b.ledger()})
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		b.plan.Servers["s"] = task.Server{URL: s.URL()}
		fail = func(*Servers) {
			if k.fault == "" {
				s.Stop()
				return
			}
			s.Arm(k.fault, 1_000_000, faultyhttp.Match{Method: "*"})
		}
	}
	return b, b.runIn(patience.Context(t), func(r *task.Runner, servers *Servers) {
		r.Model, servers.Wrap.Timing.Patience, servers.Wrap.StartTimeout = model, wait, wait
		if k.steps == 0 {
			fail(servers)
		}
		r.Tell = func(s *task.State, e task.Entry) {
			if e.Kind == task.KindOutcome && k.steps > 0 && len(s.Calls) == k.steps {
				fail(servers)
			}
		}
	})
}

// In each of ten tasks whose server does not come back, the model is asked, with the failures and what
// the task has done, and its verdict ends the task.
func TestTheModelIsAskedAboutEveryServerThatDoesNotComeBack(t *testing.T) {
	for name, k := range sickServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := modeltest.OpenAI(t, modeltest.Says(`{"action":"stop_task","reason":"It does not come back.","confidence":0.9}`))
			model, err := llm.OpenAI(llm.Options{URL: server.URL, Model: "scripted"})
			if err != nil {
				t.Fatal(err)
			}
			wait := time.Second
			b, s := k.run(t, model, wait)
			asked := server.Requests()
			for len(s.Calls) < k.steps && wait < patience.Limit() { // a busy machine takes longer to start the server
				wait *= 2
				before := len(server.Requests())
				b, s = k.run(t, model, wait)
				asked = server.Requests()[before:]
			}
			b.want(s, "server-dead", 3)
			if len(asked) == 0 {
				t.Fatalf("the model was not asked: %+v", s.Judged)
			}
			question := asked[0].Text
			for _, want := range append(k.wants, "Write a word and say it.", fmt.Sprintf("%d of 2 steps are done", k.steps), "second (s/echo)") {
				if !strings.Contains(question, want) {
					t.Errorf("the question does not say %q: %s", want, question)
				}
			}
			if last := s.Judged[len(s.Judged)-1]; last.By != verdict.ByModel || last.Reason != "It does not come back." {
				t.Errorf("%+v", s.Judged)
			}
			b.wantOnce([]string{"one"}[:k.steps]...)
		})
	}
}

// A server that cannot exist is not a question.
func TestTheModelIsNotAskedAboutAServerThatIsGone(t *testing.T) {
	server := modeltest.OpenAI(t, modeltest.Says(`{"action":"retry_connection","reason":"Try again.","confidence":1}`))
	model, err := llm.OpenAI(llm.Options{URL: server.URL, Model: "scripted"})
	if err != nil {
		t.Fatal(err)
	}
	b := begin(t, twoSteps)
	b.plan.Servers["s"] = task.Server{Command: []string{"gauze-test-no-such-command"}}
	s := b.run(func(r *task.Runner, _ *Servers) { r.Model = model })
	b.want(s, "server-dead", 3)
	if asked := server.Requests(); len(asked) > 0 {
		t.Error(asked[0].Text)
	}
}

// What a server did before its session was replaced counts: one that answered a moment ago has answered.
func TestAReplacedSessionRemembersThatTheServerAnswered(t *testing.T) {
	t.Parallel()
	b := begin(t, twoSteps)
	servers := &Servers{Plan: b.plan.Servers, Wrap: quick()}
	defer servers.Close(nil)
	if _, lost := servers.Tools(t.Context(), "s"); lost != nil {
		t.Fatal(lost)
	}
	one, err := servers.server("s")
	if err != nil {
		t.Fatal(err)
	}
	one.replace()
	if now := one.situation(); !now.Answered {
		t.Errorf("%+v", now)
	}
}
