//go:build linux

package realtest

import (
	"bufio"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/logintest"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// remoteEntries are entries with a URL, in the words of each client.
var remoteEntries = map[realparts.Client]string{
	realparts.ClaudeCode: "{\n\t\"numStartups\": 3,\n\t\"mcpServers\": { \"remote\": {\"url\" : \"URL\",\n\t\t\"type\":\"http\"} }, \"theme\": \"dark\"\n}",
	realparts.Codex:      "model = \"none\" # mine\n\n  [mcp_servers.\"remote\"] # a comment\n  url='URL' # the team's\n  startup_timeout_sec = 20\n\n[tui]\nnotifications = false\n",
}

// A person logs in once with gauze, and the real clients work through gauze run, across tokens that
// expire between two sessions and within one, without a login of their own. Unwrapped, the file is byte
// for byte what it was.
func TestJudgesDoNotNoticeThatALoginExpires(t *testing.T) {
	for _, j := range asked() {
		entry, known := remoteEntries[j.client]
		if !known {
			continue
		}
		t.Run(string(j.client), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, j)
			h.environ = append(h.environ, "GAUZE_KEYRING=off")
			server := logintest.New(t, logintest.Config{Scopes: []string{"notes"}})
			h.write(h.file, strings.ReplaceAll(entry, "URL", server.MCP()))
			if v, errs := h.ask(h); len(errs) > 0 || slices.Contains(v.connected, "remote") {
				t.Fatalf("%s, without a login: %v\n%s", h.client, errs, v.said)
			}
			before := h.read() // Claude Code writes its file anew at its first start
			h.gauze("wrap", "--remote", string(h.client)+"/remote")
			if !strings.Contains(h.read(), `"--url"`) {
				t.Fatalf("not wrapped:\n%s", h.read())
			}
			h.login(server, string(h.client)+"/remote")

			wanted := server.Renewals()
			for _, when := range []string{"between two sessions", "within a session"} {
				if when == "within a session" {
					server.Fail("/mcp", served, expired)
				} else {
					server.Expire()
				}
				v, errs := h.ask(h)
				if len(errs) > 0 || !slices.Contains(v.connected, "remote") {
					t.Fatalf("%s, a token that expired %s: %v\n%s\n%v", h.client, when, errs, v.said, server.Ledger())
				}
				if wanted++; server.Renewals() != wanted {
					t.Errorf("%s, a token that expired %s: %d renewals, want %d\n%v", h.client, when, server.Renewals(), wanted, server.Ledger())
				}
			}
			if server.Logins() != 1 || server.Reused() != 0 {
				t.Errorf("%d logins, %d refresh tokens used twice", server.Logins(), server.Reused())
			}
			for _, secret := range server.Secrets() {
				if strings.Contains(h.read(), secret) {
					t.Errorf("a secret of the login is in the client's file")
				}
			}
			h.gauze("unwrap", string(h.client)+"/remote")
			if after := h.read(); after != before {
				t.Errorf("%s: not the same bytes:\n%s\n---\n%s", h.client, before, after)
			}
		})
	}
}

// served lets a request pass, and expired lets every token expire before it.
func served(_ *logintest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(w, r)
}

func expired(s *logintest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
	s.Expire()
	next.ServeHTTP(w, r)
}

// login logs in as somebody does whose browser is on a different machine.
func (h *house) login(server *logintest.Server, name string) {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), gauzeBinary(), "login", "--no-browser", name)
	cmd.Dir, cmd.Env = h.project, h.environ
	in, err := cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		said.WriteString(line + "\n")
		if !strings.HasPrefix(line, server.URL) {
			continue
		}
		redirect, err := server.Redirect(line)
		if err != nil {
			h.t.Fatal(err)
		}
		if _, err := in.Write([]byte(redirect + "\n")); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		h.t.Fatalf("gauze login: %v\n%s", err, said.String())
	}
}
