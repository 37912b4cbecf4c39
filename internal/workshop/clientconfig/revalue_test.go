package clientconfig

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Single values of an entry are replaced where they are written; everything else stays, byte by byte.
func TestRevalueChangesOnlyValues(t *testing.T) {
	moved := func(s launch.Spec) launch.Spec {
		s.Args, s.Env = slices.Clone(s.Args), slices.Clone(s.Env)
		for i := range s.Args {
			s.Args[i] = strings.ReplaceAll(s.Args[i], "5432", "54320")
		}
		for i := range s.Env {
			s.Env[i] = strings.ReplaceAll(s.Env[i], "5432", "54320")
		}
		return s
	}
	for _, c := range []struct {
		client, text string
		ok           bool
	}{
		{"cursor", `{"mcpServers": {"a": {"command": "x", "args": ["--port",  "5432"], "env": {"B": "1"}}}}`, true},
		{"cursor", `{"mcpServers": {"a": {"command": "x", "env": {"A": "1",   "P": "5432"}}}}`, true},
		{"cursor", `{"mcpServers": {"a": {"command": "/opt/gauze", "args": ["run", "--timeout", "5m", "--", "x", "5432"]}}}`, true},
		{"vscode", "{\n  // mine\n  \"servers\": {\"a\": {\"command\": \"x\", \"args\": [\"5432\"], }, },\n}", true},
		{"codex", "[mcp_servers.a]\ncommand = 'x' # it\nargs = [\n  'localhost:5432', # the database\n]\n", true},
		{"opencode", `{"mcp": {"a": {"type": "local", "command": ["x", "5432"], "environment": {"P": "5432"}}}}`, true},
		{"cursor", `{"mcpServers": {"a": {"command": "x", "args": ["--port", "1"]}}}`, false}, // nothing to change
	} {
		home := Home{OS: "linux", Home: t.TempDir()}
		client, _ := ByID(c.client)
		place := home.Places(client)[0]
		config := home.ReadText(place, []byte(c.text))
		if len(config.Entries) != 1 {
			t.Fatalf("%s: %v", c.text, config.Err)
		}
		entry := &config.Entries[0]
		was := config.Written(entry)
		edit, ok := config.Revalue(entry, was, moved(was))
		if ok != c.ok {
			t.Errorf("%s: %v", c.text, ok)
			continue
		}
		text, err := edit.Apply(config.Format(), config.Text)
		if want := strings.ReplaceAll(c.text, "5432", "54320"); err != nil || string(text) != want {
			t.Errorf("%v\n%s, want\n%s", err, text, want)
		}
	}
}

// A reference cannot be replaced by a value, nor a command by a different one.
func TestRevalueLeavesOtherChangesAlone(t *testing.T) {
	home := Home{OS: "linux", Home: t.TempDir(), Environ: []string{"DB=postgres://localhost:5432"}}
	client, _ := ByID("cursor")
	config := home.ReadText(home.Places(client)[0], []byte(`{"mcpServers": {"a": {"command": "x", "args": ["${env:DB}", "1"], "env": {"U": "${env:DB}"}}}}`))
	entry := &config.Entries[0]
	was := config.Written(entry)
	for name, change := range map[string]func(*launch.Spec){
		"a command":         func(s *launch.Spec) { s.Command = "y" },
		"more arguments":    func(s *launch.Spec) { s.Args = append(s.Args, "z") },
		"a new variable":    func(s *launch.Spec) { s.Env = append(s.Env, "NEW=1") },
		"a directory":       func(s *launch.Spec) { s.Dir = "/x" },
		"expanded variable": func(s *launch.Spec) { s.Env = []string{"W=1"} },
	} {
		now := was
		now.Args, now.Env = slices.Clone(was.Args), slices.Clone(was.Env)
		change(&now)
		if edit, ok := config.Revalue(entry, was, now); ok {
			t.Errorf("%s: %v", name, edit)
		}
	}
}

func TestSlowStartUsesTheClientsOwnSetting(t *testing.T) {
	for _, c := range []struct{ client, text, want string }{
		{"codex", "[mcp_servers.a]\ncommand = 'x'\n", "startup_timeout_sec = 30"},
		{"codex", "[mcp_servers.a]\ncommand = 'x'\nstartup_timeout_sec = 10\n", "startup_timeout_sec = 30"},
		{"codex", "[mcp_servers.a]\ncommand = 'x'\nstartup_timeout_sec = 90\n", ""},
		{"cursor", `{"mcpServers": {"a": {"command": "x"}}}`, ""},
	} {
		home := Home{OS: "linux", Home: t.TempDir()}
		client, _ := ByID(c.client)
		config := home.ReadText(home.Places(client)[0], []byte(c.text))
		edit, ok := config.SlowStart(&config.Entries[0], 30*time.Second)
		text, err := edit.Apply(config.Format(), config.Text)
		if ok != (c.want != "") || ok && (err != nil || !strings.Contains(string(text), c.want)) {
			t.Errorf("%s: %v %v\n%s", c.text, ok, err, text)
		}
	}
}
