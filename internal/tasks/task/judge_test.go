package task

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
	"github.com/gauze-mcp/gauze/llm"
)

// failing is a set of servers of which one fails as now says, from a number of calls on.
type failing struct {
	*fake
	server string
	after  int // calls that succeed
	now    verdict.Situation
}

func (f *failing) Tools(ctx context.Context, server string) ([]Tool, *Reply) {
	if f.down(server) {
		return nil, &Reply{Status: Lost, Delivery: Unsent, Text: "it is down"}
	}
	return f.fake.Tools(ctx, server)
}

func (f *failing) Situation(server string) Situation {
	s := f.fake.Situation(server)
	if f.down(server) {
		s.Situation = f.now
		s.Server, s.Health = server, cmp.Or(f.now.Health, "dead")
	}
	return s
}

func (f *failing) down(server string) bool { return server == f.server && len(f.calls) >= f.after }

// judgment is a model's answer about a server.
func judgment(action string) string {
	return fmt.Sprintf(`{"action":%q,"reason":"The reader knows why.","confidence":0.9}`, action)
}

const threeSteps = "goal: Copy the notes.\nservers: {s: a/b}\nsteps: [{id: a, server: s, tool: read}, {id: b, server: s, tool: write}, {id: c, server: s, tool: set}]"

// Whatever is wrong with the server of a task, the model is asked once a restart did not help, with
// every failure, the attempts, what is done and what is left; and its verdict counts.
func TestTheModelDecidesAboutAFailingServer(t *testing.T) {
	exit := func(ago time.Duration) verdict.Failure {
		return verdict.Failure{Kind: health.Exited, Detail: "exit status 3", Cause: "no such table: notes", Ran: 2 * time.Second, Ago: ago}
	}
	timeout := verdict.Failure{Kind: health.TimedOut, Detail: "it did not respond in time", Ago: time.Second}
	for name, test := range map[string]struct {
		after int
		now   verdict.Situation
		says  []string
	}{
		"URL refused":              {0, verdict.Situation{Failures: []verdict.Failure{{Kind: health.Refused, Ago: 9 * time.Second}, {Kind: health.Refused, Ago: time.Second}}}, []string{"9s ago: refused", "1s ago: refused", `"never"`}},
		"URL refused after a step": {1, verdict.Situation{Answered: true, Failures: []verdict.Failure{{Kind: health.Refused}}}, []string{"0s ago: refused"}},
		"dead at the first step":   {0, verdict.Situation{Failures: []verdict.Failure{exit(5 * time.Second), exit(time.Second)}}, []string{"5s ago: exit (exit status 3) after it ran for 2s: no such table: notes"}},
		"dead after a step":        {1, verdict.Situation{Answered: true, SinceSuccess: 8 * time.Second, Failures: []verdict.Failure{exit(time.Second)}}, []string{"8s ago", "no such table"}},
		"hung at the first step":   {0, verdict.Situation{Health: "unresponsive", Failures: []verdict.Failure{timeout}}, []string{"unresponsive", "1s ago: timeout"}},
		"hung after two steps":     {2, verdict.Situation{Health: "unresponsive", Answered: true, Failures: []verdict.Failure{timeout, timeout}}, []string{"unresponsive"}},
		"crash loop":               {1, verdict.Situation{Answered: true, SinceSuccess: time.Hour, Failures: []verdict.Failure{exit(time.Minute), exit(30 * time.Second), exit(time.Second)}}, []string{"1m ago: exit", "30s ago: exit", "1s ago: exit"}},
		"cannot be started":        {0, verdict.Situation{Failures: []verdict.Failure{{Kind: health.NotStarted, Detail: "text file busy"}}}, []string{"text file busy"}},
		"503":                      {1, verdict.Situation{Answered: true, RetryIn: 3 * time.Second, Failures: []verdict.Failure{{Kind: health.Unavailable, Detail: "503: deploying"}}}, []string{"503: deploying", "in 3s"}},
		"a likely cause":           {0, verdict.Situation{Cause: verdict.Cause{Code: "env_not_set", Explanation: "NOTES is not set.", Permanent: true, Confidence: 0.7}}, []string{"env_not_set", "NOTES is not set."}},
	} {
		t.Run(name, func(t *testing.T) {
			o := begin(t, threeSteps, always(says("ok")))
			m := &model{answers: []string{judgment("stop_task")}}
			o.r.Servers, o.r.Model = &failing{o.fake, "s", test.after, test.now}, m
			s := o.wantStatus("server-dead", 3)
			if len(m.asked) != 1 || o.reconnects != 1 {
				t.Fatalf("%d questions after %d restarts, want one after the first", len(m.asked), o.reconnects)
			}
			done := []string{"a (s/read)", "b (s/write)", "c (s/set)"}
			want := append(test.says, "Copy the notes.", "1 of 5 failed", fmt.Sprintf("%d of 3 steps are done", test.after), done[test.after]+" (needs the server; required)")
			for _, text := range append(want, done...) {
				if !strings.Contains(m.asked[0].Text, text) {
					t.Errorf("the question does not say %q: %s", text, m.asked[0].Text)
				}
			}
			if s.Stopped.Message != `The server "s" is not available. The model decided: The reader knows why.` {
				t.Error(s.Stopped.Message)
			}
			last := s.Judged[len(s.Judged)-1]
			if last.By != verdict.ByModel || last.Action != "stop_task" || s.Spent.Tokens != 100 {
				t.Errorf("%+v, %d tokens", last, s.Spent.Tokens)
			}
		})
	}
}

