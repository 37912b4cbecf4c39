package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/gauze-mcp/gauze/lab/programs"
)

func formatted(ctx context.Context, _ io.Writer) (tally, error) {
	root, err := quietly(ctx, "", nil, "go", "env", "GOROOT")
	if err != nil {
		return tally{}, err
	}
	gofmt := filepath.Join(strings.TrimSpace(string(root)), "bin", "gofmt")
	files, err := quietly(ctx, "", nil, gofmt, "-l", ".")
	if err != nil {
		return tally{}, err
	}
	if len(files) > 0 {
		return tally{}, fmt.Errorf("not formatted:\n%snext: gofmt -w on these files", files)
	}
	return tally{}, nil
}

// modules are those that the default level compiles. The others have dependencies that take minutes.
var modules = []string{".", "lab", "lab/authserver", "lab/release", "temporal"}

// moreMemory lets a tool use memory instead of time: staticcheck takes 34 s of CPU instead of 48.
var moreMemory = []string{"GOGC=400"}

func vet(ctx context.Context, out io.Writer) (t tally, err error) {
	for _, dir := range modules {
		err = errors.Join(err, sourceFor("vet", dir).unlessAccepted(ctx, out, func() error {
			_, failed := idly(ctx, dir, moreMemory, "go", "vet", "./...")
			return failed
		}))
	}
	return tally{}, err
}

// sourceFor is the source that a tool reads in one of the modules: the laboratory's and temporal use the product.
func sourceFor(tool, dir string) source {
	switch dir {
	case ".":
		return source{tool + " of the product", []string{"lab", "temporal"}}
	case "temporal":
		return source{tool + " of " + dir, []string{"lab"}}
	}
	return source{tool + " of " + dir, []string{"temporal"}}
}

// staticcheck is built in the laboratory's module, which pins its version.
func staticcheck(ctx context.Context, out io.Writer) (tally, error) {
	tool, err := programs.Staticcheck.Build(ctx, ".") // at a path that changes with its bytes
	if err != nil {
		return tally{}, err
	}
	for _, dir := range []string{".", "lab"} {
		err = errors.Join(err, sourceFor(tool, dir).unlessAccepted(ctx, out, func() error {
			_, failed := idly(ctx, dir, moreMemory, tool, "./...")
			return failed
		}))
	}
	return tally{}, err
}
