//go:build linux && !race

package realtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/realparts"
)

// defect is an entry that a client stumbles over. PROGRAM and URL in it lead to a witness.
type defect struct {
	code   clientconfig.Code
	entry  string
	before string // its state in the eyes of the client
	want   seen   // what reaches the server once it is mended; zero: usualSeen, or just a request
}

var usualSeen = seen{args: []string{"one"}, env: map[string]string{"LEVEL": "1"}}

var teamSeen = seen{headers: map[string]string{"X-Team": "blue"}}

// defects are those that a client's own words can show.
var defects = map[realparts.Client][]defect{
	realparts.ClaudeCode: {
		{"field-name", `{"cmd": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}}`, refused, seen{}},
		{"field-name", `{"command": "PROGRAM", "args": ["one"], "environment": {"LEVEL": "1"}}`, otherwise, seen{}},
		{"url-without-type", `{"url": "URL", "headers": {"X-Team": "blue"}}`, refused, teamSeen},
		{"type-spelling", `{"type": "streamable-http", "url": "URL", "headers": {"X-Team": "blue"}}`, refused, teamSeen},
		{"type-spelling", `{"type": "local", "command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}}`, refused, seen{}},
		{"type-contradicts", `{"type": "http", "command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}}`, refused, seen{}},
		{"type-contradicts", `{"type": "stdio", "url": "URL", "headers": {"X-Team": "blue"}}`, refused, teamSeen},
		{"command-line-in-command", `{"command": "PROGRAM one", "env": {"LEVEL": "1"}}`, dead, seen{}},
		{"command-is-a-list", `{"command": ["PROGRAM", "one"], "env": {"LEVEL": "1"}}`, refused, seen{}},
		{"args-not-a-list", `{"command": "PROGRAM", "args": "one", "env": {"LEVEL": "1"}}`, refused, seen{}},
		{"arg-not-text", `{"command": "PROGRAM", "args": [8080], "env": {"LEVEL": "1"}}`, refused, seen{args: []string{"8080"}}},
		{"env-value-not-text", `{"command": "PROGRAM", "args": ["one"], "env": {"LEVEL": 1}}`, refused, seen{}},
		{"env-not-a-map", `{"command": "PROGRAM", "args": ["one"], "env": ["LEVEL=1"]}`, refused, seen{}},
		{"header-value-not-text", `{"type": "http", "url": "URL", "headers": {"X-Team": 7}}`, refused, seen{headers: map[string]string{"X-Team": "7"}}},
		{"foreign-reference", `{"command": "PROGRAM", "args": ["one"], "env": {"KEY": "${env:ACME_TOKEN}"}}`, otherwise, seen{args: []string{"one"}, env: map[string]string{"KEY": secretToken}}},
		{"foreign-reference", `{"command": "PROGRAM", "args": ["$ACME_TOKEN"]}`, otherwise, seen{args: []string{secretToken}}},
		{"tilde", `{"command": "~/bin/NAME", "args": ["one"], "env": {"LEVEL": "1"}}`, dead, seen{}},
		{"timeout-not-a-number", `{"command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}, "timeout": "60000"}`, refused, seen{}},
		{"timeout-negative", `{"command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}, "timeout": -1}`, refused, seen{}},
	},
	realparts.Codex: {
		{"field-name", "cmd = \"PROGRAM\"\nargs = [\"one\"]\nenv = {LEVEL = \"1\"}", refused, seen{}},
		{"field-name", "url = \"URL\"\nheaders = {X-Team = \"blue\"}", otherwise, teamSeen},
		{"field-name", "command = \"PROGRAM\"\nargs = [\"one\"]\nenvironment = {LEVEL = \"1\"}", otherwise, seen{}},
		{"command-line-in-command", "command = \"PROGRAM one\"\nenv = {LEVEL = \"1\"}", dead, seen{}},
		{"command-is-a-list", "command = [\"PROGRAM\", \"one\"]\nenv = {LEVEL = \"1\"}", refused, seen{}},
		{"args-not-a-list", "command = \"PROGRAM\"\nargs = \"one\"\nenv = {LEVEL = \"1\"}", refused, seen{}},
		{"arg-not-text", "command = \"PROGRAM\"\nargs = [8080]", refused, seen{args: []string{"8080"}}},
		{"env-value-not-text", "command = \"PROGRAM\"\nargs = [\"one\"]\nenv = {LEVEL = 1}", refused, seen{}},
		{"env-not-a-map", "command = \"PROGRAM\"\nargs = [\"one\"]\nenv = [\"LEVEL=1\"]", refused, seen{}},
		{"header-value-not-text", "url = \"URL\"\nhttp_headers = {X-Team = 7}", refused, seen{headers: map[string]string{"X-Team": "7"}}},
		{"timeout-negative", "command = \"PROGRAM\"\nargs = [\"one\"]\nenv = {LEVEL = \"1\"}\ntool_timeout_sec = -5", refused, seen{}},
		{"timeout-not-a-number", "command = \"PROGRAM\"\nargs = [\"one\"]\nenv = {LEVEL = \"1\"}\ntool_timeout_sec = \"60\"", refused, seen{}},
		{"secret-not-inherited", "command = \"PROGRAM\"\nargs = [\"acme\"]", otherwise, seen{args: []string{"acme"}, env: map[string]string{tokenName: secretToken}}},
		{"foreign-reference", "command = \"PROGRAM\"\nargs = [\"one\"]\nenv = {ACME_TOKEN = \"${ACME_TOKEN}\"}", otherwise, seen{args: []string{"one"}, env: map[string]string{tokenName: secretToken}}},
		{"unknown-field", "command = \"PROGRAM\"\nargs = [\"one\"]\nenvv = {LEVEL = \"1\"}", otherwise, seen{}},
		{"tilde", "command = \"~/bin/NAME\"\nargs = [\"one\"]\nenv = {LEVEL = \"1\"}", dead, seen{}},
	},
	realparts.GeminiCLI: {
		{"field-name", `{"cmd": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}}`, refused, seen{}},
		{"type-spelling", `{"type": "streamable-http", "url": "URL", "headers": {"X-Team": "blue"}}`, refused, teamSeen},
		{"command-line-in-command", `{"command": "PROGRAM one", "env": {"LEVEL": "1"}}`, dead, seen{}},
		{"command-is-a-list", `{"command": ["PROGRAM", "one"], "env": {"LEVEL": "1"}}`, refused, seen{}},
		{"args-not-a-list", `{"command": "PROGRAM", "args": "one", "env": {"LEVEL": "1"}}`, refused, seen{}},
		{"env-value-not-text", `{"command": "PROGRAM", "args": ["one"], "env": {"LEVEL": 1}}`, refused, seen{}},
		{"env-not-a-map", `{"command": "PROGRAM", "args": ["one"], "env": ["LEVEL=1"]}`, refused, seen{}},
		{"timeout-not-a-number", `{"command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}, "timeout": "60000"}`, refused, seen{}},
		{"foreign-reference", `{"command": "PROGRAM", "args": ["one"], "env": {"KEY": "${env:ACME_TOKEN}"}}`, otherwise, seen{args: []string{"one"}, env: map[string]string{"KEY": secretToken}}},
		{"secret-not-inherited", `{"command": "PROGRAM", "args": ["acme"]}`, otherwise, seen{args: []string{"acme"}, env: map[string]string{tokenName: secretToken}}},
		{"old-field", `{"httpUrl": "URL", "headers": {"X-Team": "blue"}}`, works, teamSeen},
	},
	realparts.Opencode: {
		{"command-not-a-list", `{"type": "local", "command": "PROGRAM", "args": ["one"], "environment": {"LEVEL": "1"}}`, refused, seen{}},
		{"field-name", `{"type": "local", "command": ["PROGRAM", "one"], "env": {"LEVEL": "1"}}`, otherwise, seen{}},
		{"type-missing", `{"command": ["PROGRAM", "one"], "environment": {"LEVEL": "1"}}`, refused, seen{}},
		{"url-without-type", `{"url": "URL", "headers": {"X-Team": "blue"}}`, refused, teamSeen},
		{"type-spelling", `{"type": "stdio", "command": ["PROGRAM", "one"], "environment": {"LEVEL": "1"}}`, refused, seen{}},
		{"type-spelling", `{"type": "http", "url": "URL", "headers": {"X-Team": "blue"}}`, refused, teamSeen},
		{"env-value-not-text", `{"type": "local", "command": ["PROGRAM", "one"], "environment": {"LEVEL": 1}}`, refused, seen{}},
		{"arg-not-text", `{"type": "local", "command": ["PROGRAM", 8080]}`, refused, seen{args: []string{"8080"}}},
		{"foreign-reference", `{"type": "local", "command": ["PROGRAM", "one"], "environment": {"KEY": "${ACME_TOKEN}"}}`, otherwise, seen{args: []string{"one"}, env: map[string]string{"KEY": secretToken}}},
		{"timeout-not-a-number", `{"type": "local", "command": ["PROGRAM", "one"], "environment": {"LEVEL": "1"}, "timeout": "60000"}`, refused, seen{}},
		{"timeout-negative", `{"type": "local", "command": ["PROGRAM", "one"], "environment": {"LEVEL": "1"}, "timeout": -5}`, refused, seen{}},
	},
	realparts.CopilotCLI: {
		{"field-name", `{"cmd": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}, "tools": ["*"]}`, refused, seen{}},
		{"type-contradicts", `{"type": "http", "command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}, "tools": ["*"]}`, refused, seen{}},
		{"command-line-in-command", `{"command": "PROGRAM one", "env": {"LEVEL": "1"}, "tools": ["*"]}`, dead, seen{}},
		{"command-is-a-list", `{"command": ["PROGRAM", "one"], "env": {"LEVEL": "1"}, "tools": ["*"]}`, refused, seen{}},
		{"args-not-a-list", `{"command": "PROGRAM", "args": "one", "env": {"LEVEL": "1"}, "tools": ["*"]}`, refused, seen{}},
		{"env-value-not-text", `{"command": "PROGRAM", "args": ["one"], "env": {"LEVEL": 1}, "tools": ["*"]}`, refused, seen{}},
		{"env-not-a-map", `{"command": "PROGRAM", "args": ["one"], "env": ["LEVEL=1"], "tools": ["*"]}`, refused, seen{}},
		{"foreign-reference", `{"command": "PROGRAM", "args": ["one"], "env": {"KEY": "${env:ACME_TOKEN}"}, "tools": ["*"]}`, otherwise, seen{args: []string{"one"}, env: map[string]string{"KEY": secretToken}}},
		{"tools-missing", `{"type": "local", "command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}}`, works, seen{}},
		{"secret-not-inherited", `{"command": "PROGRAM", "args": ["acme"], "tools": ["*"]}`, otherwise, seen{args: []string{"acme"}, env: map[string]string{tokenName: secretToken}}},
		{"timeout-not-a-number", `{"command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}, "timeout": "60000", "tools": ["*"]}`, refused, seen{}},
	},
}

