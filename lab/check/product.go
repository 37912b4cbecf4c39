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
// detector: they run with it in a run of everything. By default it watches these packages in the tests of those named here,
// which use them; that finds less.
var racedWithAll = map[string][]string{
	"internal/workshop/fleet":   {"internal/agent/agenttools", "internal/views/dashboard"},
	"internal/workshop/upgrade": {}, // by default not at all: there is one download at a time, and it is waited for
	"internal/wrap/probe":       {"internal/agent/agenttools", "internal/views/dashboard"},
}

// isUnraced reports whether the tests of a package of the product run without the race detector.
func isUnraced(pkg string) bool {
	if _, later := racedWithAll[pkg]; later && !programs.Everything() {
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
func testRaced(ctx context.Context, out io.Writer) (tally, error) {
	raced, _, err := split(ctx)
	if err != nil {
		return tally{}, err
	}
	// Its samples are always small: a hundred damaged journals race as ten thousand do.
	return goTest{env: append([]string{sample.EnvAll + "="}, raceOptions...), flags: append([]string{"-p", strconv.Itoa(runtime.NumCPU())}, programs.RaceFlags...), pkgs: raced}.run(ctx, out)
}

func testPlain(ctx context.Context, out io.Writer) (tally, error) {
	_, plain, err := split(ctx)
	if err != nil {
		return tally{}, err
	}
	return goTest{flags: []string{"-p", strconv.Itoa(runtime.NumCPU())}, pkgs: plain}.run(ctx, out)
}

const module = "github.com/gauze-mcp/gauze/"

// split returns the packages of the product that are tested with the race detector, and those that are tested without it: in
// a run of everything all are, with the whole of their samples.
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
		race := shares && !isUnraced(strings.TrimPrefix(pkg, module))
		if race {
			raced = append(raced, pkg)
		}
		if !race || programs.Everything() {
			plain = append(plain, pkg)
		}
	}
	if len(raced) == 0 {
		return nil, nil, fmt.Errorf("no package shares memory: sharesMemory does not work")
	}
	for _, name := range longest {
		if uses[name] == nil {
			return nil, nil, fmt.Errorf("%q is not there\nnext: correct longest in lab/check/product.go", name)
		}
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
	return longestFirst(raced), longestFirst(plain), nil
}

// longest are the packages whose tests take longest, the longest first. They begin before the others, because
// the last one to end has the machine to itself.
var longest = []string{"github.com/gauze-mcp/gauze", "internal/agent/agenttools", "cmd/gauze", "internal/wrap/kernel", "internal/disk/journal", "internal/mend/repair",
	"internal/tasks/taskrun", "internal/views/dashboard", "internal/access/login"}

// longestFirst sorts packages in the order in which their tests are to begin, which go test keeps.
func longestFirst(pkgs []string) []string {
	rank := func(pkg string) int {
		if i := slices.Index(longest, strings.TrimPrefix(pkg, module)); i >= 0 {
			return i
		}
		return len(longest)
	}
	slices.SortStableFunc(pkgs, func(a, b string) int { return rank(a) - rank(b) })
	return pkgs
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
