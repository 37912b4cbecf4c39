package main

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"runtime"
)

// raced are the packages whose goroutines share memory. They are tested with the race detector, all
// others without: it would compile and run everything a second time to look at code that runs in one
// goroutine. TestRacedPackages keeps the list complete.
var raced = []string{
	".", "internal/agenttools", "internal/bearer", "internal/correct", "internal/dashboard", "internal/event", "internal/gateway",
	"internal/health", "internal/journal", "internal/live", "internal/login", "internal/otlp", "internal/probe", "internal/proxy",
	"internal/task", "internal/taskrun", "internal/top", "internal/upstream", "llm",
}

func testRaced(ctx context.Context, out io.Writer) (tally, error) {
	var pkgs []string
	for _, dir := range raced {
		pkgs = append(pkgs, "./"+dir)
	}
	return goTest{flags: []string{"-race", "-p", strconv.Itoa(runtime.NumCPU())}, pkgs: pkgs}.run(ctx, out)
}

func testPlain(ctx context.Context, out io.Writer) (tally, error) {
	pkgs, err := unraced(ctx)
	if err != nil {
		return tally{}, err
	}
	return goTest{flags: []string{"-p", strconv.Itoa(runtime.NumCPU())}, pkgs: pkgs}.run(ctx, out)
}

// unraced returns the packages of the product that are tested without the race detector.
func unraced(ctx context.Context) ([]string, error) {
	listed, err := quietly(ctx, "", nil, "go", "list", "./...")
	if err != nil {
		return nil, err
	}
	const module = "github.com/gauze-mcp/gauze"
	return slices.DeleteFunc(strings.Fields(string(listed)), func(pkg string) bool {
		dir := strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
		return slices.Contains(raced, dir) || dir == "" && slices.Contains(raced, ".")
	}), nil
}