// A model that always wants to try again is asked before each attempt, and does not get more of them
// than the limit.
func TestTheLimitOfAttemptsHoldsForAModel(t *testing.T) {
	o := begin(t, threeSteps, always(says("ok")))
	m := &model{answers: []string{judgment("retry_connection"), judgment("retry_connection"), judgment("retry_connection"), judgment("retry_connection"), judgment("retry_connection")}}
	o.r.Servers, o.r.Model = &failing{o.fake, "s", 0, verdict.Situation{}}, m
	s := o.wantStatus("server-dead", 3)
	if len(m.asked) != 4 || o.reconnects != defaultReconnects || s.Spent.Tokens != 400 {
		t.Errorf("%d questions, %d attempts, %d tokens", len(m.asked), o.reconnects, s.Spent.Tokens)
	}
	if last := s.Judged[len(s.Judged)-1]; last.By != verdict.ByRules || !strings.Contains(s.Stopped.Message, "all attempts to reconnect failed") {
		t.Errorf("%+v: %s", last, s.Stopped.Message)
	}
}

// A server that comes back, and loses the same call each time, is a question as well. Without an answer,
// the call is sent as often as without a model.
func TestAModelIsAskedAboutACallThatIsLostAgain(t *testing.T) {
	for _, test := range []struct {
		answers          []string
		calls, questions int
		status           string
	}{
		{[]string{judgment("stop_task")}, 2, 1, "server-dead"},
		{[]string{judgment("retry_connection"), judgment("stop_task")}, 3, 2, "server-dead"},
		{nil, maxLosses, 1, "server-dead"},
	} {
		o := begin(t, threeSteps, always(lost(Unknown)))
		m := &model{answers: test.answers}
		o.r.Model = m
		o.wantStatus(test.status, 3)
		if len(o.calls) != test.calls || len(m.asked) != test.questions || !strings.Contains(m.asked[0].Text, "sent 2 times without an answer") {
			t.Errorf("%d calls, %d questions, want %+v", len(o.calls), len(m.asked), test)
		}
	}
}

// Only a step that may fail is left out, and at once.
func TestAModelLeavesOutAStep(t *testing.T) {
	const servers = "goal: Search.\nservers: {s: a/b, down: a/c}\n"
	o := begin(t, servers+"steps: [{id: a, server: down, tool: read, on-error: continue}, {id: b, server: s, tool: read}]", always(says("ok")))
	m := &model{answers: []string{judgment("continue")}}
	o.r.Servers, o.r.Model = &failing{o.fake, "down", 0, verdict.Situation{}}, m
	s := o.wantStatus("done", 0)
	o.wantCalls("read {}")
	if len(m.asked) != 1 || o.reconnects != 1 || !strings.Contains(s.Calls[0].Outcome.Text, "The reader knows why") {
		t.Errorf("%d questions, %d attempts: %+v", len(m.asked), o.reconnects, s.Calls[0].Outcome)
	}

	o = begin(t, servers+"steps: [{id: a, server: down, tool: read}, {id: b, server: s, tool: read}]", always(says("ok")))
	m = &model{answers: []string{judgment("continue"), judgment("stop_task")}}
	o.r.Servers, o.r.Model = &failing{o.fake, "down", 0, verdict.Situation{}}, m
	s = o.wantStatus("server-dead", 3)
	o.wantCalls()
	if len(s.Judged) != 3 || s.Judged[1].By != verdict.ByRules || !strings.Contains(s.Judged[1].Rejected, "continue is not allowed here") || s.Judged[2].By != verdict.ByModel {
		t.Errorf("%+v", s.Judged)
	}
}

