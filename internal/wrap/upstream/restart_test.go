package upstream

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/executable"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
)

// ends is the history of a server, as a test tells it.
type ends struct {
	r   restarts
	now time.Time
}

func history(r Restart) *ends {
	return &ends{r: restarts{Restart: r.withDefaults()}, now: time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)}
}

// after lets a generation run for a while and end like this.
func (h *ends) after(ran time.Duration, e Evidence, chance float64) plan {
	h.now = h.now.Add(ran)
	e.Ran = ran
	if e.Stage >= Spoke {
		e.Served = ran
	}
	p := h.r.after(e, h.now, chance)
	h.now = h.now.Add(p.wait)
	return p
}

var (
	crashed = Evidence{Stage: Spoke, Exit: "signal: killed", Code: -1}
	served  = Evidence{Stage: Spoke, Exit: "signal: killed", Code: -1, Used: true}
	greeted = Evidence{Stage: Spoke, Exit: "signal: killed", Code: -1, Greeted: true}
	early   = Evidence{Stage: Started, Exit: "exit status 1", Code: 1}
)

func TestTheFirstRestartIsAtOnce(t *testing.T) {
	t.Parallel()
	for _, e := range []Evidence{crashed, early} {
		if p := history(Restart{}).after(time.Second, e, 0.999); p.wait != 0 || p.open || p.permanent || p.code != fault.ServerUnavailable {
			t.Errorf("%+v", p)
		}
	}
}

func TestLaterRestartsWaitAtRandomWithinAGrowingBound(t *testing.T) {
	t.Parallel()
	for _, chance := range []float64{0, 0.5, 0.999} {
		h := history(Restart{Limit: -1})
		h.after(time.Second, crashed, chance)
		limit := 200 * time.Millisecond
		for n := range 40 {
			limit = min(2*limit, 30*time.Second)
			p := h.after(time.Second, crashed, chance)
			if want := time.Duration(chance * float64(limit)); p.wait != want || p.open {
				t.Errorf("restart %d by chance %v: %v, want %v", n+2, chance, p.wait, want)
			}
		}
	}
}

func TestAProcessThatCannotBeStartedIsNotTriedAgainAtOnce(t *testing.T) {
	t.Parallel()
	h := history(Restart{})
	p := h.after(0, Evidence{Spawn: fmt.Errorf("fork: %w", syscall.EAGAIN)}, 0.5)
	if p.wait != 100*time.Millisecond || p.permanent || p.code != fault.SpawnFailed {
		t.Errorf("%+v", p)
	}
}

// A server that was of use has shown that it can start: what keeps it from
// starting now, such as a database that restarts, may pass.
func TestAServerThatWorkedIsTriedAgainAfterEqualEarlyEnds(t *testing.T) {
	t.Parallel()
	for says, worked := range map[string]Evidence{"it answered a call": served, "it finished its handshake": greeted} {
		h := history(Restart{})
		h.after(time.Second, worked, 0.5)
		paused := false
		for n := range 20 {
			p := h.after(100*time.Millisecond, early, 0.5)
			if p.permanent || p.code == fault.ServerExitsEarly {
				t.Fatalf("%s: after early end %d: %+v", says, n+1, p)
			}
			paused = paused || p.open && p.code == fault.CrashLoop
		}
		if !paused {
			t.Errorf("%s: twenty early ends are no crash loop", says)
		}
	}
}

// A handshake shows that a server can start, not that it is of use.
func TestAServerThatExitsAfterEachHandshakeIsACrashLoop(t *testing.T) {
	t.Parallel()
	h := history(Restart{})
	for n := range 5 {
		if p := h.after(time.Second, greeted, 0); p.open {
			t.Fatalf("restart %d: %+v", n+1, p)
		}
	}
	if p := h.after(time.Second, greeted, 0); !p.open || p.permanent || p.code != fault.CrashLoop {
		t.Errorf("%+v", p)
	}
}

// A generation that the user replaced counts as one that worked, if it did.
func TestAServerThatTheUserReplacedIsTriedAgainAfterEqualEarlyEnds(t *testing.T) {
	t.Parallel()
	h := history(Restart{})
	replaced := served
	replaced.ByUs = UserRestart
	h.r.credit(replaced)
	for n := range 20 {
		if p := h.after(100*time.Millisecond, early, 0.5); p.permanent || p.code == fault.ServerExitsEarly {
			t.Fatalf("after early end %d: %+v", n+1, p)
		}
	}
}

func TestWithoutBackoffEveryRestartIsAtOnce(t *testing.T) {
	t.Parallel()
	h := history(Restart{Backoff: -1, Limit: -1})
	for range 100 {
		if p := h.after(time.Millisecond, crashed, 0.9); p.wait != 0 || p.open {
			t.Fatalf("%+v", p)
		}
	}
}

