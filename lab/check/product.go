package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// unraced are packages that start goroutines and are tested without the race detector nevertheless.
var unraced = map[string]string{
	"cmd/gauze": "its tests start gauze as a process; a storm and a run of everything start one with the race detector",
}

// testRaced tests the packages that start goroutines, with the race detector. It would compile and run
// all others a second time to look at code that runs in one goroutine.
func testRaced(ctx context.Context, out io.Writer) (tally, error) {
	raced, _, err := split(ctx)
	if err != nil {
		return tally{}, err
	}
	return goTest{env: raceOptions, flags: []string{"-race", "-p", strconv.Itoa(runtime.NumCPU())}, pkgs: raced}.run(ctx, out)
}

func testPlain(ctx context.Context, out io.Writer) (tally, error) {
	_, plain, err := split(ctx)
	if err != nil {
		return tally{}, err
	}
	return goTest{flags: []string{"-p", strconv.Itoa(runtime.NumCPU())}, pkgs: plain}.run(ctx, out)
}

// split returns the packages of the product that are tested with the race detector, and the others.
func split(ctx context.Context) (raced, plain []string, err error) {
	listed, err := quietly(ctx, "", nil, "go", "list", "-f", "{{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles \"\t\"}}", "./...")
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(listed)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		pkg, dir, files := fields[0], fields[1], fields[2:]
		concurrent, err := startsGoroutines(dir, files)
		if err != nil {
			return nil, nil, err
		}
		_, excepted := unraced[strings.TrimPrefix(pkg, "github.com/gauze-mcp/gauze/")]
		if concurrent && !excepted {
			raced = append(raced, pkg)
		} else {
			plain = append(plain, pkg)
		}
	}
	if len(raced) == 0 {
		return nil, nil, fmt.Errorf("no package starts a goroutine: startsGoroutines does not work")
	}
	return raced, plain, nil
}

// startsGoroutines reports whether one of the files has a go statement or calls a method Go, as of a
// sync.WaitGroup.
func startsGoroutines(dir string, files []string) (found bool, err error) {
	for _, name := range files {
		if name == "" {
			continue // a package that has only tests
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found = true
			case *ast.SelectorExpr:
				found = found || n.Sel.Name == "Go"
			}
			return !found
		})
	}
	return found, nil
}
