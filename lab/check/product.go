package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/lab/programs"
)

// unraced are packages that share memory and are tested without the race detector nevertheless. A name
// that ends with a slash stands for all packages below it.
var unraced = map[string]string{
	"cmd/gauze":                      "its tests start gauze as a process; a storm and a run of everything start one with the race detector",
	"internal/workshop/doctor":       "its rules are pure and take long; what runs them at the same time is raced: fleet, agenttools, proxy",
	"internal/workshop/clientconfig": "it shares a sync.Map of constants; its rules are pure and take long; what runs them at the same time is raced: fleet, agenttools",
	"internal/mend/repair":           "it shares a cache of schemas, which the tests of proxy use",
	"internal/testonly/":             "what tests use is raced in the tests that use it",
}

// racedWithAll are packages that share little memory, and whose own tests take several times as long with the race
// detector. By default it watches them in the tests of the packages named here, which use them. In a run of everything
// their own tests run with it as well, with small samples: a hundred damaged journals race as ten thousand do.
var racedWithAll = map[string][]string{
	"internal/access/bearer":    {"internal/wrap/gateway"},
	"internal/disk/files":       {"internal/tasks/taskrun", "internal/agent/agenttools"},
	"internal/disk/journal":     {"internal/tasks/taskrun", "internal/agent/agenttools", "internal/views/dashboard"},
	"internal/views/metrics":    {"internal/views/dashboard"},
	"internal/workshop/backup":  {"internal/agent/agenttools", "internal/views/dashboard"},
	"internal/workshop/fleet":   {"internal/agent/agenttools", "internal/views/dashboard"},
	"internal/workshop/trust":   {"internal/agent/agenttools"},
	"internal/workshop/upgrade": {}, // by default not at all: there is one download at a time, and it is waited for
	"internal/wrap/probe":       {"internal/agent/agenttools", "internal/views/dashboard"},
	"llm":                       {"internal/wrap/stages/correction"},
}

// isUnraced reports whether the tests of a package of the product run without the race detector.
func isUnraced(pkg string) bool {
	if _, later := racedWithAll[pkg]; later {
		return true
	}
	for name := range unraced {
		if pkg == name || strings.HasSuffix(name, "/") && strings.HasPrefix(pkg, name) {
			return true
		}
	}
	return false
}

// testRaced tests the packages whose memory several goroutines share, with the race detector. It would
// compile and run all others a second time to look at code that runs in one goroutine.
func testRaced(ctx context.Context, out io.Writer) (total tally, err error) {
	tests, err := raced(ctx)
	for _, test := range tests {
		counts, failed := test.run(ctx, out)
		total, err = total.plus(counts), errors.Join(err, failed)
	}
	return total, err
}

// raced returns the tests with the race detector.
func raced(ctx context.Context) ([]goTest, error) {
	pkgs, _, err := split(ctx)
	if err != nil {
		return nil, err
	}
	test := goTest{env: raceOptions, flags: append([]string{"-p", strconv.Itoa(runtime.NumCPU() + 1)}, programs.RaceFlags...), pkgs: pkgs}
	if !programs.Everything() {
		return []goTest{test}, nil
	}
	small := test
	small.env = append([]string{sample.EnvAll + "="}, raceOptions...)
	small.pkgs = nil
	for _, pkg := range slices.Sorted(maps.Keys(racedWithAll)) {
		small.pkgs = append(small.pkgs, module+pkg)
	}
	return []goTest{test, small}, nil
}

func testPlain(ctx context.Context, out io.Writer) (tally, error) {
	_, plain, err := split(ctx)
	if err != nil {
		return tally{}, err
	}
	return goTest{flags: []string{"-p", strconv.Itoa(runtime.NumCPU())}, pkgs: plain}.run(ctx, out)
}

const module = "github.com/gauze-mcp/gauze/"

// split returns the packages of the product that are tested with the race detector, and the others.
func split(ctx context.Context) (raced, plain []string, err error) {
	listed, err := quietly(ctx, "", nil, "go", "list", "-f", "{{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles \" \"}}\t{{join .Deps \" \"}}", "./...")
	if err != nil {
		return nil, nil, err
	}
	uses, concurrent := map[string][]string{}, map[string]bool{}
	for line := range strings.Lines(string(listed)) {
		fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
		pkg, dir, files := fields[0], fields[1], strings.Fields(fields[2])
		uses[strings.TrimPrefix(pkg, module)] = strings.Fields(fields[3])
		shares, err := sharesMemory(dir, files)
		if err != nil {
			return nil, nil, err
		}
		concurrent[strings.TrimPrefix(pkg, module)] = shares
		if shares && !isUnraced(strings.TrimPrefix(pkg, module)) {
			raced = append(raced, pkg)
		} else {
			plain = append(plain, pkg)
		}
	}
	if len(raced) == 0 {
		return nil, nil, fmt.Errorf("no package shares memory: sharesMemory does not work")
	}
	for pkg, users := range racedWithAll {
		if !concurrent[pkg] {
			return nil, nil, fmt.Errorf("%s is not there or shares no memory\nnext: correct racedWithAll in lab/check/product.go", pkg)
		}
		for _, user := range users {
			if !slices.Contains(uses[user], module+pkg) || !slices.Contains(raced, module+user) {
				return nil, nil, fmt.Errorf("the tests of %s do not have %s with the race detector\nnext: correct racedWithAll in lab/check/product.go", user, pkg)
			}
		}
	}
	return raced, plain, nil
}

// sharesMemory reports whether one of the files has a go statement, calls a method Go, as of a
// sync.WaitGroup, or guards memory against others.
func sharesMemory(dir string, files []string) (found bool, err error) {
	for _, name := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found = true
			case *ast.SelectorExpr:
				found = found || n.Sel.Name == "Go" || guards(n)
			}
			return !found
		})
	}
	return found, nil
}

// guards reports whether an expression names something of package sync or sync/atomic that is for
// memory that goroutines share. A sync.OnceValue is safe by itself.
func guards(n *ast.SelectorExpr) bool {
	from, ok := n.X.(*ast.Ident)
	if !ok {
		return false
	}
	switch from.Name {
	case "atomic":
		return true
	case "sync":
		return slices.Contains([]string{"Mutex", "RWMutex", "Map", "Cond"}, n.Sel.Name)
	}
	return false
}
