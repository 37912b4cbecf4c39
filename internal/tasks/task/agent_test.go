package task

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/llm"
)

// model answers questions from a list, and remembers them. An empty answer is a failure.
type model struct {
	answers []string
	kind    llm.Kind // of failures
	asked   []llm.Question
}

func (m *model) Ask(_ context.Context, q llm.Question) (llm.Answer, error) {
	m.asked = append(m.asked, q)
	text := ""
	if len(m.answers) > 0 {
		text, m.answers = m.answers[0], m.answers[1:]
	}
	if text == "" {
		return llm.Answer{}, &llm.Error{Kind: m.kind}
	}
	return llm.Answer{JSON: json.RawMessage(text), Usage: llm.Usage{InputTokens: 90, OutputTokens: 10, Cost: 0.01}}, nil
}

func call(tool, arguments string) string {
	text, err := json.Marshal(map[string]string{"action": "call", "server": "s", "tool": tool, "arguments": arguments, "reason": "next"})
	if err != nil {
		panic(err)
	}
	return string(text)
}

const (
	modelDone   = `{"action":"done","server":"","tool":"","arguments":"","reason":"It is all there."}`
	modelGiveUp = `{"action":"give_up","server":"","tool":"","arguments":"","reason":"No tool can do this."}`
)

const goal = "goal: do it\nservers: {s: a/b}\n"

func agent(t *testing.T, file string, answer func(context.Context, string, string) Reply, answers ...string) (*one, *model) {
	t.Helper()
	o := begin(t, file, answer)
	m := &model{answers: answers, kind: llm.Overloaded}
	o.r.Model = m
	return o, m
}

func TestAgent(t *testing.T) {
	o, m := agent(t, goal, func(_ context.Context, tool, _ string) Reply {
		if tool == "read" {
			return says("it is 42")
		}
		return failed("no such place")
	}, call("read", `{"a": 1}`), call("write", ``), modelDone)
	s := o.wantStatus("done", 0)
	o.wantCalls(`read {"a":1}`, "write {}")
	if s.Done.Summary != "It is all there." || s.Spent.Tokens != 300 {
		t.Errorf("summary %q, %d tokens", s.Done.Summary, s.Spent.Tokens)
	}
	last := m.asked[len(m.asked)-1]
	for _, want := range []string{"it is 42", "no such place", "do it", `"tool":"set"`} {
		if !strings.Contains(last.Text, want) {
			t.Errorf("the question does not contain %q: %s", want, last.Text)
		}
		if strings.Contains(last.Instructions, want) {
			t.Errorf("%q is among the instructions", want)
		}
	}
}

// A choice that is recorded is not asked for again, and an intent that is recorded is not sent
// again.
func TestAgentResumes(t *testing.T) {
	answers := []string{call("read", `{}`), call("write", `{"x":1}`), modelDone}
	for stop := 2; ; stop++ {
		o, m := agent(t, goal, always(says("ok")), answers...)
		ctx, cancel := context.WithCancel(t.Context())
		o.r.Tell = func(_ *State, e Entry) {
			if e.Seq == stop {
				cancel()
			}
		}
		s, err := o.r.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if s.Done != nil {
			cancel()
			break
		}
		o.r.Tell = nil
		o.wantStatus("done", 0)
		o.wantCalls("read {}", `write {"x":1}`)
		if len(m.asked) != len(answers) {
			t.Errorf("stopped after entry %d: %d questions, want %d", stop, len(m.asked), len(answers))
		}
	}
}

// A model that does not answer stops the task, which continues when the model is back.
func TestDeadModel(t *testing.T) {
	o, m := agent(t, goal, always(says("ok")), call("write", "{}"))
	o.wantStatus("model-unavailable", 1)
	if len(m.asked) != 1+maxQuestions {
		t.Errorf("%d questions, want %d", len(m.asked), 1+maxQuestions)
	}
	m.kind = llm.Unauthorized
	o.wantStatus("model-unavailable", 1)
	if len(m.asked) != 1+maxQuestions+1 {
		t.Errorf("a rejected key was tried again")
	}
	m.answers = []string{modelDone}
	o.wantStatus("done", 0)
	o.wantCalls("write {}")
}

func TestAgentWithoutAModel(t *testing.T) {
	o := begin(t, goal, always(says("ok")))
	if s := o.wantStatus("model-unavailable", 1); !strings.Contains(s.Report("id", time.Now()), "GAUZE_MODEL") {
		t.Error("the report does not say how to configure a model")
	}
}

// Answers that cannot be acted on are asked again with the reason.
func TestUnusableChoices(t *testing.T) {
	o, m := agent(t, goal, always(says("ok")), call("wrte", "{}"), call("write", "[1]"), call("write", `{"x":1}`), modelDone)
	o.wantStatus("done", 0)
	o.wantCalls(`write {"x":1}`)
	if !strings.Contains(m.asked[1].Text, "has no tool") || !strings.Contains(m.asked[2].Text, "must be a JSON object") {
		t.Errorf("the reasons were not given: %s\n%s", m.asked[1].Text, m.asked[2].Text)
	}
}

