package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/lab/programs"
)

// testEvent is an event that `go test -json` prints; see `go doc cmd/test2json`.
type testEvent struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// goTest is a run of go test in one module of the tree. It prints Go's line for every package as it
// arrives, and the output of failed tests.
//
// A package has no limit of time: the number of its tests must not decide whether it passes. Each test
// has one, and a test that exceeds it ends its package with all stacks.
type goTest struct {
	dir   string   // of the module, from the root of the tree
	env   []string // more variables
	flags []string
	pkgs  []string // default: all
}

// always are the flags of every run. Vet is a step of its own.
var always = []string{"test", "-json", "-vet=off", "-timeout=0"}

// raceOptions are for the race detector, which requires cgo, and otherwise waits for a second at the
// end of each process.
var raceOptions = []string{"CGO_ENABLED=1", "GORACE=atexit_sleep_ms=0"}

func (g goTest) run(ctx context.Context, out io.Writer) (tally, error) {
	f := newFollower(out)
	cmd := g.command(ctx)
	err := f.run(cmd)
	measure(ctx, cmd)
	if err != nil {
		err = g.repeatFailures(ctx, f, err)
	}
	if cached := f.cached; cached > 0 {
		fmt.Fprintf(out, "%d of %d packages unchanged: their results are from the cache\n", cached, len(f.packages))
	}
	return f.total(), err
}

// command returns the go command.
func (g goTest) command(ctx context.Context) *exec.Cmd {
	pkgs := g.pkgs
	if pkgs == nil {
		pkgs = []string{"./..."}
	}
	cmd := exec.CommandContext(ctx, "go", slices.Concat(always, programs.BuildFlags(), g.flags, pkgs)...)
	cmd.Env = slices.Concat(os.Environ(), g.env)
	cmd.Dir = g.dir
	return cmd
}

// maxTest is how long one test may take at pace 1. With the whole samples it gets an hour.
func maxTest() time.Duration { return time.Duration(sample.Part(60, 6)) * time.Minute }

// run runs a `go test -json` command and follows its output.
func (f *follower) run(cmd *exec.Cmd) error {
	cmd.Stderr = f.out
	cmd.SysProcAttr = ownGroup
	cmd.Cancel = func() error { dump(cmd.Process.Pid); return nil }
	cmd.WaitDelay = 10 * time.Second
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	f.overdue = func(id testID) {
		fmt.Fprintf(f.out, "%s %s ran longer than %s: stopping its package\n", id.pkg, id.test, f.limit)
		dump(cmd.Process.Pid)
	}
	readErr := f.follow(events)
	if err := errors.Join(readErr, cmd.Wait()); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	if f.total() == (tally{}) {
		return errors.New("no test was run")
	}
	return nil
}

