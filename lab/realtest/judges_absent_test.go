//go:build linux

package realtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// absentServer is a server that does not work, and what a client must learn of it.
type absentServer struct {
	name  string
	build func(h *house) []string // returns the arguments of gauze run
	cause string                  // part of the explanation
}

var absentServers = []absentServer{
	{"refused", func(h *house) []string {
		return []string{"--url", fmt.Sprintf("http://127.0.0.1:%d/mcp", freePort(h.t))}
	}, "Nothing is listening on port"},
	{"host", func(*house) []string { return []string{"--url", "http://nothing.invalid/mcp"} }, "The host name nothing.invalid could not be resolved"},
	{"program", func(*house) []string { return []string{"--", "no-such-program"} }, "is not on the PATH that the client provides"},
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
			h := newHouse(t, j)
			for _, s := range absentServers {
				h.addRecorded(s.name, s.build(h)...)
			}
			v, errs := h.ask(h)
			if len(errs) > 0 || len(v.listed) != len(absentServers) || len(v.connected) > 0 {
				t.Errorf("%s lists %q and speaks with %q: %v", h.client, v.listed, v.connected, errs)
			}
			for _, s := range absentServers {
				if !strings.Contains(v.said, s.cause) {
					t.Errorf("%s does not say of %s %q", h.client, s.name, s.cause)
				}
				h.wantInitialized(s.name, s.cause)
			}
		})
	}
}

// addRecorded adds a server behind gauze run, whose messages are recorded.
func (h *house) addRecorded(name string, args ...string) {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	h.add(name, append([]string{"--no-test", "--env", envRecord + "=" + h.path(name+".record"), "--", self, gauzeBinary(), "run"}, args...)...)
}

// wantInitialized wants this text in every answer to initialize, and at least one answer.
func (h *house) wantInitialized(name, text string) {
	h.t.Helper()
	answers := 0
	for _, o := range openings(h.t, h.path(name+".record")) {
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

// The session of a client begins without its server, if the server was reached before, and works as soon as the server
// is there.
func TestJudgesBeginWithoutAServer(t *testing.T) {
	const name = "remote"
	for _, j := range judges[:2] {
		t.Run(string(j.client), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, j)
			server := everythingHTTP.start(t)
			h.addRecorded(name, "--url", server.url())
			h.converse(name, func(echo func(want string)) { echo(server.want) })
			server.kill()
			if err := os.Remove(h.path(name + ".record")); err != nil {
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
