package probe

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	limits "github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// hastyOptions are options that let a test see in a moment what takes a minute. A server that has to
// get somewhere first is tried with until.
var hastyOptions = Options{Timeout: 400 * time.Millisecond, MaxWait: 5 * time.Second}

func init() {
	if runtime.GOOS == "windows" {
		hastyOptions.Timeout = 2 * time.Second // a process takes longer to start there
	}
}

// patientOptions is for servers that are expected to answer, on a machine that may be
// busy.
var patientOptions = Options{Timeout: limits.Limit()}

// until calls try with limits that double until the server got as far as the test needs: on a busy
// machine it takes longer.
func until(o Options, reached func(Result) bool, try func(Options) Result) Result {
	for {
		if a := try(o); reached(a) || o.Timeout > limits.Limit()/4 {
			return a
		}
		o.Timeout, o.MaxWait = 2*o.Timeout, 2*o.MaxWait
	}
}

// runUntil calls run with limits that double until the server got as far as the test needs.
func runUntil(t *testing.T, spec launch.Spec, o Options, reached func(Result) bool) Result {
	t.Helper()
	return until(o, reached, func(o Options) Result { return run(t, t.Context(), spec, o) })
}

// faulty is the spec of a faulty server.
func faulty(flags ...string) launch.Spec {
	path, args, env := faultyserver.Command(flags...)
	return launch.Spec{Command: path, Args: args, Env: append(os.Environ(), env...)}
}

// run calls Run and checks that it leaves nothing behind.
func run(t *testing.T, ctx context.Context, spec launch.Spec, o Options) Result {
	t.Helper()
	before := countHeads()
	var lines []string
	o.Progress = func(line string) { lines = append(lines, line) }
	a := Run(ctx, spec, o)
	before.compare(t)
	t.Logf("%v: %s\n%s", a.Stage, a.Stopped, strings.Join(lines, "\n"))
	return a
}

type heads struct{ goroutines, files, children int }

// openFiles counts our open files where the system tells: not on Windows, where
// wine shows a /proc of its own.
func openFiles() int {
	if runtime.GOOS == "windows" {
		return 0
	}
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}

func countHeads() (n heads) {
	n.files = openFiles()
	threads, _ := filepath.Glob("/proc/self/task/*/children") // each has those that it started
	for _, file := range threads {
		pids, _ := os.ReadFile(file)
		n.children += len(bytes.Fields(pids))
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "gauze/internal/wrap/upstream.(*") {
			n.goroutines++
		}
	}
	return n
}

func (before heads) compare(t *testing.T) {
	t.Helper()
	var now heads
	for deadline := time.Now().Add(limits.Limit()); time.Now().Before(deadline); runtime.Gosched() {
		now = countHeads()
		if now.goroutines <= before.goroutines && now.files <= before.files && now.children <= before.children {
			return
		}
	}
	t.Errorf("left behind: %+v, before: %+v", now, before)
}

func TestClimbsToTheTop(t *testing.T) {
	for _, story := range []struct {
		flags         []string
		era, protocol string
		name          string
	}{
		{nil, "legacy", wire.NewestLegacy, "faultyserver"},
		{[]string{"-era=legacy", "-versions=2025-06-18"}, "legacy", "2025-06-18", "faultyserver"},
		{[]string{"-era=modern"}, "modern", wire.FirstModern, "faultyserver"},
		{[]string{"-page-size=3"}, "legacy", wire.NewestLegacy, "faultyserver"},
		{[]string{"-era=modern", "-page-size=3"}, "modern", wire.FirstModern, "faultyserver"},
		{[]string{"-stray=banner+ansi+jsonlog+idless-error+half+pretty+utf16", "-stderr=log"}, "legacy", wire.NewestLegacy, "faultyserver"},
	} {
		t.Run(strings.Join(story.flags, " "), func(t *testing.T) {
			a := run(t, t.Context(), faulty(story.flags...), patientOptions)
			if !a.OK() || a.Stage != upstream.Listed {
				t.Fatalf("%v %q", a.Stage, a.Stopped)
			}
			if f := a.Found; f.Era != story.era || f.Protocol != story.protocol || f.Name != story.name || f.Version != "1.0.0" || f.Transport != "stdio" {
				t.Errorf("%+v", f)
			}
			at := slices.IndexFunc(a.Found.Tools, func(tool Tool) bool { return tool.Name == "append" })
			if at < 0 || a.Found.Tools[at].ReadOnly || a.Found.Tools[at].SchemaSize == 0 {
				t.Errorf("%+v", a.Found.Tools)
			}
			if a.ByUs != upstream.ClientLeft || a.Program.Path == "" || a.Limit.Passed {
				t.Errorf("%+v", a.Evidence)
			}
		})
	}
}

func TestServerThatListsNoTools(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := run(t, t.Context(), launch.Spec{Command: self, Env: append(os.Environ(), "GAUZE_TEST_BEHAVE=toolless")}, patientOptions)
	if !a.OK() || !a.Found.Toolless {
		t.Errorf("%v %q %+v", a.Stage, a.Stopped, a.Found)
	}
	if a := run(t, t.Context(), faulty(), patientOptions); a.Found.Toolless {
		t.Errorf("%d tools", len(a.Found.Tools))
	}
}

