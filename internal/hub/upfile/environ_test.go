package upfile

import (
	"fmt"
	"strings"
	"testing"
)

// Which servers a file has, their keys, and what the user confirms depend on what is written, not on the variables of
// whoever reads it.
func TestTheEnvironmentChangesNoNames(t *testing.T) {
	read := func(environ ...string) string {
		p := newPerson(t, environ...)
		p.write("project/.git/HEAD", "")
		p.write(".cursor/mcp.json", `{"mcpServers": {
			"notes": {"command": "notes", "env": {"K": "${env:A}"}}, "time": {"command": "time", "env": {"ZONE": "${env:ZONE}"}},
			"any": {"command": "${env:B}"}, "runs": {"command": "${env:C}", "args": ["connect"]}}}`)
		p.write(".claude.json", `{"mcpServers": {
			"notes": {"command": "notes", "env": {"K": "1"}}, "time": {"command": "time", "env": {"ZONE": "${ZONE}"}},
			"any": {"command": "any"}, "near": {"command": "near", "args": ["${A:-1}"]}}}`)
		p.write(".gemini/settings.json", `{"mcpServers": {"near": {"command": "near", "args": ["$A"]}}}`)
		p.write("project/up.yaml", "include: [cursor, claude-code, gemini-cli]\nservers:\n  own: {command: [own], env: {K: \"${A}\"}}\n")
		var all []string
		for _, s := range p.mustRead("project/up.yaml").Servers {
			all = append(all, fmt.Sprint(s.Key, " ", s.Source, " ", s.Pending != "" && s.Key != "runs"))
		}
		for _, skip := range p.mustRead("project/up.yaml").Skipped {
			all = append(all, skip.Source+": "+skip.Why)
		}
		return p.shown(strings.Join(all, "\n"))
	}
	want := read()
	for _, line := range []string{"notes-claude-code claude-code/notes", "any-claude-code claude-code/any", "near-gemini-cli gemini-cli/near", "claude-code/time: the same server as cursor/time"} {
		if !strings.Contains(want, line) {
			t.Errorf("%s is not in\n%s", line, want)
		}
	}
	for _, environ := range [][]string{{"A=1"}, {"A=2", "B=any", "C=gauze"}, {"A=", "B=", "ZONE=1"}} {
		if got := read(environ...); got != want {
			t.Errorf("with %v\n%s\nwithout\n%s", environ, got, want)
		}
	}
}

// An entry that would run gauze connect because of a variable is not started, or gauze up would start itself.
func TestAVariableDoesNotStartGauzeUpAgain(t *testing.T) {
	p := newPerson(t, "C=gauze")
	p.write(".cursor/mcp.json", `{"mcpServers": {"runs": {"command": "${env:C}", "args": ["connect"]}}}`)
	p.write("up.yaml", "include: [cursor]\n")
	s := p.mustRead("up.yaml").Server("runs")
	if !strings.Contains(s.Pending, "cursor/runs: it runs gauze connect") || s.Spec.Command != "" {
		t.Errorf("%q, %+v", s.Pending, s.Spec)
	}
	if _, err := s.At(p.dir, []string{"C=/bin/gauze"}); err == nil || err.Error() != "runs cannot be started: it runs gauze connect" {
		t.Error(err)
	}
	if spec, err := s.At(p.dir, []string{"C=other"}); err != nil || spec.Command != "other" {
		t.Error(spec, err)
	}
}
