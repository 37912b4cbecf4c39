// Command check is the only test command of this repository: format, vet, lint, real parts, tests,
// fuzz, repeats, demo.
//
//	go run ./internal/check              everything
//	go run ./internal/check -quick       without the real servers and the repeats
//	go run ./internal/check -only test   one step; "vet" selects all steps whose name starts with it
//
// It requires Go and access to the usual registries; on a Debian-like machine, as root, it installs
// everything else itself. The last line is "N passed, N failed": each Go test counts as one, and
// each other step as one.
package main

import (
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
		fmt.Fprintf(out, "check: %v\nnext: go run ./internal/check -help\n", err)
		return 2
	}
	if err := enterModule(); err != nil {
		fmt.Fprintf(out, "check: %v\nnext: run this inside a checkout of gauze\n", err)
		return 2
	}
	defer serverAlone(ctx)()
	return report(ctx, steps, out)
}

// report runs the steps one after another and prints the result of each, then the total.
func report(ctx context.Context, steps []step, out io.Writer) int {
	began := time.Now()
	var total tally
	var broken []string
	for _, s := range steps {
		if ctx.Err() != nil {
			break
		}
		fmt.Fprintf(out, "%-14s %s\n", s.name, s.about)
		start := time.Now()
		t, err := s.run(ctx, out)
		took := time.Since(start).Seconds()
		verdict := "ok"
		switch {
		case err != nil:
			verdict = "FAILED"
			fmt.Fprintf(out, "%s\n", strings.TrimRight(err.Error(), "\n"))
			broken = append(broken, s.name)
			if t.failed == 0 {
				t.failed = 1
			}
		case t == tally{}:
			t.passed = 1
		}
		total = total.plus(t)
		fmt.Fprintf(out, "%-14s %-6s  %6.1fs  %s\n", s.name, verdict, took, t)
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
		fmt.Fprintf(out, "failed: %s\nnext: read the output above, then run: go run ./internal/check -only %s\n", name, name)
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", total.passed, total.failed)
	if total.failed > 0 {
		return 1
	}
	return 0
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
