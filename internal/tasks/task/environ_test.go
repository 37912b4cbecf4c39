package task

import (
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
)

func TestExpandEnv(t *testing.T) {
	lookup := func(name string) (string, bool) { return "<" + name + ">", name != "NONE" }
	for value, want := range map[string]string{
		"plain": "plain", "": "", "$5": "$5", "$HOME": "$HOME", "a}b": "a}b",
		"${A}": "<A>", "${env:A}": "<A>", "x${A}y${_b2}": "x<A>y<_b2>", "$${A}": "${A}", "$$${A}": "$${A}",
		"${NONE}": "error: the environment variable NONE is not set",
		"${":      "error: malformed reference", "${A": "error: malformed reference", "${A B}": "error: malformed reference", "${A:-b}": "error: malformed reference", "${}": "error: malformed reference",
	} {
		got, err := ExpandEnv(value, lookup)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want && !(strings.HasPrefix(want, "error: ") && strings.HasPrefix(got, want)) {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

// Values that the plan gives to its servers are not shown, whatever they look like, wherever they
// appear, and however they were given.
func TestSecretsOfAPlanAreNotShown(t *testing.T) {
	t.Setenv("TASK_TEST_SECRET", "battery staple")
	o := begin(t, `
servers: {s: {command: [notes-server, --password, swordfish-42], env: {DB_PASS: hunter2horse, API_KEY: "${TASK_TEST_SECRET}", MODE: quick-and-dirty}}}
steps: [{id: a, server: s, tool: read, arguments: {x: hunter2horse}}]`,
		always(failed("hunter2\x1b[1mhorse, hunter2horse, swordfish-42 and battery staple in quick-and-dirty")))
	s := o.wantStatus("failed", 1)
	text := s.Report("id", time.Now()) + s.StoppedShown().Diagnosis
	for _, e := range o.log.entries {
		text += s.Describe(e) + "\n" + string(redact.JSON(e.Data, s.Hide)) + "\n"
		if strings.Contains(string(e.Data), "battery staple") && e.Kind == KindStarted {
			t.Errorf("the log has the value of a reference: %s", e.Data)
		}
	}
	for _, canary := range []string{"hunter2horse", "swordfish-42", "battery staple"} {
		if strings.Contains(text, canary) {
			t.Errorf("%q is shown:\n%s", canary, text)
		}
	}
	if !strings.Contains(text, "quick-and-dirty") {
		t.Errorf("too much is hidden:\n%s", text)
	}
}
