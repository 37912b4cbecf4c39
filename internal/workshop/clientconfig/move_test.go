package clientconfig

import (
	"fmt"
	"strings"
	"testing"
)

// What becomes of every entry of every client's own file when it moves to the file of gauze up.
func TestMoveEveryClient(t *testing.T) {
	moved := 0
	for _, a := range archives(t, "testdata/clients/*.txtar") {
		client, _ := ByID(a.name())
		home := homeOf(a.Archive)
		var b strings.Builder
		for _, f := range home.Find(client) {
			c := home.Read(f)
			for i := range c.Entries {
				m, err := c.Move(&c.Entries[i])
				if err == nil {
					moved++
				}
				b.WriteString(describeMoved(c.Entries[i].Name, m, err))
			}
		}
		a.check(t, "moved", b.String())
	}
	if moved < 30 {
		t.Errorf("only %d entries move", moved)
	}
}

func describeMoved(name string, m Moved, err error) string {
	if err != nil {
		return fmt.Sprintf("%s stays: %v\n", name, err)
	}
	s := m.Spec
	text := fmt.Sprintf("%s moves: %q env %q", name, append([]string{s.Command}, s.Args...), s.Env)
	if s.URL != "" {
		text = fmt.Sprintf("%s moves: %s", name, s.URL)
		for _, h := range s.Header {
			text += fmt.Sprintf(" %q", h.Name+": "+h.Value)
		}
	}
	for _, part := range []struct {
		what string
		all  []string
	}{{"cwd", strings.Fields(s.Dir)}, {"allow", m.Allow}, {"deny", m.Deny}, {"needs", m.Needs}, {"lost", m.Lost}} {
		if len(part.all) > 0 {
			text += fmt.Sprintf(" %s %q", part.what, part.all)
		}
	}
	return text + "\n"
}

// A server starts outside of the client's file as it does from there, or it stays.
func TestMove(t *testing.T) {
	for _, c := range []struct{ client, entry, want string }{
		{"cursor", `{"command": "x", "env": {"A": "pa$${env:B}"}}`, `stays: gauze up cannot express a $ before ${env:B}`},
		{"cursor", `{"command": "x", "env": {"A": "$${userHome} $${"}}`, `moves: ["x"] env ["A=$/home/me $$${"]`},
		{"cursor", `{"command": "${userHome}/x", "args": ["${/}"], "env": {"A": "${env:B} ${NOT}", "C": "${userHome}"}}`,
			`moves: ["/home/me/x" "/"] env ["A=${B} $${NOT}" "C=/home/me"]`},
		{"cursor", `{"command": "x", "args": ["${workspaceFolder}"]}`, "stays: it refers to ${workspaceFolder} in a place where gauze up does not expand it"},
		{"cursor", `{"command": "x", "args": ["${env:HOME}/a", "${env:KEY}"]}`, "stays: it refers to ${env:KEY} in a place where gauze up does not expand it"},
		{"cursor", `{"command": "x", "envFile": ".env"}`, "stays: gauze up has nothing for its envFile field"},
		{"cursor", `{"command": "x", "disabled": true}`, "stays: the server is disabled"},
		{"claude-code", `{"command": "x", "env": {"A": "${B:-c}"}}`, "stays: it refers to ${B:-c} in a place where gauze up does not expand it"},
		{"claude-code", `{"command": "${HOME}/x", "args": ["$HOME"]}`, `moves: ["/home/me/x" "$HOME"] env []`},
		{"claude-code", `{"type": "http", "url": "https://example.com/${A}"}`, "stays: it refers to ${A} in a place where gauze up does not expand it"},
		{"claude-code", `{"type": "http", "url": "https://example.com/a", "headers": {"Authorization": "Bearer ${A}"}, "headersHelper": "x"}`, "stays: gauze up has nothing for its headersHelper field"},
		{"claude-desktop", `{"command": "gauze", "args": ["run", "--name=s", "--", "x", "${A}"], "env": {"A": "${A}"}}`, `moves: ["x" "${A}"] env ["A=$${A}"]`},
		{"claude-desktop", `{"command": "gauze", "args": ["run", "--timeout=5s", "--", "x"]}`, "stays: it uses --timeout=5s of gauze run, which has no place in the file of gauze up"},
		{"claude-desktop", `{"command": "gauze", "args": ["run", "--header-env", "X-A=A", "--url", "https://example.com/a"], "env": {"A": "1"}}`, `moves: https://example.com/a "X-A: 1"`},
		{"claude-desktop", `{"command": "gauze", "args": ["run", "--url", "https://example.com/a"], "env": {"HTTPS_PROXY": "http://example.com"}}`, "stays: gauze up has nothing for its env field"},
		{"claude-desktop", `{"command": "gauze", "args": ["connect"]}`, "stays: the server is gauze itself"},
		{"gemini-cli", `{"command": "x", "env": {"A_TOKEN": "$A_TOKEN", "B": "$B"}, "includeTools": ["a", "b*"], "excludeTools": ["c[d]"], "trust": true}`,
			`moves: ["x"] env ["A_TOKEN=${A_TOKEN}" "B=${B}"] allow ["a" "b\\*"] deny ["c\\[d]"] needs ["A_TOKEN"] lost ["trust"]`},
		{"gemini-cli", `{"command": "x", "cwd": "sub"}`, "stays: its working directory is relative"},
		{"gemini-cli", `{"command": "x", "includeTools": []}`, "stays: gauze up has nothing for its includeTools field"},
		{"roo-code", `{"command": "x", "alwaysAllow": ["a"], "disabledTools": ["b"], "disabled": false}`, `moves: ["x"] env [] deny ["b"] lost ["alwaysAllow"]`},
		{"copilot-cli", `{"type": "local", "command": "x", "args": [], "tools": ["*"]}`, `moves: ["x"] env []`},
	} {
		client, ok := ByID(c.client)
		if !ok {
			t.Fatal(c.client)
		}
		home := Home{OS: "linux", Home: "/home/me", Project: "/home/me/project", Environ: []string{"HOME=/home/me"}}
		for _, f := range home.Places(client) {
			if f.Place.Scope != User || f.Place.Old != "" || f.Place.Borrowed {
				continue
			}
			config := home.ReadText(f, []byte(`{"`+f.Place.Keys[0][0]+`": {"s": `+c.entry+`}}`))
			if len(config.Entries) != 1 {
				t.Fatalf("%s reads %v of %s", c.client, config.Entries, c.entry)
			}
			m, err := config.Move(&config.Entries[0])
			if got := describeMoved("s", m, err); got != "s "+c.want+"\n" {
				t.Errorf("%s %s\ngot  %swant s %s", c.client, c.entry, got, c.want)
			}
			break
		}
	}
}