// What gauze accepts and other clients do not is found.
func TestOddities(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := run(t, t.Context(), launch.Spec{Command: self, Env: append(os.Environ(), "GAUZE_TEST_BEHAVE=schemaless")}, patientOptions)
	if !a.OK() || a.Found.Unusable != "bare" || a.Joined {
		t.Errorf("%v %q %+v", a.Stage, a.Stopped, a.Found)
	}
	if a := run(t, t.Context(), faulty("-shape=pretty"), patientOptions); !a.OK() || !a.Joined || a.Found.Unusable != "" {
		t.Errorf("%v %q %+v", a.Stage, a.Stopped, a.Evidence)
	}
	if a := run(t, t.Context(), faulty(), patientOptions); !a.OK() || a.Joined || a.Found.Unusable != "" {
		t.Errorf("%v %q %+v", a.Stage, a.Stopped, a.Evidence)
	}
}

func TestKeepsWhatAServerLogsInMessages(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := run(t, t.Context(), launch.Spec{Command: self, Env: append(os.Environ(), "GAUZE_TEST_BEHAVE=logging")}, patientOptions)
	if want := "no workspace\ninvalid account\ngiving up\n"; a.OK() || string(a.StderrTail) != want || len(a.Stderr) != 3 {
		t.Errorf("%q %q", a.StderrTail, a.Stderr)
	}
}

func TestKeepsHowAServerFailed(t *testing.T) {
	for _, story := range []struct {
		flags   string
		stage   upstream.Stage
		stopped string
		check   func(Result) bool
	}{
		{"-exit-at-start=code=3,stderr=boom", upstream.Started, "exit status 3", func(a Result) bool {
			return a.Code == 3 && a.Signal == "" && a.ByUs == "" && strings.Contains(string(a.StderrTail), "boom") && a.Ran > 0
		}},
		{"-exit-on-initialize=KILL", upstream.Started, "signal: killed", func(a Result) bool { return a.Signal == "SIGKILL" && a.Code == -1 }},
		{"-exit-after-initialize=code=4", upstream.Initialized, "exit status 4", func(a Result) bool { return a.Code == 4 && a.Found.Name == "faultyserver" }},
		{"-fail-initialize=code=-32000", upstream.Spoke, "error -32000", func(a Result) bool {
			return len(a.RPC) == 1 && a.RPC[0].Code == -32000 && a.RPC[0].Method == "initialize" && a.RPC[0].Phase == upstream.Started && a.RPC[0].Message != ""
		}},
		{"-fail-initialize=code=-32601 -exit-on-discover=code=5", upstream.Spoke, "error -32601", func(a Result) bool { return len(a.RPC) == 1 && a.Code == 5 }},
		{"-era=modern -unsupported-version=2027-01-01", upstream.Spoke, "error -32022", func(a Result) bool {
			return len(a.RPC) == 2 && a.RPC[1].Method == "server/discover" && strings.Contains(string(a.RPC[1].Data), "2027-01-01")
		}},
		{"-ignore-initialize", upstream.Started, "did not answer initialize within", hung("initialize")},
		{"-era=modern -ignore-discover", upstream.Spoke, "error -32022", hung("server/discover")},
		{"-hang=n=2", upstream.Initialized, "did not answer tools/list within", hung("tools/list")},
		{"-era=modern -hang=n=2", upstream.Initialized, "did not answer tools/list within", hung("tools/list")},
		{"-stop-reading=n=0", upstream.Started, "did not answer initialize within", hung("initialize")},
		{"-ignore-initialize -stray=half+ansi", upstream.Started, "did not answer", func(a Result) bool {
			return strings.Contains(string(a.StdoutHead), `{"jsonrpc":"2.0","id":`) && strings.Contains(string(a.StdoutHead), "\x1b[32m")
		}},
		{"-ignore-initialize -stray=idless-error", upstream.Spoke, "did not answer", func(a Result) bool {
			return len(a.RPC) == 1 && a.RPC[0].Code == -32600 && a.RPC[0].Method == ""
		}},
		{"-ignore-initialize -ignore-eof -ignore-sigterm -grandchild=setsid=false", upstream.Started, "did not answer", hung("initialize")},
	} {
		t.Run(story.flags, func(t *testing.T) {
			windowstest.Skip(t)
			o := hastyOptions
			if !strings.Contains(story.flags, "ignore-") && !strings.Contains(story.flags, "hang") && !strings.Contains(story.flags, "stop-") {
				o = patientOptions
			}
			a := runUntil(t, faulty(strings.Fields(story.flags)...), o, func(a Result) bool {
				return a.Stage >= story.stage && (!strings.Contains(story.flags, "-stray") || story.check(a))
			})
			if a.OK() || a.Stage != story.stage || !strings.Contains(a.Stopped, story.stopped) {
				t.Errorf("%v %q, want %v %q", a.Stage, a.Stopped, story.stage, story.stopped)
			}
			if !story.check(a) {
				t.Errorf("%+v", a.Evidence)
			}
		})
	}
}

