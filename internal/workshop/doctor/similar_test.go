package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// listening returns a machine on which an MCP server responds on one port, programs without HTTP
// accept connections on the others, and every other port refuses.
func listening(t *testing.T, speaking int, others ...int) *Machine {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" || r.URL.RawQuery != "" {
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
	}))
	t.Cleanup(server.Close)
	m := callMachine(t)
	m.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		if port == fmt.Sprint(speaking) {
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		}
		if slices.ContainsFunc(others, func(other int) bool { return port == fmt.Sprint(other) }) {
			ours, theirs := net.Pipe()
			theirs.Close()
			return ours, nil
		}
		return nil, errors.New("refused")
	}
	return m
}

// todo returns what a person reads to do about a failure.
func todo(m *Machine, c Case, spec launch.Spec) string {
	next, _ := Treatment{Fixes: Fixes(m)}.todo(Diagnose(c), c, spec)
	return next
}

func TestAPortThatIsRightIsSuggested(t *testing.T) {
	atURL := func(address string) launch.Spec { return launch.Spec{URL: address, Env: []string{}} }
	command := func(words ...string) launch.Spec {
		return launch.Spec{Command: words[0], Args: words[1:], Env: []string{}}
	}
	for _, c := range []struct {
		what     string
		speaking int
		others   []int
		entries  []launch.Spec
		spec     launch.Spec
		want     string // "" for no port
	}{
		{"a server next to it", 3001, nil, nil, atURL("http://localhost:3000/mcp?key=canary"), "change port 3000 to 3001"},
		{"a bridge to it", 3001, nil, nil, command("npx", "-y", "mcp-remote", "http://localhost:3000/mcp"), "change port 3000 to 3001"},
		{"a program next to it", 0, []int{3001, 2999}, nil, atURL("http://localhost:3000/mcp"), ""},
		{"a different path", 3001, nil, nil, atURL("http://localhost:3000/other"), ""},
		{"far away", 9001, nil, nil, atURL("http://localhost:3000/mcp"), ""},
		{"far away, in another entry", 9001, nil, []launch.Spec{atURL("http://127.0.0.1:9001/mcp")}, atURL("http://localhost:3000/mcp"), "change port 3000 to 9001"},
		{"a database of another entry", 0, []int{5433}, []launch.Spec{command("pg", "postgresql://localhost:5433/b")}, command("pg", "postgres://localhost:5432/a"), "change port 5432 to 5433"},
		{"a database that is down as well", 0, nil, []launch.Spec{command("pg", "postgresql://localhost:5433/b")}, command("pg", "postgres://localhost:5432/a"), ""},
		{"a different kind of database", 0, []int{6380}, []launch.Spec{command("kv", "redis://localhost:6380")}, command("pg", "postgres://localhost:5432/a"), ""},
		{"the same setting", 0, []int{8081}, []launch.Spec{command("a", "--wiki-url=http://localhost:8081")}, command("b", "--wiki-url=http://localhost:8080"), "change port 8080 to 8081"},
		{"a different setting", 0, []int{8081}, []launch.Spec{command("a", "--blog-url=http://localhost:8081")}, command("b", "--wiki-url=http://localhost:8080"), ""},
		{"a host that is not this machine", 3001, nil, nil, atURL("http://192.0.2.7:3000/mcp"), ""},
	} {
		m := listening(t, c.speaking, c.others...)
		m.Entries = c.entries
		seen := Case{Command: append([]string{c.spec.Command}, c.spec.Args...), URL: c.spec.URL, Live: true, OS: "linux", Stage: Started, Stderr: "Error: connect ECONNREFUSED 127.0.0.1:1234", Secrets: c.spec.Secrets()}
		if c.spec.URL != "" {
			seen.Command, seen.Stderr, seen.Stage = nil, "", Located
			seen.Log = "dial tcp 127.0.0.1:3000: connect: connection refused"
		}
		got := todo(m, seen, c.spec)
		if c.want == "" && strings.Contains(got, "change port") || !strings.Contains(got, c.want) || strings.Contains(got, "canary") {
			t.Errorf("%s: %s: %s", c.what, Diagnose(seen).Cause, got)
		}
	}
}

