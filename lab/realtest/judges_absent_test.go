//go:build linux

package realtest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// absentServers are servers that do not work, each in one way, and what a client must learn of it.
var absentServers = []struct {
	name  string
	build func(h *house) []string // returns the arguments of gauze run
	cause string                  // part of the explanation
}{
	{"refused", func(h *house) []string {
		return []string{"--url", fmt.Sprintf("http://127.0.0.1:%d/mcp", freePort(h.t))}
	}, "Nothing is listening on port"},
	{"host", func(*house) []string { return []string{"--url", "http://nothing.invalid/mcp"} }, "The host name nothing.invalid could not be resolved"},
	{"program", func(*house) []string { return []string{"--", "no-such-program"} }, "is not on the client's PATH"},
	{"key", func(h *house) []string {
		h.write("server.sh", "echo 'Error: BRAVE_API_KEY environment variable is required' >&2; exit 1")
		return []string{"--", "sh", h.path("server.sh")}
	}, "The server requires BRAVE_API_KEY, which is not set"},
}

// A client that cannot begin a session is told why, in answer to what it asks first, and it tells its user.
func TestJudgesLearnWhyAServerIsAbsent(t *testing.T) {
	for _, j := range judges[:2] {
		t.Run(string(j.client), func(t *testing.T) {
			t.Parallel()
			h := newPatientHouse(t, j)
			var names, entries []string
			for _, s := range absentServers {
				names, entries = append(names, s.name), append(entries, h.recorded(s.name, s.build(h)...))
			}
			h.writeEntries(names, entries)
			v, errs := h.ask(h)
			if len(errs) > 0 || len(v.listed) != len(absentServers) || len(v.connected) > 0 {
				t.Errorf("%s lists %q and speaks with %q: %v", h.client, v.listed, v.connected, errs)
			}
			for _, s := range absentServers {
				if !strings.Contains(v.said, s.cause) {
					t.Errorf("%s does not say of %s %q:\n%s", h.client, s.name, s.cause, v.said)
				}
				h.wantInitialized(s.name, s.cause)
			}
		})
	}
}

// The session of a client begins without its server, if the server was reached before, and works as soon as the server
// is there.
func TestJudgesBeginWithoutAServer(t *testing.T) {
	const name = "remote"
	for _, j := range half(t, judges[:2]) {
		t.Run(string(j.client), func(t *testing.T) {
			t.Parallel()
			h := newPatientHouse(t, j)
			server := everythingHTTP.start(t)
			h.writeEntries([]string{name}, []string{h.recorded(name, "--url", server.url())})
			h.converse(name, func(echo func(want string)) { echo(server.want) })
			server.kill()
			recording(t, h.record(name))
			if err := os.Remove(h.record(name)); err != nil {
				t.Fatal(err)
			}
			h.converse(name, func(echo func(want string)) {
				echo("Nothing is listening on port")
				server.again()
				server.wait(t, "Session initialized")
				echo(server.want)
			})
			h.wantInitialized(name, `"serverInfo"`)
		})
	}
}

// newPatientHouse: its client waits for a server as long as tests do.
func newPatientHouse(t *testing.T, j judge) *house {
	h := newHouse(t, j)
	limit := patience.Limit().Milliseconds()
	h.environ = append(h.environ, fmt.Sprintf("MCP_TIMEOUT=%d", limit), "MCP_CONNECTION_NONBLOCKING=false", fmt.Sprintf("MCP_CONNECT_TIMEOUT_MS=%d", limit)) // of Claude Code
	return h
}

// record is the file with the messages of a server.
func (h *house) record(name string) string { return h.path(name + ".record") }

// recorded returns the entry of a server behind gauze run, whose messages are recorded.
func (h *house) recorded(name string, args ...string) string {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	list, err := json.Marshal(append([]string{gauzeBinary(), "run"}, args...))
	if err != nil {
		h.t.Fatal(err)
	}
	if h.client == realparts.Codex {
		return fmt.Sprintf("command = %q\nargs = %s\nenv = {%s = %q}\nstartup_timeout_sec = %.0f", self, list, envRecord, h.record(name), patience.Limit().Seconds())
	}
	return fmt.Sprintf(`{"command": %q, "args": %s, "env": {%q: %q}}`, self, list, envRecord, h.record(name))
}

// wantInitialized wants this text in every answer to initialize, and at least one answer.
func (h *house) wantInitialized(name, text string) {
	h.t.Helper()
	answers := 0
	for _, o := range openings(h.t, h.record(name)) {
		if o.answer == "" {
			continue // the client left before
		}
		h.t.Logf("%s, %s: %s answered after %.1f s", h.client, name, o.method, o.took.Seconds())
		if o.method != "initialize" {
			continue
		}
		answers++
		if !strings.Contains(o.answer, text) {
			h.t.Errorf("%s, %s: initialize is answered with %s, want %q in it", h.client, name, o.answer, text)
		}
	}
	if answers == 0 {
		h.t.Errorf("%s, %s: initialize was not answered", h.client, name)
	}
}