// follow reads the events of one run, prints the relevant output and counts the results.
func (f *follower) follow(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e testEvent
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				f.take(e)
			} else {
				io.WriteString(f.out, line) // output of the go command itself
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

type testID struct{ pkg, test string }

type follower struct {
	out         *lockedWriter
	verbose     bool // also prints the output of tests that pass
	packages    map[string]tally
	cached      int // packages whose results are those of an earlier run
	limit       time.Duration
	running     map[testID]*time.Timer
	overdue     func(testID)
	output      map[testID]*strings.Builder
	parents     map[testID]bool // has subtests, which are counted in its place
	failedBelow map[testID]bool // a subtest failed and was counted
	failures    []testID        // a package only if none of its tests failed
	proof       bool            // of a fault, in what failed tests or packages printed
}

func newFollower(out io.Writer) *follower {
	return &follower{out: &lockedWriter{w: out}, limit: time.Duration(patience.Pace()) * maxTest(), overdue: func(testID) {},
		packages: map[string]tally{}, running: map[testID]*time.Timer{}, output: map[testID]*strings.Builder{},
		parents: map[testID]bool{}, failedBelow: map[testID]bool{}}
}

// total returns the sum over all packages.
func (f *follower) total() (sum tally) {
	for _, t := range f.packages {
		sum = sum.plus(t)
	}
	return sum
}

// count adds a result to a package.
func (f *follower) count(pkg string, one tally) { f.packages[pkg] = f.packages[pkg].plus(one) }

// table prints the counts of every package.
func (f *follower) table() {
	for _, pkg := range slices.Sorted(maps.Keys(f.packages)) {
		fmt.Fprintf(f.out, "  %-60s %s\n", pkg, f.packages[pkg])
	}
}

func (f *follower) take(e testEvent) {
	id := testID{e.Package, e.Test}
	f.watch(id, e.Action)
	switch e.Action {
	case "build-output":
		io.WriteString(f.out, e.Output)
	case "run":
		if up, ok := id.parent(); ok && e.Test != "" {
			f.parents[up] = true
		}
	case "output":
		f.collect(id, e.Output)
	case "pass", "skip", "fail":
		f.ended(id, e)
	}
}

// collect keeps the output of a test until its result is known. It prints the output of a package
// immediately.
func (f *follower) collect(id testID, text string) {
	if id.test == "" {
		if strings.Contains(text, "\t(cached)") {
			f.cached++
		}
		f.proof = f.proof || provesFault(text)
		if text != "PASS\n" && !strings.Contains(text, "[no test files]") {
			io.WriteString(f.out, text)
		}
		return
	}
	if strings.HasPrefix(text, "=== ") {
		return // RUN, PAUSE and CONT matter only to go test -v
	}
	if f.output[id] == nil {
		f.output[id] = &strings.Builder{}
	}
	f.output[id].WriteString(text)
}

func (f *follower) ended(id testID, e testEvent) {
	if e.Action == "fail" {
		f.proof = f.proof || provesFault(f.textOf(id))
		f.show(id)
		f.showUnfinished(id)
		if !f.failedBelow[id] { // otherwise the failed subtest was already counted
			f.count(id.pkg, tally{failed: 1})
			f.failures = append(f.failures, id)
		}
		if up, ok := id.parent(); ok {
			f.failedBelow[up] = true
		}
	} else if id.test != "" && !f.parents[id] {
		if e.Action == "skip" {
			f.count(id.pkg, tally{skipped: 1})
			f.show(id) // a skip without a reason looks like a pass
		} else {
			f.count(id.pkg, tally{passed: 1})
			if f.verbose {
				f.show(id)
			}
		}
	}
	delete(f.output, id)
	delete(f.parents, id) // -count runs the same name again
	delete(f.failedBelow, id)
}

// showUnfinished prints the output of tests that were running when their package failed: its process
// ended, and the stacks are in what one of them printed.
func (f *follower) showUnfinished(pkg testID) {
	if pkg.test != "" {
		return
	}
	for id := range f.output {
		if id.pkg == pkg.pkg && id.test != "" {
			fmt.Fprintf(f.out, "%s had not ended:\n", id.test)
			f.show(id)
			delete(f.output, id)
		}
	}
}

// show prints the output of a test.
func (f *follower) show(id testID) {
	io.WriteString(f.out, f.textOf(id))
}

// textOf returns what a test has printed.
func (f *follower) textOf(id testID) string {
	if output := f.output[id]; output != nil {
		return output.String()
	}
	return ""
}

// parent returns the parent test of a subtest, or the package of a top-level test.
func (id testID) parent() (testID, bool) {
	if id.test == "" {
		return testID{}, false
	}
	i := strings.LastIndex(id.test, "/")
	if i < 0 {
		return testID{id.pkg, ""}, true
	}
	return testID{id.pkg, id.test[:i]}, true
}

// watch limits the time of a top-level test. A test that waits for its turn is not running.
func (f *follower) watch(id testID, action string) {
	if id.test == "" || strings.Contains(id.test, "/") {
		return
	}
	switch action {
	case "run", "cont":
		f.running[id] = time.AfterFunc(f.limit, func() { f.overdue(id) })
	case "pause", "pass", "fail", "skip":
		if timer := f.running[id]; timer != nil {
			timer.Stop()
		}
		delete(f.running, id)
	}
}

// lockedWriter serializes the writes of a follower and of the command that it follows.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *lockedWriter) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}
