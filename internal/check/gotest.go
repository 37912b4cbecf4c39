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

// testEvent is what `go test -json` prints; see `go doc cmd/test2json`.
type testEvent struct {
	Action      string
	Package     string
	ImportPath  string // of build output
	Test        string
	Output      string
	FailedBuild string
}

// goTest is a step that is one run of `go test`: Go's line for every package as it comes, the output of tests that fail.
func goTest(args ...string) func(context.Context, io.Writer) (tally, error) {
	return func(ctx context.Context, out io.Writer) (tally, error) {
		cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // the race detector is written in C
		cmd.WaitDelay = 10 * time.Second
		f := newFollower(out)
		err := f.run(cmd)
		return f.total(), err
	}
}

// run starts a `go test -json` and follows it to its end.
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

// follow reads the events of one run, prints what a reader wants to see, and counts.
func (f *follower) follow(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e testEvent
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				f.take(e)
			} else {
				io.WriteString(f.out, line) // the go command itself speaks
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
	verbose     bool // shows what tests print that pass
	packages    map[string]tally
	said        map[testID]*strings.Builder
	parents     map[testID]bool // has subtests: they are counted in its place
	failedBelow map[testID]bool // something inside it failed and was counted
}

func newFollower(out io.Writer) *follower {
	return &follower{out: out, packages: map[string]tally{}, said: map[testID]*strings.Builder{},
		parents: map[testID]bool{}, failedBelow: map[testID]bool{}}
}

// total is the sum over all packages.
func (f *follower) total() (sum tally) {
	for _, t := range f.packages {
		sum = sum.plus(t)
	}
	return sum
}

// count adds one outcome of a package.
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
		f.hear(id, e.Output)
	case "pass", "skip", "fail":
		f.ended(id, e)
	}
}

// hear keeps what a test prints until it is known whether it failed; what a package prints is shown at once.
func (f *follower) hear(id testID, text string) {
	if id.test == "" {
		if text != "PASS\n" && !strings.Contains(text, "[no test files]") {
			io.WriteString(f.out, text)
		}
		return
	}
	if strings.HasPrefix(text, "=== ") {
		return // RUN, PAUSE, CONT: of interest to go test -v
	}
	if f.said[id] == nil {
		f.said[id] = &strings.Builder{}
	}
	f.said[id].WriteString(text)
}

func (f *follower) ended(id testID, e testEvent) {
	if e.Action == "fail" {
		f.show(id)
		if !f.failedBelow[id] { // else it is counted already; this line only passes it on
			f.count(id.pkg, tally{failed: 1})
		}
		if up, ok := id.parent(); ok {
			f.failedBelow[up] = true
		}
	} else if id.test != "" && !f.parents[id] {
		if e.Action == "skip" {
			f.count(id.pkg, tally{skipped: 1})
			f.show(id) // a silent skip reads like a pass
		} else {
			f.count(id.pkg, tally{passed: 1})
			if f.verbose {
				f.show(id)
			}
		}
	}
	delete(f.said, id)
	delete(f.parents, id) // -count runs the same name again
	delete(f.failedBelow, id)
}

// show prints what a test printed.
func (f *follower) show(id testID) {
	if said := f.said[id]; said != nil {
		io.WriteString(f.out, said.String())
	}
}

// parent is the test a subtest belongs to, or the package of a top-level test.
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
