package agenttools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/llm"
)

// scripted answers every question with the same text and keeps the questions.
type scripted struct {
	answer    string
	questions []llm.Question
}

func (m *scripted) Ask(_ context.Context, q llm.Question) (llm.Answer, error) {
	m.questions = append(m.questions, q)
	return llm.Answer{JSON: json.RawMessage(m.answer), Model: "scripted"}, nil
}

func TestAFailingServerIsJudged(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{files: map[string]string{
		".claude.json":      `{"mcpServers": {"gone": {"command": "/nowhere/at/all"}}}`,
		"project/.mcp.json": `{"mcpServers": {"theirs": {"command": "/nowhere/else"}}}`,
	}})
	for _, row := range []struct {
		arguments object
		action    string
		next      string
	}{
		{object{"server": "gone"}, "stop_task", ""},
		{object{"server": "gone", "needs": "none"}, "continue", ""},
		{object{"health": "healthy", "deadline_seconds": -5}, "continue", ""},
		{object{"health": "dead", "cause": "rate_limit", "cause_confidence": 0.95, "retry_in_seconds": 3}, "retry_connection", `"reconnects": 1`},
		{object{"health": "dead", "cause": "invalid_api_key", "cause_confidence": 0.95}, "stop_task", "gauze explain invalid_api_key"},
		{object{"health": "dead", "reconnects": 5}, "stop_task", "tell the user"},
	} {
		r := a.call("evaluate_health", row.arguments)
		next, _ := r.data["next"].(string)
		if r.failed || r.data["action"] != row.action || r.data["decided_by"] != "rules" || r.data["reason"] == "" || next == "" && row.action != "continue" || !strings.Contains(next, row.next) {
			t.Errorf("%v: %v %s", row.arguments, r.data, r.text)
		}
	}
	for _, row := range []struct {
		arguments object
		says      string
	}{
		{object{}, "pass either `server` or `health`"},
		{object{"health": "tired"}, "must be healthy"},
		{object{"server": "gone", "health": "dead"}, "cannot be combined"},
		{object{"server": "nothere"}, "list_servers"},
		{object{"server": "theirs"}, "was not tested"},
		{object{"health": "dead", "failures": []object{{"kind": "boredom"}}}, "must be one of"},
		{object{"health": "dead", "reconnects": -1}, "must not be negative"},
	} {
		if r := a.call("evaluate_health", row.arguments); !r.failed || !strings.Contains(r.text, row.says) {
			t.Errorf("%v: %s", row.arguments, r.text)
		}
	}
}

func TestAModelJudgesWithinTheBounds(t *testing.T) {
	t.Parallel()
	m := &scripted{answer: `{"action":"stop_task","reason":"All or nothing.","confidence":0.9}`}
	a := newAgent(t, settings{model: m, environ: []string{"SOME_TOKEN=" + secret}})
	open := object{"health": "dead", "reconnects": 5, "needs": "some", "others_healthy": true, "goal": "all or nothing, with " + secret}
	if r := a.call("evaluate_health", open); r.data["action"] != "stop_task" || r.data["decided_by"] != "model" || r.data["model"] != "scripted" {
		t.Errorf("%v %s", r.data, r.text)
	}
	if len(m.questions) != 1 || strings.Contains(m.questions[0].Text, secret) {
		t.Errorf("%d questions: %+v", len(m.questions), m.questions)
	}
	m.answer = `{"action":"restart","reason":"","confidence":1}`
	if r := a.call("evaluate_health", open); r.data["action"] != "continue" || r.data["decided_by"] != "rules" || !strings.Contains(r.data["rejected"].(string), "unknown action") {
		t.Errorf("%v %s", r.data, r.text)
	}
	if a.call("evaluate_health", object{"health": "healthy"}); len(m.questions) != 2 {
		t.Errorf("%d questions, one of them about a server that works", len(m.questions))
	}
}