// An action that does not exist is such an answer, and every answer counts towards the budget.
func TestRejectedChoicesCount(t *testing.T) {
	o, _ := agent(t, goal, always(says("ok")), `{"action":"stop"}`, call("wrte", "{}"), modelDone)
	if s := o.wantStatus("done", 0); s.Spent.Tokens != 300 || len(o.calls) > 0 {
		t.Errorf("%d tokens, want 300; calls: %v", s.Spent.Tokens, o.calls)
	}
	o, m := agent(t, "budget: {tokens: 500}\n"+goal, always(says("ok")), "{}", "{}", "{}")
	if s := o.wantStatus("model-unavailable", 1); s.Spent.Tokens != 300 {
		t.Errorf("%d tokens without a choice, want 300", s.Spent.Tokens)
	}
	m.answers = []string{"{}", "{}", "{}", modelDone}
	o.wantStatus("model-unavailable", 1)
	o.wantStatus("budget-spent", 1)
	o.wantStatus("done", 0)
}

// A model is told before its repetition stops the task, so that it can do something different.
func TestAgentIsWarned(t *testing.T) {
	read := call("read", "{}")
	o, m := agent(t, goal, always(says("pending")), read, read, call("write", "{}"), modelDone)
	o.wantStatus("done", 0)
	for i, q := range m.asked {
		if warned := strings.Contains(q.Text, "stops as stuck"); warned != (i == stuckAfter-1) {
			t.Errorf("question %d: warned is %v", i+1, warned)
		}
	}
}

// A result that is too large is reported to the model, and is not an empty one.
func TestAgentIsToldOfALargeResult(t *testing.T) {
	o, m := agent(t, goal, always(says(strings.Repeat("x", maxResult+1))), call("read", "{}"), modelDone)
	o.wantStatus("done", 0)
	if text := m.asked[1].Text; !strings.Contains(text, "The result is missing: it is 4194305 bytes long") {
		t.Errorf("the question: %s", text)
	}
}

// A choice that was never sent because its tool is gone is not sent after a resume: the model
// chooses again.
func TestAgentResumesAfterItsToolIsGone(t *testing.T) {
	entries := []Entry{
		entry(KindStarted, Started{Version: Version, Plan: Plan{Goal: "do it"}}, time.Now()),
		entry(KindChosen, Chosen{Choice: 1, Action: "call", Server: "s", Tool: "old", Arguments: []byte("{}")}, time.Now()),
		entry(KindStopped, Stopped{Why: ToolChanged}, time.Now()),
		entry(KindResumed, Resumed{}, time.Now()),
	}
	for n := range entries {
		entries[n].Seq = n + 1
	}
	s, err := Fold(entries)
	if err != nil {
		t.Fatal(err)
	}
	if next := s.Next(); next.Do != DoAsk {
		t.Errorf("after the resume: %s, want %s", next.Do, DoAsk)
	}
}

func TestAgentGivesUp(t *testing.T) {
	o, m := agent(t, goal, always(says("ok")), modelGiveUp)
	s := o.wantStatus("failed", 1)
	if !strings.Contains(s.Stopped.Message, "No tool can do this.") {
		t.Error(s.Stopped.Message)
	}
	m.answers = []string{modelGiveUp}
	o.wantStatus("failed", 1)
	m.answers = []string{modelDone}
	o.wantStatus("done", 0)
}

// A model that repeats itself is stopped, whether or not its calls succeed.
func TestAgentIsStuck(t *testing.T) {
	for _, r := range []Reply{says("nothing new"), failed("no")} {
		o, _ := agent(t, goal, always(r), call("read", "{}"), call("read", "{}"), call("read", "{}"), call("read", "{}"))
		o.wantStatus("stuck", 1)
		if len(o.calls) != stuckAfter {
			t.Errorf("%d calls, want %d", len(o.calls), stuckAfter)
		}
	}
}

func TestAgentBudgets(t *testing.T) {
	var answers []string
	for i := range 200 {
		answers = append(answers, call("read", fmt.Sprintf(`{"i":%d}`, i)))
	}
	for budget, calls := range map[string]int{"": defaultAgentSteps, "budget: {steps: 7}\n": 7, "budget: {tokens: 450}\n": 4, "budget: {cost: 0.025}\n": 2} {
		o, _ := agent(t, budget+goal, always(says("ok")), answers...)
		o.wantStatus("budget-spent", 1)
		if d := len(o.calls) - calls; d < 0 || d > 1 {
			t.Errorf("%q: %d calls, want %d", budget, len(o.calls), calls)
		}
	}
}

// Words do not stop an agent that may find a different way, and codes do.
func TestAgentNeedsAPerson(t *testing.T) {
	o, _ := agent(t, goal, always(failed("permission denied")), call("read", `{"a":1}`), call("read", `{"a":2}`), modelDone)
	o.wantStatus("needs-person", 4)
	if len(o.calls) != 2 {
		t.Errorf("%d calls, want 2", len(o.calls))
	}
	o, _ = agent(t, goal, always(Reply{Status: Failed, Cause: "invalid_api_key"}), call("read", "{}"))
	o.wantStatus("needs-person", 4)
}
