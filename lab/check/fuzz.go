package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// fuzzRuns is the number of inputs per target, enough for a smoke test. It is a count and not a
// time because the Go fuzzer sometimes reports "context deadline exceeded" as a failure when its
// time is up.
const fuzzRuns = 1_000

type fuzzTarget struct{ pkg, dir, name string }

// fuzzAll finds every fuzz target and runs each briefly.
func fuzzAll(ctx context.Context, out io.Writer) (tally, error) {
	files, err := quietly(ctx, "", nil, "go", "list", "-f", fuzzFiles, "./...")
	if err != nil {
		return tally{}, err
	}
	targets, err := fuzzTargets(files)
	if err != nil {
		return tally{}, err
	}
	if len(targets) == 0 {
		return tally{}, errors.New("no fuzz target found: fuzzTargets does not work")
	}
	temp, err := os.MkdirTemp("", "gauze-fuzz-")
	if err != nil {
		return tally{}, err
	}
	defer os.RemoveAll(temp)
	cache, err := quietly(ctx, "", nil, "go", "env", "GOCACHE")
	if err != nil {
		return tally{}, err
	}
	builds := &fuzzBuilds{temp: temp, cache: strings.TrimSpace(string(cache)), done: map[string]error{}}
	var t tally
	var failures []string
	for _, target := range targets {
		if err := builds.run(ctx, target); err != nil {
			t.failed++
			failures = append(failures, fmt.Sprintf("%s %s:\n%v", target.pkg, target.name, err))
			continue
		}
		t.passed++
		fmt.Fprintf(out, "ok  \t%s\t%s\n", target.pkg, target.name)
	}
	if failures != nil {
		return t, fmt.Errorf("%s\nnext: the failing input is in that package's testdata/fuzz; commit it with the fix", strings.Join(failures, "\n"))
	}
	return t, nil
}

// fuzzBuilds are the test binaries of the packages with fuzz targets. Each is built once, when it is
// needed first: go test -fuzz would link it again for each target.
type fuzzBuilds struct {
	temp  string
	cache string           // Go's
	done  map[string]error // by package
}

// run runs a target as go test -fuzz does: in the directory of its package, where the fuzzer reads its
// seeds and writes an input that fails, and with the inputs of earlier runs in Go's cache.
func (b *fuzzBuilds) run(ctx context.Context, target fuzzTarget) error {
	binary := filepath.Join(b.temp, strings.ReplaceAll(target.pkg, "/", "+")+".test.exe")
	if _, ok := b.done[target.pkg]; !ok {
		_, b.done[target.pkg] = quietly(ctx, "", nil, "go", "test", "-vet=off", "-c", "-fuzz", "^Fuzz", "-o", binary, target.pkg)
	}
	if err := b.done[target.pkg]; err != nil {
		return err
	}
	_, err := quietly(ctx, target.dir, nil, binary, "-test.run", "^$", "-test.fuzz", "^"+target.name+"$",
		"-test.fuzztime", fmt.Sprintf("%dx", fuzzRuns), "-test.fuzzcachedir", filepath.Join(b.cache, "fuzz", filepath.FromSlash(target.pkg)))
	return err
}

// fuzzFiles makes go list print a line for every test file: package, tab, path.
const fuzzFiles = `{{range .TestGoFiles}}{{$.ImportPath}}	{{$.Dir}}/{{.}}
{{end}}{{range .XTestGoFiles}}{{$.ImportPath}}	{{$.Dir}}/{{.}}
{{end}}`

// fuzzTargets reads the test files themselves, because go test -list would build every test a
// second time.
func fuzzTargets(listed []byte) ([]fuzzTarget, error) {
	var targets []fuzzTarget
	for line := range bytes.Lines(listed) {
		pkg, file, ok := strings.Cut(strings.TrimSpace(string(line)), "\t")
		if !ok {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(file), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				targets = append(targets, fuzzTarget{pkg, filepath.Dir(filepath.FromSlash(file)), f.Name.Name})
			}
		}
	}
	return targets, nil
}
