package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// step is one check.
type step struct {
	name  string
	about string
	level level
	lane  lane
	after []string // steps that must have ended before, if they were selected
	run   func(ctx context.Context, out io.Writer) (tally, error)
}

// level says when a step runs.
type level int

const (
	byDefault level = iota // always
	withAll                // only in a run of everything, or if it is selected
)

// lane says what a step runs beside. Steps that follow each other in the table run at the same time, unless one of them is
// alone: it begins when all before it have ended, and those after it wait for it.
type lane int

const (
	alone    lane = iota
	prepared      // what the others wait for: it compiles and installs
	tested        // waits for servers and clients as long as it computes
	looked        // looks at the tree without running it, in the time that the others leave
)

// atOnce is the number of steps of each lane that run at the same time. A test takes more CPU time the more programs it shares
// the machine with: on two cores, all tests took 1,592 s of it four steps at a time, and 1,242 s two at a time.
// A run of everything has four, see check.
var atOnce = map[lane]int{alone: 1, prepared: 2, tested: 2, looked: 1}

// tally counts outcomes.
type tally struct{ passed, failed, skipped, unsteady int }

func (t tally) plus(u tally) tally {
	return tally{t.passed + u.passed, t.failed + u.failed, t.skipped + u.skipped, t.unsteady + u.unsteady}
}

func (t tally) String() string {
	s := fmt.Sprintf("%d passed, %d failed", t.passed, t.failed)
	if t.skipped > 0 {
		s += fmt.Sprintf(", %d skipped", t.skipped)
	}
	if t.unsteady > 0 {
		s += fmt.Sprintf(", %d unsteady", t.unsteady)
	}
	return s
}

// choose returns the selected steps.
func choose(steps []step, everything bool, only string) ([]step, error) {
	var chosen []step
	for _, s := range steps {
		selected := s.level == byDefault || everything
		if only != "" {
			selected = s.name == only || strings.HasPrefix(s.name, only+"-")
		}
		if selected {
			chosen = append(chosen, s)
		}
	}
	if slices.ContainsFunc(chosen, func(s step) bool { return s.lane == tested }) && only != "" {
		chosen = append(named(steps, "compiler", "programs"), chosen...)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("unknown step %q: must be one of %s", only, names(steps))
	}
	return chosen, nil
}

func named(steps []step, names ...string) []step {
	return slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return !slices.Contains(names, s.name) })
}

func names(steps []step) string {
	var all []string
	for _, s := range steps {
		all = append(all, s.name)
	}
	return strings.Join(all, ", ")
}

// outcome is the result of a step.
type outcome struct {
	tally
	name string
	took time.Duration
	cpu  time.Duration // of those commands that were measured
	err  error
}

// meter adds up the CPU time of the commands of one step, which is in the context of its run.
type meter struct{ spent atomic.Int64 }

type meterKey struct{}

// measure adds what a command that has ended used, with its children.
func measure(ctx context.Context, cmd *exec.Cmd) {
	if m, ok := ctx.Value(meterKey{}).(*meter); ok && cmd.ProcessState != nil {
		m.spent.Add(int64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()))
	}
}

