package kernel_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// below returns how a shell starts a server. The script has the server's command as "$0" "$@".
func below(script string, server launch.Spec) launch.Spec {
	return launch.Spec{Command: "/bin/sh", Args: append([]string{"-c", script, server.Command}, server.Args...), Env: server.Env}
}

// A launcher that waits for its stopped server does not make it look alive.
func TestFaultH06StoppedBelowALauncher(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Timing.HangGrace, o.Timing.HangWait = 100*time.Millisecond, time.Hour
	dir := t.TempDir()
	path, args, env := faultyserver.Command("-state", filepath.Join(dir, "state"))
	o.Spec = below(`"$0" "$@"; true`, launch.Spec{Command: path, Args: args, Env: append(os.Environ(), env...)})
	s := begin(t, o).initialize()
	var server struct{ PID int }
	if err := json.Unmarshal([]byte(s.call("pid", "")), &server); err != nil || server.PID == s.pid() {
		t.Fatalf("%v: the server is %d, its launcher %d", err, server.PID, s.pid())
	}
	if err := faultyserver.Suspend(server.PID); err != nil {
		t.Fatal(err)
	}
	s.call("echo", "")
	s.want(event.Hung, 1)
	s.wantGone(server.PID)
}

// A helper that is stopped says nothing about the server, which may wait for a slow API.
func TestFaultH06AHelperIsStopped(t *testing.T) {
	t.Parallel()
	o := watchful()
	o.Timing.Timeout, o.Timing.HangWait = 0, time.Nanosecond
	dir := t.TempDir()
	g := newGate(t)
	if err := os.WriteFile(filepath.Join(dir, "gate"), []byte(g.Addr()), 0o600); err != nil {
		t.Fatal(err)
	}
	helper := filepath.Join(dir, "helper")
	o.Spec = below(fmt.Sprintf(`sleep 1000 & echo $! >'%s'; exec "$0"`, helper), plainServer("journal", dir))
	s := begin(t, o).initialize()
	text, err := os.ReadFile(helper)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := faultyserver.Suspend(pid); err != nil {
		t.Fatal(err)
	}
	id := s.start("stall", "") // it sleeps, and answers no probe
	s.until("it looks hung", s.looksHung)
	g.open(t)
	s.text(s.answer(id))
	s.want(event.Hung, 0)
	s.want(event.Died, 0)
}

// A server at a breakpoint is left alone, even if the client does not wait as long as the user.
func TestFaultH06ADebuggerHoldsIt(t *testing.T) {
	t.Parallel()
	o := watchful()
	o.Timing.Timeout, o.Timing.HangWait = 0, time.Nanosecond
	o.Timing.HangGrace = time.Second
	s, _ := beginJournal(t, o)
	release, err := faultyserver.Hold(s.pid())
	if err != nil {
		t.Skip("a process may not be traced here: ", err)
	}
	withdrawn := s.start("count", "")
	s.taken()
	s.withdraw(withdrawn)
	id := s.start("count", "")
	s.until("it would look hung", func() bool {
		return time.Duration(s.session.Inside().Misses)*o.Timing.ProbeInterval > 2*o.Timing.HangGrace
	})
	release()
	s.text(s.answer(id))
	s.want(event.Hung, 0)
	s.want(event.Died, 0)
}

// An idle server that is stopped is not reported as healthy, although nobody called it: its process is looked
// at when somebody asks. It is well again as soon as it continues.
func TestAStoppedIdleServerIsNotHealthy(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"itself": "", "below a launcher": `"$0" "$@"; true`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := unprobed()
			if script != "" {
				path, args, env := faultyserver.Command("-state", filepath.Join(t.TempDir(), "state"))
				o.Spec = below(script, launch.Spec{Command: path, Args: args, Env: append(os.Environ(), env...)})
			}
			s := begin(t, o).initialize()
			var server struct{ PID int }
			if err := json.Unmarshal([]byte(s.call("pid", "")), &server); err != nil {
				t.Fatal(err)
			}
			is := func(want health.State) func() bool {
				return func() bool {
					return s.session.Upstream().Snapshot().State == want && s.session.Observe(false).State == want.String()
				}
			}
			s.until("it is healthy", is(health.Healthy))
			if err := faultyserver.Suspend(server.PID); err != nil {
				t.Fatal(err)
			}
			s.until("it is unresponsive", is(health.Unresponsive))
			if err := faultyserver.Resume(server.PID); err != nil {
				t.Fatal(err)
			}
			s.until("it is healthy again", is(health.Healthy))
			s.call("echo", "")
			s.want(event.Started, 1)
			s.want(event.ProbeMissed, 0)
		})
	}
}