func TestAUsefulGenerationIsRestartedImmediately(t *testing.T) {
	t.Parallel()
	h := history(Restart{})
	for n := range 1000 {
		if p := h.after(time.Millisecond, served, 0.999); p.wait != 0 || p.open || p.code == fault.CrashLoop {
			t.Fatalf("restart %d: %+v", n+1, p)
		}
	}
}

func TestAUsefulGenerationClearsTheRecord(t *testing.T) {
	t.Parallel()
	for says, useful := range map[string]func(*ends) plan{
		"it answered a call":   func(h *ends) plan { return h.after(time.Millisecond, served, 0.5) },
		"it stayed up a while": func(h *ends) plan { return h.after(10*time.Second, crashed, 0.5) },
	} {
		h := history(Restart{})
		for range 9 { // five restarts, then pauses
			h.after(time.Millisecond, crashed, 0.5)
		}
		if p := useful(h); p.wait != 0 || p.open {
			t.Errorf("%s: %+v", says, p)
		}
		for n := range 5 {
			if p := h.after(time.Millisecond, crashed, 0); p.open {
				t.Errorf("%s: useless generations before it still count at restart %d: %+v", says, n+1, p)
			}
		}
	}
}

func TestASlowStartIsNotTimeUp(t *testing.T) {
	t.Parallel()
	h := history(Restart{Limit: -1})
	slow := Evidence{Stage: Started, Exit: "exit status 1", Code: 1, Stderr: []string{"a"}}
	other := Evidence{Stage: Started, Exit: "exit status 2", Code: 2, Stderr: []string{"b"}}
	h.after(time.Minute, slow, 0.5)
	if p := h.after(time.Minute, other, 0.5); p.wait == 0 {
		t.Errorf("a server that never sent a message counts as useful: %+v", p)
	}
}

func TestFiveUselessGenerationsInAMinuteAreAllowedAndNotSix(t *testing.T) {
	t.Parallel()
	h := history(Restart{})
	for n := range 5 {
		if p := h.after(time.Second, crashed, 0); p.open {
			t.Fatalf("restart %d: %+v", n+1, p)
		}
	}
	p := h.after(time.Second, crashed, 0)
	if !p.open || p.permanent || p.wait != 2*time.Second || p.code != fault.CrashLoop || !strings.Contains(p.detail, "6 times within 1m0s") {
		t.Errorf("%+v", p)
	}
}

func TestRestartsOverALongerTimeAreNoLoop(t *testing.T) {
	t.Parallel()
	h := history(Restart{})
	for n := range 50 {
		if p := h.after(13*time.Second, crashed, 0); p.open {
			t.Fatalf("restart %d: %+v", n+1, p)
		}
	}
}

func TestAfterAPauseThereIsOneTryAndThenALongerPause(t *testing.T) {
	t.Parallel()
	h := history(Restart{})
	for range 5 {
		h.after(time.Millisecond, crashed, 0)
	}
	for n, want := range []time.Duration{2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		if p := h.after(time.Millisecond, crashed, 0); !p.open || p.wait != want*time.Second {
			t.Errorf("pause %d: %+v, want %v", n+1, p, want*time.Second)
		}
	}
	if p := h.after(time.Minute, crashed, 0); p.open || p.wait != 0 {
		t.Errorf("after a healthy life: %+v", p)
	}
}

// Replicas behind a balancer without sticky sessions forget the session again
// and again. That is not a crash loop, and it must not spin.
func TestAForgottenSessionIsNoCrashLoop(t *testing.T) {
	t.Parallel()
	sessionForgotten := Evidence{Stage: Spoke, Remote: true, Gone: true, Spawn: errors.New("HTTP 404")}
	h := history(Restart{})
	waited := time.Duration(0)
	for n := range 50 {
		p := h.after(time.Millisecond, sessionForgotten, 0.9)
		if p.open || p.permanent || p.code == fault.CrashLoop || p.wait > maxUnreachedWait {
			t.Fatalf("session %d: %+v", n+1, p)
		}
		waited += p.wait
	}
	if waited < time.Minute {
		t.Errorf("50 useless sessions within %v", waited)
	}
	used := sessionForgotten
	used.Used = true
	if p := h.after(time.Millisecond, used, 0.9); p.wait != 0 {
		t.Errorf("a session that was used is renewed immediately: %+v", p)
	}
}