func TestAMisspeltPackageIsRecognised(t *testing.T) {
	const npm, uv = "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/x - Not found", "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because x was not found in the package registry and you require x, we can conclude that your requirements are unsatisfiable."
	entries := []launch.Spec{{Command: "npx", Args: []string{"-y", "@acme/ledger-mcp@2.1", "--token", "canary"}}, {Command: "gauze", Args: []string{"run", "--", "uvx", "acme-ledger"}}}
	for _, c := range []struct{ command, said, want string }{
		{"npx -y @modelcontextprotocol/server-filesytem /srv", npm, "`npx -y @modelcontextprotocol/server-filesystem /srv`"},
		{"npx -y @modelcontextprotocol/server-file-system@latest /srv", npm, "`npx -y @modelcontextprotocol/server-filesystem@latest /srv`"},
		{"npx -y modelcontextprotocol/server-memory", npm, "`npx -y @modelcontextprotocol/server-memory`"},
		{"npx -y server-sequential-thinking", npm, "`npx -y @modelcontextprotocol/server-sequential-thinking`"},
		{"uvx mcp-server-quadrant", uv, "`uvx mcp-server-qdrant`"},
		{"uvx mcp_server_ftech", uv, "`uvx mcp-server-fetch`"},
		{"npx -y @acme/leger-mcp --token canary", npm, "`npx -y @acme/ledger-mcp --token"},
		{"uvx acme-leder", uv, ""}, // wrapped entries are unwrapped by their reader
		{"npx -y mcp-server-ftech", npm, ""},
		{"npx -y @acme/notes-mcp", npm, ""},
		{"npx -y notes", npm, ""},
	} {
		m := callMachine(t)
		m.Entries = entries
		words := SplitCommand(c.command)
		spec := launch.Spec{Command: words[0], Args: words[1:], Env: []string{}}
		seen := atStartup(c.command, c.said)
		seen.Secrets = spec.Secrets()
		got := todo(m, seen, spec)
		if runtime.GOOS == "windows" { // whose shells need quotes around @
			got = strings.ReplaceAll(got, `"`, "")
		}
		if c.want == "" && strings.Contains(got, "meant") || !strings.Contains(got, c.want) || strings.Contains(got, "canary") {
			t.Errorf("%s: %s", c.command, got)
		}
	}
}

// A runner is suggested only if it is installed and only one letter is wrong.
func TestAMisspeltRunnerIsRecognised(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"npxx -y pkg --token canary", "Did you mean npx? Start the server with this command instead: `npx -y pkg --token"},
		{"nxp -y pkg", "`npx -y pkg`"},
		{"NPXX -y pkg", "`npx -y pkg`"},
		{"noed server.js", "`node server.js`"},
		{"pyhton3 server.py", "`python3 server.py`"},
		{"npn -y pkg", "Did you mean npm or npx?"},
		{"uvxx pkg", ""}, // uvx is not installed
		{"nopx pkg", "`npx pkg`"},
		{"nnppxx pkg", ""},
		{"notes pkg", ""},
		{"/opt/bin/npxx pkg", ""},
	} {
		f := newFakeMachine(t)
		for _, name := range []string{"npx", "npm", "node", "python3"} {
			f.file("system/usr/bin/"+name, "")
		}
		words := SplitCommand(c.command)
		spec := launch.Spec{Command: words[0], Args: words[1:], Env: []string{"PATH=/given/bin"}}
		seen := notThere(f, spec)
		seen.Secrets = spec.Secrets()
		got, _ := todoOf(f, seen, spec)
		if c.want == "" && strings.Contains(got, "Did you mean") || !strings.Contains(got, c.want) || strings.Contains(got, "canary") {
			t.Errorf("%s: %s", c.command, got)
		}
	}
}
