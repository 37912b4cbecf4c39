package fleet

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
)

// lazyEntries are three ways to write an entry whose server connects to port 5999 only when it is
// called, and the part that holds the port.
var lazyEntries = map[string]struct{ file, text, port string }{
	"argument":        {".cursor/mcp.json", `{"mcpServers": {"orders": {"command": "orders-mcp", "args": ["--db", "postgres://me@localhost:5999/orders"]}}}`, "localhost:5999"},
	"variable":        {".cursor/mcp.json", `{"mcpServers": {"orders": {"command": "orders-mcp", "args": [], "env": {"REDIS_URL": "redis://127.0.0.1:5999"}}}}`, "127.0.0.1:5999"},
	"inside gauze":    {".codex/config.toml", "[mcp_servers.orders] # mine\ncommand = \"/usr/bin/gauze\"\nargs = [\"run\", \"--\", \"orders-mcp\", \"postgres://me@localhost:5999/orders\"]\n", "localhost:5999"},
	"separate number": {".cursor/mcp.json", `{"mcpServers": {"orders": {"command": "orders-mcp", "args": [], "env": {"PGHOST": "localhost", "PGPORT": "5999"}}}}`, `"PGPORT": "5999`},
}

func TestAServerWhoseCallsFailIsReportedAndItsPortRewritten(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // what compose publishes port 5999 as
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	outer := listener.Addr().(*net.TCPAddr).Port
	for name, entry := range lazyEntries {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			for file := range settings {
				h.write(file, "")
			}
			h.write(entry.file, entry.text)
			h.write("work/compose.yaml", fmt.Sprintf("services:\n  db:\n    ports: [\"%d:5999\"]\n", outer))
			h.fleet.Calls = doctor.CallLogIn(t.TempDir())
			view := h.fleet.Look()
			var s *Server
			for _, one := range view.Servers {
				if one.Name == "orders" {
					s = one
				}
			}
			if s == nil {
				t.Fatalf("no entry in %+v", view.Servers)
			}
			h.fleet.Calls.Put(s.Real(), doctor.CallFailure{At: time.Now(), Tool: "count", Dir: h.dir + "/work", Category: doctor.ConnectionRefused,
				Cause: "companion_app_not_running", Explanation: "The connection was refused.", Fix: "Start it.", Said: "connect ECONNREFUSED 127.0.0.1:5999"})
			c := &Checked{Server: s, Tried: true, Report: doctor.Report{Healthy: true}}
			h.fleet.recall(c, h.fleet.machine(false))
			if v := c.Verdict(); v.State != Warned || v.Action != Repair || !strings.Contains(v.Cause, "the last call to count failed just now: The connection was refused") ||
				v.Next != "gauze doctor --fix "+s.ID() {
				t.Fatalf("%+v", v)
			}
			if c.Health() != "degraded" {
				t.Error(c.Health())
			}
			if p := view.FixAndKeep([]*Checked{c}, false, view.WithoutReview); !p.Empty() {
				t.Errorf("changed without a review: %s", p.Diff())
			}
			h.apply(view.FixAndKeep([]*Checked{c}, false, WithReview))
			port := strings.Replace(entry.port, "5999", fmt.Sprint(outer), 1)
			if got, want := h.read(entry.file), strings.Replace(entry.text, entry.port, port, 1); got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
	}
}

func TestAFailedCallWithoutAChangeIsLeftToThePerson(t *testing.T) {
	h := newHome(t)
	h.fleet.Calls = doctor.CallLogIn(t.TempDir())
	s := must(h.fleet.Look().Choose(Choice{Names: []string{"codex/time"}}))[0]
	h.fleet.Calls.Put(s.Real(), doctor.CallFailure{At: time.Now().Add(-3 * time.Hour), Tool: "count", Category: doctor.AuthFailed,
		Cause: "invalid_api_key", Explanation: "The service rejected the key.", Fix: "Renew the key.", Said: "401 bad credentials"})
	c := &Checked{Server: s, Tried: true, Report: doctor.Report{Healthy: true}}
	h.fleet.recall(c, h.fleet.machine(false))
	if v := c.Verdict(); v.State != Warned || v.Action != ByHand || v.Cause != "starts, but the last call to count failed 3 hours ago: The service rejected the key." {
		t.Errorf("%+v", v)
	}
}
