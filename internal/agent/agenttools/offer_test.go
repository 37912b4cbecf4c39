//go:build unix

package agenttools

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/testonly/refusing"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
)

// ledgerAgent is an agent in a project whose compose file publishes the port of a database as a
// different one, which works.
func ledgerAgent(t *testing.T, s settings) (a *agent, refused, works int) {
	t.Helper()
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { open.Close() })
	refused, works = refusing.Port(t), open.Addr().(*net.TCPAddr).Port
	a = newAgent(t, s)
	a.write("bin/works", script(t))
	a.write("bin/ledger", fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *:%d/*) exec \"$HOME/bin/works\";; esac\necho 'Error: connect ECONNREFUSED 127.0.0.1:%d' >&2\nexit 1\n", works, refused))
	a.write("project/compose.yaml", fmt.Sprintf("services:\n  db:\n    ports: ['%d:%d']\n", works, refused))
	a.write(".cursor/mcp.json", fmt.Sprintf(`{"mcpServers": {"ledger": {"command": %q, "args": ["postgres://u:%s@localhost:%d/x"]}}}`, filepath.Join(a.dir, "bin/ledger"), secret, refused))
	return a, refused, works
}

// A port that a project names is tried only after the user agreed to exactly that, in every way of
// asking, and written only after they saw the diff.
func TestAProjectsPortIsAskedAbout(t *testing.T) {
	for _, s := range []settings{{version: legacy, allow: true}, {version: modern, allow: true}, {version: legacy, person: yes}, {version: modern, person: yes}} {
		a, refused, works := ledgerAgent(t, s)
		before := a.read(".cursor/mcp.json")
		r, shown := a.agreeing("test_connection", object{"server": "ledger"})
		if r.get("status") != done || !r.data["works"].(bool) || a.read(".cursor/mcp.json") != before {
			t.Fatalf("%+v", r)
		}
		if asked := append(shown, a.asked...); len(asked) != 1 || !strings.Contains(asked[0], fmt.Sprintf("@localhost:%d/x", works)) {
			t.Errorf("asked %q", asked)
		}
		report := r.data["report"].(object)
		step := report["steps"].([]any)[0].(object)
		if report["attempts"] != 2.0 || step["diagnosis"].(object)["confidence"].(float64) <= 0 || !strings.Contains(report["configuration"].(string), fmt.Sprintf(":%d/x", works)) {
			t.Errorf("%v", report)
		}
		if r, _ := a.agreeing("heal_server", object{"server": "ledger"}); r.get("status") != done {
			t.Fatalf("%+v", r)
		}
		if now := a.read(".cursor/mcp.json"); now != strings.Replace(before, fmt.Sprint(refused), fmt.Sprint(works), 1) {
			t.Errorf("%s", now)
		}
		if strings.Contains(a.heard.String(), secret) {
			t.Error("the secret was told")
		}
	}
}

// The user sees what would run, also where the agent does not: a port in what looks like a key. An
// agent that must relay the question cannot show the change, so it is not asked that way.
func TestAnOfferIsShownWholeToTheUser(t *testing.T) {
	for name, s := range map[string]settings{"dialog": {person: yes}, "later": {person: yes, version: modern}, "relayed": {allow: true}} {
		a, refused, works := ledgerAgent(t, s)
		a.write(".cursor/mcp.json", fmt.Sprintf(`{"mcpServers": {"ledger": {"command": %q, "args": ["--token", "localhost:%d/x"]}}}`, filepath.Join(a.dir, "bin/ledger"), refused))
		r := a.call("test_connection", object{"server": "ledger"})
		if s.allow {
			if r.get("status") != needsPerson || !strings.Contains(r.text, "gauze doctor --fix") {
				t.Errorf("%s: %+v", name, r)
			}
			continue
		}
		if r.get("status") != done || !r.data["works"].(bool) {
			t.Errorf("%s: %+v", name, r)
		}
		if len(a.asked) != 1 || !strings.Contains(a.asked[0], fmt.Sprintf("--token localhost:%d/x", works)) {
			t.Errorf("%s: asked %q", name, a.asked)
		}
	}
}

// Without agreement nothing is started with it, and the result still says what is wrong.
func TestAProjectsPortThatIsDeclined(t *testing.T) {
	for name, s := range map[string]settings{
		"declined": {person: says("decline", nil)}, "no answer": {person: func(string) *mcp.ElicitResult { return nil }}, "nobody to ask": {}, "later": {person: says("decline", nil), version: modern},
	} {
		a, _, works := ledgerAgent(t, s)
		a.write("bin/works", "#!/bin/sh\n: > \"$HOME/ran\"\n")
		before := a.read(".cursor/mcp.json")
		for _, tool := range []string{"test_connection", "heal_server"} {
			in := object{"server": "ledger"}
			if tool == "test_connection" {
				in = object{"name": "ledger"}
			}
			r := a.call(tool, in)
			if status := r.get("status"); status != declined && status != needsPerson {
				t.Errorf("%s, %s: %+v", name, tool, r)
			}
			if !strings.Contains(r.text, "Nothing was done") && !strings.Contains(r.text, "Not done") {
				t.Errorf("%s, %s: %s", name, tool, r.text)
			}
			if tool == "test_connection" && s.version != modern && (r.data["works"] != false || r.data["report"].(object)["diagnosis"] == nil) {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if _, err := os.Stat(filepath.Join(a.dir, "ran")); err == nil || a.read(".cursor/mcp.json") != before || strings.Contains(before, fmt.Sprint(works)) {
			t.Errorf("%s: the server was started, or its file written", name)
		}
	}
}

// What a project's .env has is not offered: it could not be written as it was tested.
func TestAProjectsVariablesAreNotOffered(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{person: yes, environ: []string{"ORBIT_TEAM=" + secret}})
	a.write("bin/orbit", "#!/bin/sh\necho 'Error: missing required environment variables: ORBIT_TOKEN, ORBIT_TEAM_ID' >&2\nexit 1\n")
	a.write("project/.env", "ORBIT_TOKEN="+secret+"\nORBIT_TEAM_ID=1\n")
	a.write(".cursor/mcp.json", fmt.Sprintf(`{"mcpServers": {"orbit": {"command": %q}}}`, filepath.Join(a.dir, "bin/orbit")))
	r := a.call("test_connection", object{"server": "orbit"})
	if len(a.asked) > 0 || r.data["works"] != false || !strings.Contains(r.text, "ORBIT_TOKEN and ORBIT_TEAM_ID") {
		t.Errorf("asked %q: %+v", a.asked, r)
	}
}

// lonely gives the agent's fleet a machine that has only what is in the agent's home.
func (a *agent) lonely() {
	m := doctor.ThisMachine()
	m.Home, m.Root = a.dir, filepath.Join(a.dir, "root")
	m.Env = func(string) (string, bool) { return "", false }
	a.fleet.Machine = m
	a.fleet.Home.Environ = []string{"HOME=" + a.dir, "PATH=" + filepath.Join(a.dir, "none")}
}

// A program that is installed is started instead of its missing runner, and then written, each after
// the user agreed to it. A server that runs through gauze stays so.
func TestAnInstalledProgramIsAskedAbout(t *testing.T) {
	t.Parallel()
	for _, wrapped := range []bool{false, true} {
		for _, s := range []settings{{version: legacy, allow: true}, {version: modern, person: yes}} {
			a := newAgent(t, s)
			a.lonely()
			a.write(".local/bin/notes-mcp", strings.Replace(script(t), ` "$@"`, "", 1))
			words := `"command": "uvx", "args": ["notes-mcp", "--dir", "${HOME}/notes"]`
			if wrapped {
				words = fmt.Sprintf(`"command": %q, "args": ["run", "--name=notes", "--", "uvx", "notes-mcp", "--dir", "${HOME}/notes"]`, a.fleet.Gauze)
			}
			a.write(".claude.json", `{"mcpServers": {"notes": {"type": "stdio", `+words+`}}}`)
			before, program := a.read(".claude.json"), filepath.Join(a.dir, ".local/bin/notes-mcp")
			r, shown := a.agreeing("test_connection", object{"server": "notes"})
			if r.get("status") != done || !r.data["works"].(bool) || a.read(".claude.json") != before {
				t.Fatalf("wrapped %v: %+v", wrapped, r)
			}
			if asked := append(shown, a.asked...); len(asked) != 1 || !strings.Contains(asked[0], program) || !strings.Contains(asked[0], "${HOME}/notes") {
				t.Errorf("asked %q", asked)
			}
			if final := r.data["report"].(object)["configuration"].(string); !strings.HasPrefix(final, program+" --dir ") {
				t.Errorf("%s", final)
			}
			if r, _ := a.agreeing("heal_server", object{"server": "notes"}); r.get("status") != done {
				t.Fatalf("wrapped %v: %+v", wrapped, r)
			}
			want := strings.Replace(strings.Replace(before, `"uvx"`, fmt.Sprintf("%q", program), 1), `"notes-mcp", `, "", 1)
			if wrapped {
				want = strings.Replace(before, `"uvx", "notes-mcp"`, fmt.Sprintf("%q", program), 1)
			}
			if now := a.read(".claude.json"); now != want {
				t.Errorf("wrapped %v: %s, want %s", wrapped, now, want)
			}
		}
	}
}

// A variable that healed a server is in the configuration that is shown: typed in again, it works. A
// secret is a reference if the server's environment has it, and is masked otherwise.
func TestTheFinalConfigurationHasTheHealedVariable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		environ []string
		env     string // of the server's own directory
		want    []string
	}{
		"a reference": {[]string{"GITHUB_TOKEN=" + secret}, "ORBIT_TEAM=blue\n", []string{"with GITHUB_PERSONAL_ACCESS_TOKEN=${GITHUB_TOKEN}", "with ORBIT_TEAM=«redacted»", "with NEEDX=1"}},
		"a file":      {nil, "ORBIT_TEAM=blue\nGITHUB_PERSONAL_ACCESS_TOKEN=" + secret + "\n", []string{"with GITHUB_PERSONAL_ACCESS_TOKEN=«redacted»", "with ORBIT_TEAM=«redacted»", "with NEEDX=1"}},
	} {
		a := newAgent(t, settings{person: yes})
		a.lonely()
		a.fleet.Home.Environ = append(a.fleet.Home.Environ, test.environ...)
		a.write("bin/works", script(t))
		a.write("bin/.env", test.env)
		a.write("bin/notes", "#!/bin/sh\n[ -n \"$ORBIT_TEAM\" ] && [ -n \"$GITHUB_PERSONAL_ACCESS_TOKEN\" ] && exec \"$HOME/bin/works\"\necho 'Error: missing required environment variables: GITHUB_PERSONAL_ACCESS_TOKEN, ORBIT_TEAM' >&2\nexit 1\n")
		a.write(".claude.json", fmt.Sprintf(`{"mcpServers": {"notes": {"type": "stdio", "command": %q, "env": {"NEEDX": "1"}}}}`, filepath.Join(a.dir, "bin/notes")))
		r, _ := a.agreeing("heal_server", object{"server": "notes", "dry_run": true})
		report := r.data["servers"].([]any)[0].(object)["report"].(object)
		final, _ := report["configuration"].(string)
		for _, line := range test.want {
			if !strings.Contains(final+"\n", "\n  "+line+"\n") {
				t.Errorf("%s: no %q in %q\n%s", name, line, final, r.text)
			}
		}
		r, _ = a.agreeing("test_connection", object{"command": filepath.Join(a.dir, "bin/notes"), "env": object{"NEEDX": "1"}})
		tested, _ := r.data["report"].(object)["configuration"].(string)
		if _, env, _ := strings.Cut(final, "\n"); !strings.HasSuffix(tested, env) {
			t.Errorf("%s: the same server that is not configured: %q, want %q", name, tested, final)
		}
		if strings.Contains(final, "PATH=") || strings.Contains(a.heard.String(), secret) {
			t.Errorf("%s: %s", name, final)
		}
	}
}
