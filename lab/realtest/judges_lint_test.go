//go:build linux

package realtest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/lab/realparts"
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
		{"", `{"type": "streamable-http", "url": "URL", "headers": {"X-Team": "blue"}}`, works, teamSeen},
		{"type-spelling", `{"type": "streamable_http", "url": "URL", "headers": {"X-Team": "blue"}}`, refused, teamSeen},
		{"type-spelling", `{"type": "local", "command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}}`, refused, seen{}},
		{"type-contradicts", `{"type": "http", "command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}}`, refused, seen{}},
		{"type-contradicts", `{"type": "stdio", "url": "URL", "headers": {"X-Team": "blue"}}`, refused, teamSeen},
		{"command-line-in-command", `{"command": "sh PROGRAM one", "env": {"LEVEL": "1"}}`, dead, seen{}},
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
		{"command-line-in-command", "command = \"sh PROGRAM one\"\nenv = {LEVEL = \"1\"}", dead, seen{}},
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
		{"command-line-in-command", `{"command": "sh PROGRAM one", "env": {"LEVEL": "1"}}`, dead, seen{}},
		{"command-is-a-list", `{"command": ["PROGRAM", "one"], "env": {"LEVEL": "1"}}`, refused, seen{}},
		{"args-not-a-list", `{"command": "PROGRAM", "args": "one", "env": {"LEVEL": "1"}}`, refused, seen{}},
		{"env-value-not-text", `{"command": "PROGRAM", "args": ["one"], "env": {"LEVEL": 1}}`, refused, seen{}},
		{"env-not-a-map", `{"command": "PROGRAM", "args": ["one"], "env": ["LEVEL=1"]}`, refused, seen{}},
		{"timeout-not-a-number", `{"command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}, "timeout": "60000"}`, works, seen{}},
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
		{"command-line-in-command", `{"command": "sh PROGRAM one", "env": {"LEVEL": "1"}, "tools": ["*"]}`, dead, seen{}},
		{"command-is-a-list", `{"command": ["PROGRAM", "one"], "env": {"LEVEL": "1"}, "tools": ["*"]}`, refused, seen{}},
		{"args-not-a-list", `{"command": "PROGRAM", "args": "one", "env": {"LEVEL": "1"}, "tools": ["*"]}`, refused, seen{}},
		{"env-value-not-text", `{"command": "PROGRAM", "args": ["one"], "env": {"LEVEL": 1}, "tools": ["*"]}`, refused, seen{}},
		{"env-not-a-map", `{"command": "PROGRAM", "args": ["one"], "env": ["LEVEL=1"], "tools": ["*"]}`, refused, seen{}},
		{"foreign-reference", `{"command": "PROGRAM", "args": ["one"], "env": {"KEY": "${env:ACME_TOKEN}"}, "tools": ["*"]}`, otherwise, seen{args: []string{"one"}, env: map[string]string{"KEY": secretToken}}},
		{"tools-missing", `{"type": "local", "command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}}`, works, seen{}},
		{"", `{"command": "PROGRAM", "args": ["acme"], "tools": ["*"]}`, works, seen{args: []string{"acme"}, env: map[string]string{tokenName: secretToken}}},
		{"timeout-not-a-number", `{"command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}, "timeout": "60000", "tools": ["*"]}`, refused, seen{}},
	},
}

// forPersons are those that no program mends.
var forPersons = map[realparts.Client][]defect{
	realparts.ClaudeCode: {
		{"nothing-to-start", `{"args": ["one"]}`, refused, seen{}},
		{"nothing-to-start", `{"command": ""}`, refused, seen{}},
		{"type-unknown", `{"type": "carrier-pigeon", "command": "PROGRAM"}`, refused, seen{}},
		{"entry-not-an-object", `"PROGRAM"`, refused, seen{}},
	},
	realparts.Codex: {
		{"inline-bearer-token", "url = \"URL\"\nbearer_token = \"abc\"", refused, seen{}},
		{"command-and-url", "command = \"PROGRAM\"\nurl = \"URL\"", refused, seen{}},
		{"nothing-to-start", "args = [\"one\"]", refused, seen{}},
	},
	realparts.Opencode: {
		{"type-unknown", `{"type": "carrier-pigeon", "command": ["PROGRAM"]}`, refused, seen{}},
		{"nothing-to-start", `{"type": "local"}`, refused, seen{}},
	},
	realparts.CopilotCLI: {
		{"nothing-to-start", `{"args": ["one"], "tools": ["*"]}`, refused, seen{}},
	},
}

