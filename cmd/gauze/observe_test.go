package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// announced waits until as many wraps are announced in dir, and returns them.
func announced(t *testing.T, dir string, n int) []live.Server {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	limit := time.After(patience.Limit())
	for {
		all, err := live.All(t.Context(), dir)
		if err == nil && len(all) == n {
			return all
		}
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("%d wraps are announced, want %d: %v", len(all), n, err)
		}
	}
}

func TestARunningWrapAnswersForItself(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "gauze-live-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := startRun(t, []string{"GAUZE_STATE_DIR=" + dir}, "--quiet", "--no-journal", "--name", "notes", "--tool", "echo:timeout=1m", "--", "faultyserver").initialize()
	w.call("echo", `{"text":"x"}`)
	w.response()
	s := announced(t, dir, 1)[0]
	if s.Name != "notes" || s.PID != w.cmd.Process.Pid || s.Via != "run" || s.State != "healthy" || s.Counts.Calls != 2 || s.Sessions != 1 || s.ServerPID == 0 ||
		s.Since.IsZero() || s.Up.IsZero() || s.Counts.Latency.Count() != 2 || s.Counts.P95 <= 0 || s.Version == "" {
		t.Errorf("%+v", s)
	}
	if err := live.Restart(t.Context(), dir, s.ID); err != nil {
		t.Error(err)
	}
	w.call("pid", `{}`)
	w.response()
	d, err := live.One(t.Context(), dir, s.ID)
	if err != nil || d.Server.ServerPID == s.ServerPID || d.Server.Restarts != 1 || d.Server.Counts.Healed != 0 || d.Server.Counts.Closures["restart"] != 1 || d.Command != "faultyserver" || len(d.Recent) != 3 || d.Recent[0].Tool != "echo" {
		t.Errorf("%+v, %v", d, err)
	}
	for _, tool := range d.Tools {
		if tool.Name == "echo" && (tool.Policy != "timeout=1m0s" || tool.Calls != 2) {
			t.Errorf("%+v", tool)
		}
	}
	w.in.Close()
	w.wantEnd(0)
	if left, _ := os.ReadDir(filepath.Join(dir, "live")); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}

func TestAWrapIsNotAnnouncedIfTheUserTurnedItOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := startRun(t, []string{"GAUZE_STATE_DIR=" + dir, "GAUZE_LIVE=off"}, "--quiet", "--", "faultyserver").initialize()
	w.in.Close()
	w.wantEnd(0)
	if _, err := os.Stat(filepath.Join(dir, "live")); err == nil {
		t.Error("it was announced")
	}
}

// A wrap works without an announcement.
func TestAWrapThatCannotBeAnnouncedWorks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "live"), nil, 0o600); err != nil { // not a directory
		t.Fatal(err)
	}
	w := startRun(t, []string{"GAUZE_STATE_DIR=" + dir}, "--", "faultyserver").initialize()
	w.call("echo", `{"text":"x"}`)
	w.response()
	w.in.Close()
	w.wantEnd(0)
	if said := w.stderr.String(); said != "" {
		t.Errorf("it said %q", said)
	}
}

func TestAServerOfATaskAnswersForItself(t *testing.T) {
	dir, err := os.MkdirTemp("", "gauze-live-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("GAUZE_STATE_DIR", dir)
	end := observeSession(proxy.New(proxy.Options{Name: "files", Spec: launch.Spec{Command: "faultyserver"}}), "task", recording{}).announce()
	if s := announced(t, dir, 1)[0]; s.Name != "files" || s.Via != "task" || s.State != proxy.StateStarting {
		t.Errorf("%+v", s)
	}
	end()
	announced(t, dir, 0)
}

// Whoever asks a wrap finds in the journal what the wrap says, and learns if nothing is recorded.
func TestAWrapThatIsAskedHasRecorded(t *testing.T) {
	t.Setenv("GAUZE_STATE_DIR", t.TempDir())
	defer func(before time.Duration) { maxSettle = before }(maxSettle)
	maxSettle = time.Minute
	events := event.New()
	recorded := recordEvents(events, false)
	defer recorded.finish()
	session := proxy.New(proxy.Options{Name: "files", Spec: launch.Spec{Command: "faultyserver"}})
	asked := observeSession(session, "run", recorded).asked()
	path, err := journalPath()
	if err != nil {
		t.Fatal(err)
	}
	for n, ask := range []func() live.Server{asked.Server, func() live.Server { return asked.Detail().Server }} {
		events.Emit(event.Event{Kind: event.Restored, Server: "files"})
		if s := ask(); s.Counts.NotRecorded {
			t.Error("it says that nothing is recorded")
		}
		j, err := journal.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		records, err := j.Events(t.Context(), journal.Query{})
		j.Close()
		if err != nil || len(records) != n+1 {
			t.Errorf("%d events are recorded, want %d: %v", len(records), n+1, err)
		}
	}
	if s := observeSession(session, "run", recordEvents(event.New(), true)).asked().Server(); !s.Counts.NotRecorded {
		t.Error("it does not say that nothing is recorded")
	}
}