// together are clients that leave a bad entry out and read the others.
var together = []realparts.Client{realparts.ClaudeCode}

func (d defect) wanted() seen {
	if d.want.args == nil && d.want.env == nil && d.want.headers == nil {
		return usualSeen
	}
	return d.want
}

// settle writes a file with the given defects, each under a name of its own.
func (h *house) settle(all []defect) (names []string) {
	var entries []string
	for i, d := range all {
		name := fmt.Sprintf("s%d", i)
		entry := strings.NewReplacer("PROGRAM", h.witness(name), "URL", h.web.at(name), "NAME", name).Replace(d.entry)
		if h.client == realparts.Codex {
			entries = append(entries, "[mcp_servers."+name+"]\n"+entry+"\n")
		} else {
			entries = append(entries, fmt.Sprintf("\n  %q: %s", name, entry))
		}
		names = append(names, name)
	}
	separator := ","
	if h.client == realparts.Codex {
		separator = "\n"
	}
	h.write(h.file, h.begin+strings.Join(entries, separator)+h.end)
	return names
}

// problems are what gauze finds in the file, by server.
func (h *house) problems() map[string][]clientconfig.Problem {
	all := map[string][]clientconfig.Problem{}
	view := h.fleet().Look(h.known(h.t))
	for _, p := range view.Problems {
		all[p.Server] = append(all[p.Server], p)
	}
	for _, s := range view.Servers {
		all[s.Name] = append(all[s.Name], s.Problems...)
	}
	return all
}