// crashes are entries at which the list of Gemini CLI ends without a word about the others.
func (d defect) crashes(j judge) bool {
	return j.client == realparts.GeminiCLI && d.code == "args-not-a-list"
}

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
		entries = append(entries, strings.NewReplacer("PROGRAM", h.witness(name), "URL", h.web.at(name), "NAME", name).Replace(d.entry))
		names = append(names, name)
	}
	h.writeEntries(names, entries)
	return names
}

// writeEntries writes a file with these entries, which are in the words of the client.
func (h *house) writeEntries(names, entries []string) {
	form, separator := "\n  %q: %s", ","
	if h.client == realparts.Codex {
		form, separator = "[mcp_servers.%s]\n%s\n", "\n"
	}
	var all []string
	for i, name := range names {
		all = append(all, fmt.Sprintf(form, name, entries[i]))
	}
	h.write(h.file, h.begin+strings.Join(all, separator)+h.end)
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

// mend repairs what the lint finds.
func (h *house) mend() {
	h.t.Helper()
	h.gauze("doctor", "--static", "--fix", "--client", string(h.client))
}

// neighbour is a good entry beside a bad one.
var neighbour = map[realparts.Client]defect{
	realparts.ClaudeCode: {entry: `{"command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}}`},
	realparts.Codex:      {entry: "command = \"PROGRAM\"\nargs = [\"one\"]\nenv = {LEVEL = \"1\"}"},
	realparts.GeminiCLI:  {entry: `{"command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}}`},
	realparts.Opencode:   {entry: `{"type": "local", "command": ["PROGRAM", "one"], "environment": {"LEVEL": "1"}}`},
	realparts.CopilotCLI: {entry: `{"type": "local", "command": "PROGRAM", "args": ["one"], "env": {"LEVEL": "1"}, "tools": ["*"]}`},
}

// batches are defects that can be judged at once: where one bad entry spoils its file, each is alone with a good one.
func (j judge) batches(t *testing.T) (all [][]defect) {
	good := neighbour[j.client]
	good.before = works
	spoiled := j.known(t).Fields.RejectsFile
	rest := []defect{good}
	for _, d := range slices.Concat(defects[j.client], forPersons[j.client]) {
		switch {
		case d.crashes(j):
			all = append(all, []defect{d})
		case spoiled && d.before == refused:
			good.before = refused
			all = append(all, []defect{good, d})
		default:
			rest = append(rest, d)
		}
	}
	return append(all, rest)
}

// finds tells whether a problem of this code is among them; of no code: that there is none.
func finds(code clientconfig.Code, all []clientconfig.Problem) bool {
	if code == "" {
		return !slices.ContainsFunc(all, func(p clientconfig.Problem) bool { return p.Code != "client-ended" })
	}
	return slices.ContainsFunc(all, func(p clientconfig.Problem) bool { return p.Code == code })
}

// The real client stumbles over what the lint finds, and takes what it mends.
func TestJudgesAgreeWithTheLint(t *testing.T) {
	for _, j := range asked() {
		all := j.batches(t)
		last := len(all) - 1 // the one with the most defects
		for i, batch := range append(half(t, all[:last]), all[last]) {
			t.Run(fmt.Sprintf("%s/broken %d", j.client, i), func(t *testing.T) {
				t.Parallel()
				h := newHouse(t, j)
				want := map[string]seen{}
				names := h.settle(batch)
				found := h.problems()
				for i, d := range batch {
					want[names[i]] = d.wanted()
					if !finds(d.code, found[names[i]]) {
						t.Errorf("want %q found in %s: %v", d.code, d.entry, found[names[i]])
					}
				}
				states, v := h.state(want)
				for i, d := range batch {
					if states[names[i]] != d.before {
						t.Errorf("%q: %s says of %s that it is %s, want %s\n%s", d.code, j.client, d.entry, states[names[i]], d.before, v.said)
					}
				}
			})
		}
		t.Run(string(j.client)+"/mended", func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, j)
			want := map[string]seen{}
			all := defects[j.client]
			for i, name := range h.settle(all) {
				want[name] = all[i].wanted()
			}
			h.mend()
			h.wantMended(want)
		})
	}
}