func hung(method string) func(Result) bool {
	return func(a Result) bool {
		return a.Limit.Passed && a.Limit.Alive && a.Limit.Waiting == method && a.Limit.After >= hastyOptions.Timeout && a.ByUs != ""
	}
}

func TestWaitsWhileThereIsProgress(t *testing.T) {
	// It says something every now and then, and answers late.
	o := Options{Timeout: time.Second, MaxWait: 30 * time.Second}
	a := until(o, Result.OK, func(o Options) Result {
		return run(t, t.Context(), faulty("-late-initialize="+(3*o.Timeout).String(), "-stderr-flood"), o)
	})
	if !a.OK() || a.Stage != upstream.Listed {
		t.Errorf("%v %q", a.Stage, a.Stopped)
	}
	// It is busy for ever: there is an end to that.
	o.MaxWait = 3 * time.Second
	waited := func(a Result) bool { return !countsCPU() || a.Limit.After >= o.MaxWait/2 && a.Limit.Busy() }
	a = until(o, waited, func(more Options) Result {
		o = more
		return run(t, t.Context(), faulty("-spin=n=0"), o)
	})
	if a.OK() || !a.Limit.Passed || countsCPU() && a.Limit.After < o.MaxWait/2 {
		t.Errorf("%q %+v", a.Stopped, a.Limit)
	}
	if countsCPU() && !a.Limit.Busy() {
		t.Errorf("it used %v of CPU within %v", a.Limit.CPU, a.Limit.Window)
	}
}

func TestIsCancelled(t *testing.T) {
	reason := errors.New("somebody else was quicker")
	ctx, cancel := context.WithCancelCause(t.Context())
	o := patientOptions
	cancel(reason)
	if a := run(t, ctx, faulty(), o); a.Stage != upstream.Nowhere || a.Stopped != reason.Error() || a.Spawn != nil {
		t.Errorf("%v %q", a.Stage, a.Stopped)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	o.Progress = func(line string) {
		if strings.HasPrefix(line, "started") {
			cancel(reason)
		}
	}
	before := countHeads()
	a := Run(ctx, faulty("-ignore-initialize"), o)
	before.compare(t)
	if a.Stage != upstream.Started || a.Stopped != reason.Error() || a.Limit.Passed || !a.Limit.Alive {
		t.Errorf("%v %q %+v", a.Stage, a.Stopped, a.Limit)
	}
	a = until(hastyOptions, func(a Result) bool { return a.Stage >= upstream.Started }, func(o Options) Result {
		ctx, stop := context.WithTimeout(t.Context(), o.Timeout)
		defer stop()
		return run(t, ctx, faulty("-ignore-initialize"), patientOptions)
	})
	if !a.Limit.Passed {
		t.Errorf("%q %+v", a.Stopped, a.Limit)
	}
}

func TestPatience(t *testing.T) {
	start := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	fresh := func() *patience {
		return &patience{timeout: 10 * time.Second, until: at(30), asked: start, progressed: start, checked: start}
	}
	p := fresh()
	if p.over(at(10)) || !p.over(at(10.1)) {
		t.Error("without progress it is the timeout")
	}
	if p.used(40*time.Millisecond, at(1)) || !p.over(at(10.1)) {
		t.Error("the timers of an idle runtime are no progress")
	}
	if !p.used(140*time.Millisecond, at(2)) || p.over(at(12)) || !p.over(at(12.1)) {
		t.Error("work is progress")
	}
	p.progress(at(1))
	if p.over(at(12)) {
		t.Error("progress goes back")
	}
	p = fresh()
	if p.moved(1<<20, at(5)) || p.moved(1<<20+8, at(6)) || !p.over(at(10.1)) {
		t.Error("a connection that moves nothing is no progress")
	}
	if !p.moved(2<<20, at(7)) || p.over(at(17)) {
		t.Error("a download is progress")
	}
	p.progress(at(29))
	if !p.over(at(30.1)) {
		t.Error("there is no end to it")
	}
}

// contextUntil ends when something has happened.
func contextUntil(t *testing.T, happened <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		select {
		case <-happened:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func TestLeavesAServerTimeToEndByItself(t *testing.T) {
	began := time.Now()
	a := run(t, t.Context(), faulty("-ignore-eof"), patientOptions)
	if !a.OK() || time.Since(began) >= patientOptions.Timeout {
		t.Errorf("%q after %v", a.Stopped, time.Since(began))
	}
	if a = run(t, t.Context(), faulty(), patientOptions); a.Exit != "exit status 0" {
		t.Errorf("a server that ends when its stdin does was ended: %s", a.Exit)
	}
}

func TestARunningDownloadIsNotCalledStalled(t *testing.T) {
	var p patience
	now := time.Now()
	for i, step := range []struct {
		moved int64
		want  string
	}{{1 << 20, "it is downloading: "}, {2 << 20, "it is downloading: "}, {2 << 20, "its download has stalled: "}} {
		if got := p.download(upstream.Survey{Downloading: "npm", Moved: step.moved}, now); got != step.want+"npm" {
			t.Errorf("survey %d: %q, want %q", i, got, step.want+"npm")
		}
	}
}