// mend does what gauze doctor --fix does for somebody who agrees to the diff.
func (h *house) mend() {
	h.t.Helper()
	h.do("mend", func(v *fleet.View) (fleet.Plan, error) {
		return v.Mend(v.Servers, true, func(_ *clientconfig.Config, p clientconfig.Problem) bool { return p.Consent < clientconfig.Person }), nil
	})
}

// The real client stumbles over what the lint finds, and takes what it mends.
func TestJudgesAgreeWithTheLint(t *testing.T) {
	for _, j := range judges {
		all := defects[j.client]
		t.Run(string(j.client), func(t *testing.T) {
			batches := [][]defect{}
			for _, d := range all {
				batches = append(batches, []defect{d})
			}
			if slices.Contains(together, j.client) {
				batches = [][]defect{all}
			}
			for i, batch := range batches {
				t.Run(fmt.Sprintf("broken %d", i), func(t *testing.T) {
					t.Parallel()
					h := newHouse(t, j)
					want := map[string]seen{}
					names := h.settle(batch)
					found := h.problems()
					for i, d := range batch {
						want[names[i]] = d.wanted()
						if !slices.ContainsFunc(found[names[i]], func(p clientconfig.Problem) bool { return p.Code == d.code }) {
							t.Errorf("%s is not found in %s, but %v", d.code, d.entry, found[names[i]])
						}
					}
					states, v := h.state(want)
					for i, d := range batch {
						if states[names[i]] != d.before {
							t.Errorf("%s: %s says of %s that it is %s, want %s\n%s", d.code, j.client, d.entry, states[names[i]], d.before, v.said)
						}
					}
				})
			}
			t.Run("mended", func(t *testing.T) {
				t.Parallel()
				h := newHouse(t, j)
				want := map[string]seen{}
				for i, name := range h.settle(all) {
					want[name] = all[i].wanted()
				}
				h.mend()
				for _, name := range slices.Sorted(maps.Keys(want)) {
					for _, p := range h.problems()[name] {
						if p.Severity == clientconfig.Error {
							t.Errorf("%s is left: %s", p.Code, p.What)
						}
					}
				}
				h.wantWorking("mended", want)
			})
		})
	}
}
