package agenttools

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
)

// serveInstead turns this process into one that is started as a command and serves HTTP, until its stdin ends.
func serveInstead() {
	address := os.Getenv("GAUZE_TEST_SERVE_HTTP")
	if address == "" {
		return
	}
	web := faultyhttp.New(faultyhttp.Config{Era: faultyhttp.Legacy, Listen: address})
	if err := web.Start(); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "INFO: Uvicorn running on "+web.URL()+" (Press CTRL+C to quit)")
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func init() { serveInstead() }

// freeAddress returns an address on this machine at which nothing listens.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A command that serves HTTP is reached at its URL, and the URL written, each after the user agreed. They
// read that nothing starts the server then.
func TestACommandThatServesHTTPIsAskedAbout(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []settings{{version: legacy, allow: true}, {version: modern, person: yes}} {
		a := newAgent(t, s)
		a.write(".claude.json", fmt.Sprintf(`{"mcpServers": {"web": {"type": "stdio", "command": %q, "env": {"GAUZE_TEST_SERVE_HTTP": %q, "API_TOKEN": %q}, "alwaysAllow": ["x"]}}}`, own, freeAddress(t), secret))
		before := a.read(".claude.json")
		r, shown := a.agreeing("test_connection", object{"server": "web", "timeout_seconds": 3})
		if r.get("status") != done || !r.data["works"].(bool) || a.read(".claude.json") != before {
			t.Fatalf("%+v", r)
		}
		asked := append(shown, a.asked...)
		if len(asked) != 1 || !strings.Contains(asked[0], "http://127.0.0.1:") || !strings.Contains(asked[0], "instead of the command "+own) {
			t.Errorf("asked %q", asked)
		}
		if final := r.data["report"].(object)["configuration"].(string); !strings.HasPrefix(final, "http://127.0.0.1:") || strings.Contains(final, "API_TOKEN") {
			t.Errorf("%q", final)
		}
		if !strings.Contains(r.text, "keep it running yourself: "+filepath.Dir(own)) {
			t.Errorf("%s", r.text)
		}
		r, _ = a.agreeing("heal_server", object{"server": "web", "timeout_seconds": 3})
		now := a.read(".claude.json")
		if r.get("status") != done || !strings.Contains(now, `"url": "http://127.0.0.1:`) || !strings.Contains(now, `"type": "http"`) || !strings.Contains(now, "alwaysAllow") ||
			strings.Contains(now, "command") || strings.Contains(now, secret) {
			t.Errorf("%s\n%+v", now, r)
		}
		if strings.Contains(a.heard.String(), secret) {
			t.Error("the secret was told")
		}
	}
}
