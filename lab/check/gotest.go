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
	"time"
)

// testEvent is an event that `go test -json` prints; see `go doc cmd/test2json`.
type testEvent struct {
	Action      string
	Package     string
	ImportPath  string // of build output
	Test        string
	Output      string
	FailedBuild string
}

const (
	// noVet skips the part of vet that go test repeats: the steps vet-* run all of it on the same files.
	noVet = "-vet=off"
	// noExitDelay is an option of the race detector, which otherwise waits for a second at the end of
	// each process that the tests start.
	noExitDelay = "atexit_sleep_ms=0"
)

// goTest returns a step that runs `go test`. It prints Go's line for every package as it arrives,
// and the output of failed tests. The race detector requires cgo.
func goTest(args ...string) func(context.Context, io.Writer) (tally, error) {
	return goTestIn("", append([]string{noVet}, args...)...)
}

// goTestIn is goTest in the directory of a different module.
func goTestIn(dir string, args ...string) func(context.Context, io.Writer) (tally, error) {
	return func(ctx context.Context, out io.Writer) (tally, error) {
		cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GORACE="+os.Getenv("GORACE")+" "+noExitDelay)
		cmd.Dir = dir
		cmd.WaitDelay = 10 * time.Second
		f := newFollower(out)
		err := f.run(cmd)
		return f.total(), err
	}
}

// run runs a `go test -json` command and follows its output.
func (f *follower) run(cmd *exec.Cmd) error {
	cmd.Stderr = f.out
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := f.follow(events)
	if err := errors.Join(readErr, cmd.Wait()); err != nil {
		return fmt.Errorf("go test: %w", err)
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
	out         io.Writer
	verbose     bool // also prints the output of tests that pass
	packages    map[string]tally
	output      map[testID]*strings.Builder
	parents     map[testID]bool // has subtests, which are counted in its place
	failedBelow map[testID]bool // a subtest failed and was counted
}

func newFollower(out io.Writer) *follower {
	return &follower{out: out, packages: map[string]tally{}, output: map[testID]*strings.Builder{},
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
		f.show(id)
		if !f.failedBelow[id] { // otherwise the failed subtest was already counted
			f.count(id.pkg, tally{failed: 1})
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

// show prints the output of a test.
func (f *follower) show(id testID) {
	if output := f.output[id]; output != nil {
		io.WriteString(f.out, output.String())
	}
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