// The model is asked about every server that a restart did not bring back, with each failure and what is
// left of the task, and about none before.
func TestAModelIsAskedPastTheFirstRestart(t *testing.T) {
	t.Parallel()
	m := &scripted{answer: `{"action":"stop_task","reason":"It does not come back.","confidence":0.9}`}
	a := newAgent(t, settings{model: m, files: map[string]string{
		".claude.json": `{"mcpServers": {"down": {"type": "http", "url": "http://127.0.0.1:1/mcp"}}}`,
	}})
	exit := object{"kind": "exit", "detail": "exit status 3", "cause": "no such table", "ran_seconds": 2, "ago_seconds": 5}
	task := object{"done": []string{"read the notes"}, "remaining": []object{{"step": "write the summary", "needs_server": true, "required": true}}}
	for name, facts := range map[string]object{
		"URL refused":              {"health": "dead", "transport": "http", "failures": []object{{"kind": "refused"}}},
		"URL refused after a step": {"health": "dead", "failures": []object{{"kind": "refused"}}, "last_success_seconds": 9, "steps_done": 1, "steps_total": 2},
		"503":                      {"health": "dead", "failures": []object{{"kind": "unavailable", "detail": "503"}}, "retry_in_seconds": 2},
		"throttled":                {"health": "dead", "cause": "rate_limit", "cause_confidence": 0.95, "failures": []object{{"kind": "throttled"}}},
		"dead at the first step":   {"health": "dead", "failures": []object{exit}},
		"dead after a step":        {"health": "dead", "failures": []object{exit}, "last_success_seconds": 9, "steps_done": 1, "steps_total": 2},
		"crash loop":               {"health": "dead", "failures": []object{{"kind": "exit", "ago_seconds": 60}, {"kind": "exit", "ago_seconds": 30}, {"kind": "exit"}}},
		"hung":                     {"health": "unresponsive", "failures": []object{{"kind": "timeout"}}},
		"hung after a step":        {"health": "unresponsive", "failures": []object{{"kind": "timeout"}}, "last_success_seconds": 9, "steps_done": 1, "steps_total": 2},
		"a likely cause":           {"health": "dead", "cause": "env_not_set", "cause_confidence": 0.7, "failures": []object{exit}},
		"a configured server":      {"server": "down"},
	} {
		for key, value := range task {
			facts[key] = value
		}
		facts["reconnects"] = 1
		before := len(m.questions)
		r := a.call("evaluate_health", facts)
		if r.data["action"] != "stop_task" || r.data["decided_by"] != "model" || len(m.questions) != before+1 {
			t.Errorf("%s: %d questions, %v %s", name, len(m.questions)-before, r.data, r.text)
			continue
		}
		question := m.questions[before].Text
		if !strings.Contains(question, "write the summary (needs the server; required)") || !strings.Contains(question, "read the notes") || !strings.Contains(question, " ago: ") {
			t.Errorf("%s: %s", name, question)
		}
		if name == "a configured server" {
			continue
		}
		facts["reconnects"] = 0
		if r := a.call("evaluate_health", facts); r.data["action"] != "retry_connection" || r.data["decided_by"] != "rules" || len(m.questions) != before+1 {
			t.Errorf("%s, before the first restart: %v %s", name, r.data, r.text)
		}
	}
	m.answer = `{"action":"continue","reason":"","confidence":1}`
	r := a.call("evaluate_health", object{"health": "dead", "reconnects": 1, "failures": []object{exit}, "needs": "all"})
	if r.data["decided_by"] != "rules" || !strings.Contains(r.data["rejected"].(string), "continue is not allowed here") {
		t.Errorf("%v %s", r.data, r.text)
	}
}

func TestAModelRanksAnUnknownCause(t *testing.T) {
	t.Parallel()
	m := &scripted{answer: `{"causes":[{"cause":"env_not_set","evidence":"GLORP_LEVEL was glum"}],"blanks":[{"name":"variable","value":"GLORP_LEVEL"}]}`}
	log := object{"command": "some-server --serve", "log": "thing 4711 went sideways because GLORP_LEVEL was glum"}
	a := newAgent(t, settings{model: m})
	r := a.call("diagnose", log)
	if r.data["category"] != "unknown" || r.data["ranked_by"] != "scripted" || !strings.Contains(r.text, "possible (ranked by scripted): env_not_set: ") ||
		!strings.Contains(r.text, ` Evidence: "thing 4711 went sideways because GLORP_LEVEL was glum".`) || len(m.questions) != 1 {
		t.Errorf("%v %s", r.data, r.text)
	}
	if a.call("diagnose", object{"command": "npx -y x", "log": "spawn npx ENOENT"}); len(m.questions) != 1 {
		t.Error("asked about a known cause")
	}
	without := newAgent(t, settings{}).call("diagnose", log)
	if _, ranked := without.data["ranked_by"]; ranked || strings.Contains(without.text, "ranked") {
		t.Error(without.text)
	}
}