// report runs the steps and prints the result of each, then the total.
func report(ctx context.Context, steps []step, out io.Writer, table bool) int {
	began := time.Now()
	var all []outcome
	for _, batch := range batches(steps) {
		if ctx.Err() != nil {
			break
		}
		all = append(all, runBatch(ctx, batch, out)...)
	}
	if table {
		printTable(ctx, all, out)
	}
	var total tally
	for _, o := range all {
		total = total.plus(o.tally)
	}
	fmt.Fprintf(out, "\n%.0f s in total, %.0f s of CPU", time.Since(began).Seconds(), cpuOfChildren().Seconds())
	if total.skipped > 0 {
		fmt.Fprintf(out, ", %d skipped", total.skipped)
	}
	fmt.Fprintln(out)
	if total.unsteady > 0 {
		fmt.Fprintf(out, "%d unsteady: failed once, then passed alone; not counted as passed\nnext: search the output for \"unsteady:\", and find out why before anything else\n", total.unsteady)
	}
	if ctx.Err() != nil {
		fmt.Fprintln(out, "interrupted before all steps had run")
		total.failed++
	}
	for _, o := range all {
		if o.err != nil {
			fmt.Fprintf(out, "failed: %s\nnext: read the output above, then run: go -C lab run ./check -only %s\n", o.name, o.name)
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", total.passed, total.failed)
	if total.failed > 0 {
		return 1
	}
	return 0
}

// printTable prints a line for every step, and the commit that was tested.
func printTable(ctx context.Context, all []outcome, out io.Writer) {
	fmt.Fprintf(out, "\n%-16s %7s %7s %8s %8s %8s\n", "step", "passed", "failed", "skipped", "seconds", "CPU")
	for _, o := range all {
		cpu := "-" // not measured
		if o.cpu > 0 {
			cpu = fmt.Sprintf("%.0f", o.cpu.Seconds())
		}
		fmt.Fprintf(out, "%-16s %7d %7d %8d %8.0f %8s\n", o.name, o.passed, o.failed, o.skipped, o.took.Seconds(), cpu)
	}
	commit, err := exec.CommandContext(context.WithoutCancel(ctx), "git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	fmt.Fprintf(out, "commit %s\n", bytes.TrimSpace(commit))
}

// batches groups the steps that may run at the same time. The order is kept.
func batches(steps []step) [][]step {
	var all [][]step
	for i, s := range steps {
		if i > 0 && s.lane != alone && steps[i-1].lane != alone {
			all[len(all)-1] = append(all[len(all)-1], s)
			continue
		}
		all = append(all, []step{s})
	}
	return all
}

// runBatch runs the steps of a batch: each begins when those that it comes after have ended and its lane has room, the first of
// the table first. A step that is alone prints as it goes; the output of the others is printed when each has ended.
func runBatch(ctx context.Context, batch []step, out io.Writer) []outcome {
	outcomes := make([]outcome, len(batch))
	if len(batch) == 1 {
		outcomes[0] = runStep(ctx, batch[0], out)
		return outcomes
	}
	var waiting []int
	pending := map[string]bool{} // has not ended
	for i, s := range batch {
		waiting = append(waiting, i)
		pending[s.name] = true
	}
	texts, busy, ended := make([]bytes.Buffer, len(batch)), map[lane]int{}, make(chan int)
	begin := func(i int) bool {
		s := batch[i]
		if busy[s.lane] == atOnce[s.lane] || slices.ContainsFunc(s.after, func(name string) bool { return pending[name] }) {
			return false
		}
		busy[s.lane]++
		go func() {
			outcomes[i] = runStep(ctx, s, &texts[i])
			ended <- i
		}()
		return true
	}
	for len(pending) > 0 {
		waiting = slices.DeleteFunc(waiting, begin)
		i := <-ended
		out.Write(texts[i].Bytes())
		busy[batch[i].lane]--
		delete(pending, batch[i].name)
	}
	return outcomes
}

// runStep runs one step and prints its result. A step that counts nothing counts as one.
func runStep(ctx context.Context, s step, out io.Writer) outcome {
	fmt.Fprintf(out, "%-16s %s\n", s.name, s.about)
	start := time.Now()
	var m meter
	t, err := s.run(context.WithValue(ctx, meterKey{}, &m), out)
	took, cpu := time.Since(start), time.Duration(m.spent.Load())
	verdict := "ok"
	switch {
	case err != nil:
		verdict = "FAILED"
		fmt.Fprintf(out, "%s\n", strings.TrimRight(err.Error(), "\n"))
		if t.failed == 0 {
			t.failed = 1
		}
	case t == tally{}:
		t.passed = 1
	}
	spent := ""
	if cpu > 0 {
		spent = fmt.Sprintf("%.1f s of CPU", cpu.Seconds())
	}
	fmt.Fprintf(out, "%-16s %-6s  %6.1f s  %15s  %s\n", s.name, verdict, took.Seconds(), spent, t)
	return outcome{t, s.name, took, cpu, err}
}
