package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// untilState waits until the only wrap in dir says that its server is in a state.
func untilState(t *testing.T, dir, state string) live.Server {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for limit := time.After(patience.Limit()); ; {
		s := announced(t, dir, 1)[0]
		if s.State == state {
			return s
		}
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("it is %s, want %s: %+v", s.State, state, s)
		}
	}
}

// until reads messages up to one that contains all of these texts.
func (w *wrapped) until(texts ...string) string {
	w.t.Helper()
	for {
		line, err := w.out.ReadString('\n')
		if err != nil {
			w.t.Fatalf("no %q: %v\n%s", texts, err, w.stderr)
		}
		missing := false
		for _, text := range texts {
			missing = missing || !strings.Contains(line, text)
		}
		if !missing {
			return line
		}
	}
}

// succeeds makes a call, and checks that it succeeds.
func (w *wrapped) succeeds(tool, arguments string) {
	w.t.Helper()
	id := w.call(tool, arguments)
	if line := w.until(fmt.Sprintf(`"id":%d,`, id)); !strings.Contains(line, `"content"`) || strings.Contains(line, `"isError":true`) {
		w.t.Errorf("%s: %s", tool, line)
	}
}

// lazyDir returns a state directory whose name is short enough for a socket.
func lazyDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gauze-lazy-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// starts returns what a server counts at each start, to see that it was not started.
func starts(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

const lazyHello = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`

// What a server said the last time answers for it before any process runs. The first call starts it, it is stopped
// when nothing uses it, and the next call starts it again; if it differs, the client is told, and if it crashes, it
// is healed.
func TestRunLazy(t *testing.T) {
	t.Parallel()
	dir, file := lazyDir(t), filepath.Join(t.TempDir(), "state")
	server := []string{"--", "faultyserver", "-era", "legacy", "-tools-change", "-state", file, "-ledger", filepath.Join(t.TempDir(), "ledger")}
	environ := []string{"GAUZE_STATE_DIR=" + dir}
	first := startRun(t, environ, append([]string{"--name", "notes"}, server...)...).initialize()
	first.request("tools/list", `{}`)
	first.response()
	first.in.Close()
	first.wantEnd(0)
	before := starts(t, file)

	w := startRun(t, environ, append([]string{"--name", "notes", "--lazy", "--idle", "100ms"}, server...)...)
	w.request("initialize", lazyHello)
	w.until(`"id":1,`, `"listChanged":true`)
	fmt.Fprintln(w.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w.request("tools/list", `{}`)
	w.until(`"id":2,`, `"name":"get"`)
	s := untilState(t, dir, live.StateAsleep)
	if s.ServerPID != 0 || s.Counts.ToolCount == 0 || starts(t, file) != before {
		t.Errorf("it was started: %+v", s)
	}
	for _, args := range [][]string{{"status"}, {"status", "notes"}} {
		cmd := program(t, "gauze", args...)
		cmd.Env = append(os.Environ(), environ...)
		if text, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), "asleep") || !strings.Contains(string(text), "the next call starts it") {
			t.Errorf("%s: %s, %v", args, text, err)
		}
	}

	w.call("echo", `{"text":"x"}`)
	w.until("notifications/tools/list_changed") // and the answer, in any order
	if starts(t, file) == before {
		t.Error("it was not started")
	}
	w.request("tools/list", `{}`)
	w.until(`"id":4,`, `"name":"extra"`)
	for range 2 {
		s = untilState(t, dir, live.StateAsleep)
		w.succeeds("pid", `{}`)
	}
	if s.Restarts != 0 || s.Counts.Healed != 0 || s.Counts.Failed != 0 || s.LastReason != "" || s.Counts.Closures["idle"] == 0 {
		t.Errorf("a sleep counts as a failure: %+v", s)
	}

	w.succeeds("die_read", `{"signal":"KILL","times":1}`)
	if s = untilState(t, dir, live.StateAsleep); s.Counts.Healed != 1 || s.Counts.Replayed != 1 || s.Restarts != 1 {
		t.Errorf("%+v", s)
	}
	w.in.Close()
	w.wantEnd(0)
	killed := "(signal: killed)"
	if runtime.GOOS == "windows" {
		killed = "(exit status 1)"
	}
	if text := w.stderr.String(); strings.Contains(text, "not in use") || !strings.Contains(text, "the server exited "+killed) {
		t.Errorf("it said %s", text)
	}
}

// A server that was never seen is started for initialize, and stopped like any other.
func TestRunLazyWithAnUnknownServer(t *testing.T) {
	t.Parallel()
	dir := lazyDir(t)
	w := startRun(t, []string{"GAUZE_STATE_DIR=" + dir}, "--quiet", "--idle", "100ms", "--", "faultyserver").initialize() // --idle implies --lazy
	untilState(t, dir, live.StateAsleep)
	w.call("echo", `{"text":"again"}`)
	w.until(`"again"`)
	w.in.Close()
	w.wantEnd(0)
}
