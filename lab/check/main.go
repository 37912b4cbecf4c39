// Command check is the only test command of this repository: format, vet, lint, real parts, tests,
// fuzz, repeats, demo.
//
//	go -C lab run ./check              everything
//	go -C lab run ./check -quick       without the real servers and the repeats
//	go -C lab run ./check -only test   one step; "vet" selects all steps whose name starts with it
//
// It requires Go and access to the usual registries; on a Debian-like machine, as root, it installs
// everything else itself. The last line is "N passed, N failed": each Go test counts as one, and
// each other step as one.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(check(ctx, os.Args[1:], os.Stdout))
}

// check runs the chosen steps and returns the exit code.
func check(ctx context.Context, args []string, out io.Writer) int {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(out)
	quick := flags.Bool("quick", false, "skip the real servers and the repeats")
	only := flags.String("only", "", "run only this step, or the steps whose names start with it: "+names(allSteps(false)))
	if err := flags.Parse(args); err != nil {
		return 2
	}
	steps, err := choose(allSteps(*quick), *quick, *only)
	if err != nil || flags.NArg() > 0 {
		if err == nil {
			err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
		}
		fmt.Fprintf(out, "check: %v\nnext: go -C lab run ./check -help\n", err)
		return 2
	}
	if err := enterModule(); err != nil {
		fmt.Fprintf(out, "check: %v\nnext: run this inside a checkout of gauze\n", err)
		return 2
	}
	defer buildPrograms(ctx)()
	return report(ctx, steps, out)
}

// report runs the steps and prints the result of each, then the total.
func report(ctx context.Context, steps []step, out io.Writer) int {
	began := time.Now()
	var total tally
	var broken []string
	for _, batch := range batches(steps) {
		if ctx.Err() != nil {
			break
		}
		for i, o := range runBatch(ctx, batch, out) {
			total = total.plus(o.tally)
			if o.err != nil {
				broken = append(broken, batch[i].name)
			}
		}
	}
	fmt.Fprintf(out, "\n%.0fs in total", time.Since(began).Seconds())
	if total.skipped > 0 {
		fmt.Fprintf(out, ", %d skipped", total.skipped)
	}
	fmt.Fprintln(out)
	if ctx.Err() != nil {
		fmt.Fprintln(out, "interrupted before all steps had run")
		total.failed++
	}
	for _, name := range broken {
		fmt.Fprintf(out, "failed: %s\nnext: read the output above, then run: go -C lab run ./check -only %s\n", name, name)
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", total.passed, total.failed)
	if total.failed > 0 {
		return 1
	}
	return 0
}

// batches groups the steps that may run at the same time. The order is kept.
func batches(steps []step) [][]step {
	var all [][]step
	for i, s := range steps {
		if i > 0 && s.beside && steps[i-1].beside {
			all[len(all)-1] = append(all[len(all)-1], s)
			continue
		}
		all = append(all, []step{s})
	}
	return all
}

// outcome is the result of a step.
type outcome struct {
	tally
	err error
}

// atOnce is the number of steps that run at the same time.
const atOnce = 2

// runBatch runs the steps of a batch, atOnce at a time. A step that runs alone prints as it goes; the
// output of steps that run beside each other is printed when each is done.
func runBatch(ctx context.Context, batch []step, out io.Writer) []outcome {
	outcomes := make([]outcome, len(batch))
	if len(batch) == 1 {
		outcomes[0] = runStep(ctx, batch[0], out)
		return outcomes
	}
	shown := &oneAtATime{w: out}
	turn := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, s := range batch {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			var text bytes.Buffer
			outcomes[i] = runStep(ctx, s, &text)
			shown.Write(text.Bytes())
		})
	}
	wg.Wait()
	return outcomes
}

// runStep runs one step and prints its result. A step that counts nothing counts as one.
func runStep(ctx context.Context, s step, out io.Writer) outcome {
	fmt.Fprintf(out, "%-14s %s\n", s.name, s.about)
	start := time.Now()
	t, err := s.run(ctx, out)
	took := time.Since(start).Seconds()
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
	fmt.Fprintf(out, "%-14s %-6s  %6.1fs  %s\n", s.name, verdict, took, t)
	return outcome{t, err}
}

// enterModule changes the working directory to the root of the module.
func enterModule() error {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env GOMOD: %w", err)
	}
	file := strings.TrimSpace(string(mod))
	if file == "" || file == os.DevNull {
		return errors.New("not inside a Go module")
	}
	return os.Chdir(filepath.Dir(file))
}
