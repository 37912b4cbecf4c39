package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/views/live"
)

// A gateway answers for servers that sleep, and is ready.
func TestServeLazy(t *testing.T) {
	t.Parallel()
	dir, file := lazyDir(t), filepath.Join(t.TempDir(), "state")
	before := ""
	for _, known := range []bool{false, true} {
		g := startServeIn(t, dir, "--no-token", "--quiet", "--lazy", "--idle", "100ms", "--", "faultyserver", "-era", "legacy", "-state", file)
		_, hello, header := g.post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+lazyHello+`}`)
		session := header.Get("Mcp-Session-Id")
		g.post(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		_, list, _ := g.post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		if !strings.Contains(hello, `"faultyserver"`) || !strings.Contains(list, `"name":"echo"`) {
			t.Errorf("%s\n%s", hello, list)
		}
		s := untilState(t, dir, live.StateAsleep)
		if now := starts(t, file); (now == before) != known {
			t.Errorf("known %v, started %v: %+v", known, now != before, s)
		}
		if r, err := http.Get(strings.TrimSuffix(g.url, "/mcp") + "/readyz"); err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("%+v, %v", r, err)
		} else {
			r.Body.Close()
		}
		if _, said, _ := g.post(session, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"awake"}}}`); !strings.Contains(said, "awake") {
			t.Error(said)
		}
		untilState(t, dir, live.StateAsleep)
		before = starts(t, file)
		g.stop()
	}
}