// wantMended: nothing is left that keeps a server from working, for the lint and for the client.
func (h *house) wantMended(want map[string]seen) {
	h.t.Helper()
	for name, all := range h.problems() {
		for _, p := range all {
			if p.Severity == clientconfig.Error {
				h.t.Errorf("%s: %s is left: %s", name, p.Code, p.What)
			}
		}
	}
	h.wantWorking("mended", want)
}

// spoiltFile is a file that is wrong as a whole. ENTRY is a good entry in it, called s0.
type spoiltFile struct {
	client realparts.Client
	code   clientconfig.Code // empty: nothing is wrong
	text   string
	before string
}

var spoiltFiles = []spoiltFile{
	{realparts.ClaudeCode, "comment", "{\n  // mine\n  \"mcpServers\": {\"s0\": ENTRY}\n}\n", refused},
	{realparts.ClaudeCode, "trailing-comma", "{\"mcpServers\": {\"s0\": ENTRY,}}\n", refused},
	{realparts.ClaudeCode, "", "\ufeff{\"mcpServers\": {\"s0\": ENTRY}}\n", works},
	{realparts.ClaudeCode, "wrong-top-level-key", "{\"mcp_servers\": {\"s0\": ENTRY}}\n", refused},
	{realparts.ClaudeCode, "servers-not-a-map", "{\"mcpServers\": [{\"name\": \"s0\", \"command\": \"PROGRAM\", \"args\": [\"one\"], \"env\": {\"LEVEL\": \"1\"}}]}\n", refused},
	{realparts.Codex, "wrong-top-level-key", "[mcpServers.s0]\nENTRY\n", refused},
	{realparts.GeminiCLI, "", "{\n  // mine\n  \"mcpServers\": {\"s0\": ENTRY}\n}\n", works},
	{realparts.GeminiCLI, "trailing-comma", "{\"mcpServers\": {\"s0\": ENTRY,}}\n", refused},
	{realparts.GeminiCLI, "wrong-top-level-key", "{\"servers\": {\"s0\": ENTRY}}\n", refused},
	{realparts.GeminiCLI, "byte-order-mark", "\ufeff{\"mcpServers\": {\"s0\": ENTRY}}\n", refused},
	{realparts.Opencode, "", "{\n  // mine\n  \"mcp\": {\"s0\": ENTRY,}\n}\n", works},
	{realparts.Opencode, "wrong-top-level-key", "{\"mcpServers\": {\"s0\": ENTRY}}\n", refused},
	{realparts.Opencode, "byte-order-mark", "\ufeff{\"mcp\": {\"s0\": ENTRY}}\n", works},
	{realparts.CopilotCLI, "", "{\n  // mine\n  \"mcpServers\": {\"s0\": ENTRY,}\n}\n", works},
	{realparts.CopilotCLI, "wrong-top-level-key", "{\"servers\": {\"s0\": ENTRY}}\n", refused},
	{realparts.CopilotCLI, "byte-order-mark", "\ufeff{\"mcpServers\": {\"s0\": ENTRY}}\n", works},
}