func TestThreeEqualEarlyEndsAreTheLast(t *testing.T) {
	t.Parallel()
	failing := func(exit string, lines ...string) Evidence {
		return Evidence{Stage: Started, Exit: exit, Code: 1, Stderr: lines}
	}
	for _, story := range []struct {
		says string
		ends []Evidence
		last bool
	}{
		{"two are not enough", []Evidence{early, early}, false},
		{"three are", []Evidence{early, early, early}, true},
		{"also with their last words", []Evidence{failing("exit status 1", "no config"), failing("exit status 1", "no config"), failing("exit status 1", "no config")}, true},
		{"times, process ids and addresses may differ", []Evidence{
			failing("exit status 1", "12:00:09 pid 99 at 0xc000 died after 9.5ms"),
			failing("exit status 1", "12:00:10 pid 100 at 0xfe12 died after 10ms"),
			failing("exit status 1", "12:01:00 pid 4 at 0x1 died after 10.25ms")}, true},
		{"other words are another end", []Evidence{failing("exit status 1", "a"), failing("exit status 1", "b"), failing("exit status 1", "a")}, false},
		{"another exit status is another end", []Evidence{failing("exit status 1"), failing("exit status 2"), failing("exit status 1")}, false},
		{"a server that spoke in between is another story", []Evidence{early, early, crashed, early, early}, false},
		{"one that spoke each time may come back", []Evidence{crashed, crashed, crashed, crashed}, false},
		{"one that we ended is not to blame", []Evidence{
			{Stage: Started, Exit: "signal: killed", ByUs: "it did not answer"}, {Stage: Started, Exit: "signal: killed", ByUs: "it did not answer"},
			{Stage: Started, Exit: "signal: killed", ByUs: "it did not answer"}}, false},
	} {
		t.Run(story.says, func(t *testing.T) {
			h := history(Restart{Limit: -1})
			var p plan
			for i, e := range story.ends {
				if p.permanent {
					t.Fatalf("given up after %d ends", i)
				}
				p = h.after(time.Second, e, 0)
			}
			if p.permanent != story.last || story.last && p.code != fault.ServerExitsEarly {
				t.Errorf("%+v, want the last: %v", p, story.last)
			}
		})
	}
}

func TestSomeEndsNoRestartCanMend(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "script")
	if err := executable.Write(script, []byte("#!/no/such/interpreter\n")); err != nil {
		t.Fatal(err)
	}
	path := func(err error, at string) error { return &fs.PathError{Op: "fork/exec", Path: at, Err: err} }
	for _, story := range []struct {
		says string
		end  Evidence
		code fault.Code
		name string // shown in the detail
	}{
		{"a command that is not in the PATH", Evidence{Spawn: &exec.Error{Name: "no-such", Err: exec.ErrNotFound}}, fault.CommandNotFound, `"no-such"`},
		{"a file that is not there", Evidence{Spawn: path(syscall.ENOENT, "/no/such/file")}, fault.CommandNotFound, "/no/such/file"},
		{"a script whose interpreter is not there", Evidence{Spawn: path(syscall.ENOENT, script)}, fault.CommandBadFormat, "interpreter"},
		{"a file that may not be executed", Evidence{Spawn: path(syscall.EACCES, "/etc/passwd")}, fault.CommandNotExecutable, "/etc/passwd"},
		{"a file of another kind", Evidence{Spawn: path(syscall.ENOEXEC, "/bin/x")}, fault.CommandBadFormat, "/bin/x"},
		{"a directory that is not there", Evidence{Spawn: &launch.WorkdirError{Dir: "/no/dir"}}, fault.WorkdirMissing, "/no/dir"},
		{"exit status 127", Evidence{Stage: Started, Code: 127}, fault.CommandNotFound, "127"},
		{"exit status 126", Evidence{Stage: Started, Code: 126}, fault.CommandNotExecutable, "126"},
	} {
		t.Run(story.says, func(t *testing.T) {
			p := history(Restart{}).after(0, story.end, 0)
			if !p.permanent || p.code != story.code || !strings.Contains(p.detail, story.name) {
				t.Errorf("%+v, want %s with %s", p, story.code, story.name)
			}
		})
	}
	for says, e := range map[string]Evidence{
		"127 from a server that worked":  {Stage: Spoke, Code: 127},
		"126 from a server that worked":  {Stage: Spoke, Code: 126},
		"127 from a server that we stop": {Stage: Started, Code: 127, ByUs: "the client left"},
		"no process to be had":           {Spawn: path(syscall.EAGAIN, "/bin/x")},
		"no memory to be had":            {Spawn: path(syscall.ENOMEM, "/bin/x")},
		"no file to be had":              {Spawn: errors.New("too many open files")},
	} {
		if p := history(Restart{}).after(0, e, 0); p.permanent {
			t.Errorf("%s: given up: %+v", says, p)
		}
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]Evidence{
		"it exited (exit status 3)":      {Exit: "exit status 3"},
		"gauze stopped it: it floods":    {Exit: "signal: killed", ByUs: "it floods"},
		"fork: too many open files here": {Spawn: errors.New("fork: too many open files here")},
	} {
		if got := e.Sentence(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A program that only the current directory has is not started, now or later.
func TestAProgramOnlyInTheCurrentDirectoryIsNotFound(t *testing.T) {
	err := &exec.Error{Name: "server", Err: exec.ErrDot}
	if code, detail, ok := permanent(Evidence{Spawn: err}); !ok || code != fault.CommandNotFound {
		t.Errorf("%s, %q, %v", code, detail, ok)
	}
	if life.Errno(err) != "ENOENT" {
		t.Errorf("errno %q", life.Errno(err))
	}
}
