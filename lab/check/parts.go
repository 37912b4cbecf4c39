package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

func install(ctx context.Context, out io.Writer) (tally, error) {
	if err := realparts.Install(ctx, out, programs.Everything()); err != nil {
		return tally{}, fmt.Errorf("%w\nnext: without a network, run go test ./... in the root, which tests the product alone", err)
	}
	return tally{}, nil
}

// buildPrograms builds what the tests start and tells them where it is. Programs of one flavour are
// built one after the other: two go commands at a time would compile the same packages twice.
func buildPrograms(ctx context.Context, _ io.Writer) (tally, error) {
	root, err := os.Getwd()
	if err != nil {
		return tally{}, err
	}
	build := func(raced bool) (err error) {
		for _, p := range programs.Needed() {
			if p.Raced() == raced {
				path, failed := p.Build(ctx, root)
				err = errors.Join(err, failed, os.Setenv(p.Env, path))
			}
		}
		return err
	}
	failed := make(chan error)
	go func() { failed <- build(true) }()
	err = build(false)
	return tally{}, errors.Join(err, <-failed, programs.RemoveOld())
}

// bench returns a step that runs a benchmark, which fails if a limit is exceeded or a guarantee violated.
func bench(args ...string) func(context.Context, io.Writer) (tally, error) {
	return func(ctx context.Context, out io.Writer) (tally, error) {
		output, err := quietly(ctx, "lab", nil, append([]string{"go", "run", "./bench"}, args...)...)
		if err == nil {
			out.Write(output)
		}
		return tally{}, err
	}
}

// quietly runs a command in a directory of the tree and returns its output, which an error also
// contains.
func quietly(ctx context.Context, dir string, env []string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second
	output, err := cmd.CombinedOutput()
	measure(ctx, cmd)
	if err != nil {
		return output, fmt.Errorf("%s\n%s: %w", bytes.TrimSpace(output), strings.Join(argv, " "), err)
	}
	return output, nil
}

// idly is quietly for a command that takes only what other processes leave of the processor, if the system can do that.
func idly(ctx context.Context, dir string, env []string, argv ...string) ([]byte, error) {
	if nice, err := exec.LookPath("nice"); err == nil {
		argv = append([]string{nice}, argv...)
	}
	return quietly(ctx, dir, env, argv...)
}