// The same for files as a whole.
func TestJudgesAgreeWithTheLintOfFiles(t *testing.T) {
	all := asked()
	by := func(f spoiltFile) int {
		return slices.IndexFunc(all, func(j judge) bool { return j.client == f.client })
	}
	for _, f := range half(t, slices.DeleteFunc(slices.Clone(spoiltFiles), func(f spoiltFile) bool { return by(f) < 0 })) {
		j := all[by(f)]
		t.Run(fmt.Sprintf("%s/%s %d", f.client, f.code, slices.Index(spoiltFiles, f)), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, j)
			h.write(h.file, strings.NewReplacer("ENTRY", strings.ReplaceAll(neighbour[j.client].entry, "PROGRAM", h.witness("s0")), "PROGRAM", h.witness("s0")).Replace(f.text))
			want := map[string]seen{"s0": usualSeen}
			var found []clientconfig.Problem
			for _, all := range h.problems() {
				found = append(found, all...)
			}
			if !finds(f.code, found) {
				t.Errorf("want %q found: %v", f.code, found)
			}
			before := h.read()
			states, v := h.state(want)
			if states["s0"] != f.before {
				t.Errorf("%s says that it is %s, want %s\n%s", f.client, states["s0"], f.before, v.said)
			}
			if f.code == "" {
				return
			}
			h.write(h.file, before) // a client may have written something else over it
			h.mend()
			h.wantMended(want)
		})
	}
}

// A project's server waits for a yes, which the project cannot give itself; the lint says the same.
func TestJudgeOfApproval(t *testing.T) {
	const named, all, no = `{"enabledMcpjsonServers": ["s0"]}`, `{"enableAllProjectMcpServers": true}`, `{"disabledMcpjsonServers": ["s0"]}`
	const user, project, local = ".claude/settings.json", "project/.claude/settings.json", "project/.claude/settings.local.json"
	type approval struct {
		trusted bool
		files   map[string]string
		state   string
	}
	for i, c := range half(t, []approval{
		{false, nil, dead},
		{true, nil, dead},
		{false, map[string]string{project: all}, dead},
		{false, map[string]string{local: named}, dead},
		{true, map[string]string{project: all}, works},
		{true, map[string]string{local: named}, works},
		{false, map[string]string{user: named}, works},
		{false, map[string]string{user: all, project: no}, refused},
	}) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, judges[0])
			h.write("project/.mcp.json", `{"mcpServers": {"s0": `+strings.ReplaceAll(neighbour[h.client].entry, "PROGRAM", h.witness("s0"))+`}}`)
			h.write(h.file, fmt.Sprintf(`{"projects": {%q: {"hasTrustDialogAccepted": %v}}}`, h.project, c.trusted))
			for name, text := range c.files {
				h.write(name, text)
			}
			told := finds("not-approved", h.problems()["s0"])
			states, v := h.state(map[string]seen{"s0": usualSeen})
			if states["s0"] != c.state || told == (c.state == works) {
				t.Errorf("trusted %v, %v: it is %s, want %s; told: %v\n%s", c.trusted, c.files, states["s0"], c.state, told, v.said)
			}
		})
	}
}

// A start may take longer than the five seconds that opencode once gave it, and the limit of an entry is one for the
// start, in milliseconds.
func TestJudgeOfSlowStarts(t *testing.T) {
	t.Parallel()
	all := asked()
	at := slices.IndexFunc(all, func(j judge) bool { return j.client == realparts.Opencode })
	if at < 0 {
		t.Skip("opencode is part of a run of everything")
	}
	h := newHouse(t, all[at])
	slow := func(name string) string {
		path := h.path(name + "/npx")
		h.write(name+"/npx", "#!/bin/sh\nsleep 6\nexec '"+h.witness(name)+"' \"$@\"\n")
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	h.write(h.file, fmt.Sprintf(`{"mcp": {"s0": {"type": "local", "command": [%q, "one"]}, "s1": {"type": "local", "command": [%q, "one"], "timeout": 2000}}}`, slow("s0"), slow("s1")))
	if found := h.problems(); !finds("timeout-short", found["s0"]) || !finds("", found["s1"]) {
		t.Errorf("%v", found)
	}
	want := seen{args: []string{"one"}}
	if states, v := h.state(map[string]seen{"s0": want, "s1": want}); states["s0"] != works || states["s1"] != dead {
		t.Errorf("%v\n%s", states, v.said)
	}
}