// A task whose calls a model chooses goes on without a server that it can do without: the server is not
// offered, and a call of it fails.
func TestAnAgentGoesOnWithoutAServer(t *testing.T) {
	const file = "goal: find out\nservers: {down: a/c, s: a/b}\n"
	elsewhere := strings.Replace(call("set", "{}"), `"server":"s"`, `"server":"down"`, 1)
	for name, test := range map[string]struct {
		after   int
		answers []string
		calls   []string
		asked   int
	}{
		"from the start": {0, []string{judgment("continue"), call("read", "{}"), modelDone}, []string{"read {}"}, 3},
		"later":          {1, []string{call("read", "{}"), judgment("continue"), call("write", "{}"), modelDone}, []string{"read {}", "write {}"}, 4},
		"before a call":  {2, []string{elsewhere, call("read", "{}"), elsewhere, judgment("continue"), modelDone}, []string{"set {}", "read {}"}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			o, m := agent(t, file, always(says("ok")), test.answers...)
			servers := &failing{o.fake, "down", test.after, verdict.Situation{}}
			o.r.Servers = servers
			o.wantStatus("done", 0)
			o.wantCalls(test.calls...)
			if len(m.asked) != test.asked {
				t.Errorf("%d questions, want %d", len(m.asked), test.asked)
			}
			last := m.asked[len(m.asked)-1].Text
			if !strings.Contains(last, `"unavailable_servers":["down"]`) || strings.Contains(last, `"server":"down","tool":"set","`) {
				t.Error(last)
			}
		})
	}
}

// A server that responds and loses calls is left out once, and is no question before each of the next calls.
func TestAnAgentDecidesOnceAboutAServerThatLosesCalls(t *testing.T) {
	loses := strings.Replace(call("read", "{}"), `"server":"s"`, `"server":"bad"`, 1)
	o, m := agent(t, "goal: find out\nservers: {bad: a/c, s: a/b}\n", func(_ context.Context, tool, _ string) Reply {
		if tool == "read" {
			return Reply{Status: Lost, Delivery: Unknown}
		}
		return says("ok")
	}, loses, judgment("continue"), call("write", "{}"), call("set", "{}"), modelDone)
	s := o.wantStatus("done", 0)
	o.wantCalls("read {}", "read {}", "write {}", "set {}")
	if last := m.asked[len(m.asked)-1].Text; len(m.asked) != 5 || !strings.Contains(last, `"unavailable_servers":["bad"]`) {
		t.Errorf("%d questions: %+v", len(m.asked), s.Judged)
	}
}

// An agent with one server has nothing to go on with.
func TestAnAgentDoesNotGoOnWithoutItsOnlyServer(t *testing.T) {
	o, m := agent(t, goal, always(says("ok")), judgment("continue"), judgment("stop_task"))
	o.r.Servers = &failing{o.fake, "s", 0, verdict.Situation{}}
	s := o.wantStatus("server-dead", 3)
	if len(m.asked) != 2 || !strings.Contains(s.Judged[1].Rejected, "continue is not allowed here") {
		t.Errorf("%d questions: %+v", len(m.asked), s.Judged)
	}
}

// A model that does not answer costs one question, and the task ends as without a model.
func TestASilentModelEqualsTheRules(t *testing.T) {
	for _, silent := range []bool{false, true} {
		o := begin(t, threeSteps, always(says("ok")))
		m := &model{kind: llm.TimedOut}
		o.r.Servers = &failing{o.fake, "s", 1, verdict.Situation{Answered: true}}
		if silent {
			o.r.Model = m
		}
		s := o.wantStatus("server-dead", 3)
		o.wantCalls("read {}")
		if o.reconnects != defaultReconnects || s.Stopped.Message != `The server "s" is not available: all attempts to reconnect failed.` || silent != (len(m.asked) == 1) {
			t.Errorf("%d attempts, %d questions: %s", o.reconnects, len(m.asked), s.Stopped.Message)
		}
		for _, j := range s.Judged {
			if j.By != verdict.ByRules {
				t.Errorf("%+v", j)
			}
		}
	}
}

// What a plan keeps secret does not reach the model.
func TestTheQuestionAboutAServerHasNoSecrets(t *testing.T) {
	o := begin(t, "goal: Use hunter2horse99.\nservers: {s: {command: [x], env: {API_TOKEN: hunter2horse99}}}\nsteps: [{id: a, server: s, tool: read}]", always(says("ok")))
	m := &model{answers: []string{judgment("stop_task")}}
	o.r.Servers, o.r.Model = &failing{o.fake, "s", 0, verdict.Situation{Failures: []verdict.Failure{{Kind: health.Exited, Cause: "bad token hunter2horse99"}}}}, m
	o.wantStatus("server-dead", 3)
	if len(m.asked) != 1 || strings.Contains(m.asked[0].Text, "hunter2horse99") {
		t.Errorf("%+v", m.asked)
	}
}
