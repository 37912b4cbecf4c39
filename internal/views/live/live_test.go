package live_test

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// stateDir returns a directory whose path is short enough for a socket.
func stateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gauze-live-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func source(name string, restarts *int) live.Source {
	return live.Source{
		Server:  func() live.Server { return live.Server{Name: name, State: "healthy", Counts: live.Counts{Calls: 7}} },
		Detail:  func() live.Detail { return live.Detail{Server: live.Server{Name: name}, Command: "npx " + name} },
		Restart: func() error { *restarts++; return nil },
	}
}

func announce(t *testing.T, dir, name string, s live.Source) *live.Announcement {
	t.Helper()
	a, err := live.Announce(dir, name, s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAWrapAnswersUntilItCloses(t *testing.T) {
	for _, c := range []struct {
		name string
		dir  string
	}{{"a socket in the file system", stateDir(t)}, {"a path that is too long for one", filepath.Join(stateDir(t), strings.Repeat("long/", 30))}} {
		t.Run(c.name, func(t *testing.T) {
			restarts := 0
			b := announce(t, c.dir, "b", source("b", &restarts))
			a := announce(t, c.dir, "a", source("a", &restarts))
			all, err := live.All(t.Context(), c.dir)
			if err != nil || len(all) != 2 || all[0].Name != "a" || all[1].Name != "b" || all[0].Counts.Calls != 7 || all[0].ID != a.ID {
				t.Fatalf("%+v, %v", all, err)
			}
			if d, err := live.One(t.Context(), c.dir, b.ID); err != nil || d.Command != "npx b" || d.Server.ID != b.ID {
				t.Errorf("%+v, %v", d, err)
			}
			if err := live.Restart(t.Context(), c.dir, a.ID); err != nil || restarts != 1 {
				t.Errorf("%d restarts, %v", restarts, err)
			}
			a.Close()
			b.Close()
			if all, err := live.All(t.Context(), c.dir); err != nil || len(all) != 0 {
				t.Errorf("after Close: %+v, %v", all, err)
			}
			if _, err := live.One(t.Context(), c.dir, a.ID); !errors.Is(err, live.ErrGone) {
				t.Errorf("after Close: %v", err)
			}
			if left, _ := os.ReadDir(filepath.Join(c.dir, "live")); len(left) != 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

func TestAnAnnouncementNobodyListensForIsRemoved(t *testing.T) {
	dir := stateDir(t)
	live.All(t.Context(), dir) // nothing was ever announced
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	file := filepath.Join(dir, "live", "4131-1.json")
	write(t, file, map[string]any{"pid": 4131, "network": "tcp", "address": address, "name": "dead"})
	if all, err := live.All(t.Context(), dir); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is still there")
	}
}

// A socket in the file system that refuses has no listener, whatever the namespaces of its wrap. A
// port may have one in them.
func TestADeadSocketOfADifferentContainerIsRemoved(t *testing.T) {
	windowstest.Skip(t)
	for network, removed := range map[string]bool{"unix": true, "tcp": false} {
		dir := stateDir(t)
		file, address := filepath.Join(dir, "live", "4131-1.json"), "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(dir, "live", "4131-1.sock")
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		if unix, ok := l.(*net.UnixListener); ok {
			unix.SetUnlinkOnClose(false) // as when the wrap is killed
		}
		write(t, file, map[string]any{"pid": 4131, "space": "gone", "network": network, "address": l.Addr().String(), "name": "dead"})
		l.Close()
		if all, err := live.All(t.Context(), dir); err != nil || len(all) != 0 {
			t.Errorf("%+v, %v", all, err)
		}
		if _, err := os.Stat(file); (err != nil) != removed {
			t.Errorf("%s: %v", network, err)
		}
	}
}

// write writes the file of a wrap on this machine.
func write(t *testing.T, file string, about map[string]any) {
	t.Helper()
	if about["host"] == nil {
		about["host"], _ = os.Hostname()
	}
	text, _ := json.Marshal(about)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAWrongTokenGetsNothing(t *testing.T) {
	dir := stateDir(t)
	restarts := 0
	a := announce(t, dir, "a", source("a", &restarts))
	defer a.Close()
	file := filepath.Join(dir, "live", a.ID+".json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var about map[string]any
	if err := json.Unmarshal(text, &about); err != nil {
		t.Fatal(err)
	}
	about["token"] = "guessed"
	write(t, file, about)
	if err := live.Restart(t.Context(), dir, a.ID); err == nil || restarts != 0 {
		t.Errorf("%d restarts, %v", restarts, err)
	}
	if all, err := live.All(t.Context(), dir); err != nil || len(all) != 1 || all[0].State != live.StateSilent || all[0].Counts.Calls != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestWhoAsksDoesNotDelayTheEndOfAWrap(t *testing.T) {
	dir := stateDir(t)
	asked, answer := make(chan bool), make(chan bool)
	restarts := 0
	s := source("a", &restarts)
	s.Restart = func() error { close(asked); <-answer; return nil }
	a := announce(t, dir, "a", s)
	restarted := make(chan error, 1)
	go func() { restarted <- live.Restart(t.Context(), dir, a.ID) }()
	<-asked
	a.Close() // while the restart takes its time
	close(answer)
	if err := <-restarted; err != nil {
		t.Error(err)
	}
}

func TestIDsAreNotPaths(t *testing.T) {
	dir := stateDir(t)
	for _, id := range []string{"", "../x", "a", "1/2", `1\2`} {
		if _, err := live.One(t.Context(), dir, id); !errors.Is(err, live.ErrGone) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
