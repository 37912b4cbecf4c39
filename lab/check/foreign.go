package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/passes/appends"
	"golang.org/x/tools/go/analysis/passes/assign"
	"golang.org/x/tools/go/analysis/passes/atomic"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/composite"
	"golang.org/x/tools/go/analysis/passes/copylock"
	"golang.org/x/tools/go/analysis/passes/defers"
	"golang.org/x/tools/go/analysis/passes/directive"
	"golang.org/x/tools/go/analysis/passes/errorsas"
	"golang.org/x/tools/go/analysis/passes/hostport"
	"golang.org/x/tools/go/analysis/passes/httpresponse"
	"golang.org/x/tools/go/analysis/passes/ifaceassert"
	"golang.org/x/tools/go/analysis/passes/loopclosure"
	"golang.org/x/tools/go/analysis/passes/nilfunc"
	"golang.org/x/tools/go/analysis/passes/shift"
	"golang.org/x/tools/go/analysis/passes/sigchanyzer"
	"golang.org/x/tools/go/analysis/passes/slog"
	"golang.org/x/tools/go/analysis/passes/stdmethods"
	"golang.org/x/tools/go/analysis/passes/stdversion"
	"golang.org/x/tools/go/analysis/passes/stringintconv"
	"golang.org/x/tools/go/analysis/passes/structtag"
	"golang.org/x/tools/go/analysis/passes/testinggoroutine"
	"golang.org/x/tools/go/analysis/passes/tests"
	"golang.org/x/tools/go/analysis/passes/timeformat"
	"golang.org/x/tools/go/analysis/passes/unmarshal"
	"golang.org/x/tools/go/analysis/passes/unreachable"
	"golang.org/x/tools/go/analysis/passes/unsafeptr"
	"golang.org/x/tools/go/analysis/passes/unusedresult"
	"golang.org/x/tools/go/analysis/passes/waitgroup"
	"golang.org/x/tools/go/packages"
)

// foreignAnalyzers are those of go vet that need no facts about dependencies.
var foreignAnalyzers = []*analysis.Analyzer{
	appends.Analyzer, assign.Analyzer, atomic.Analyzer, bools.Analyzer, buildtag.Analyzer,
	composite.Analyzer, copylock.Analyzer, defers.Analyzer, directive.Analyzer, errorsas.Analyzer,
	hostport.Analyzer, httpresponse.Analyzer, ifaceassert.Analyzer, loopclosure.Analyzer, nilfunc.Analyzer,
	shift.Analyzer, sigchanyzer.Analyzer, slog.Analyzer, stdmethods.Analyzer, stdversion.Analyzer,
	stringintconv.Analyzer, structtag.Analyzer, testinggoroutine.Analyzer, tests.Analyzer,
	timeformat.Analyzer, unmarshal.Analyzer, unreachable.Analyzer, unsafeptr.Analyzer, unusedresult.Analyzer,
	waitgroup.Analyzer,
}

// checkFor type-checks the product and its tests for another system, for Windows also the tests of the
// laboratory that run there, and runs the analyzers of go vet on them. It generates no code: go build would compile every dependency, and SQLite alone takes a minute.
func checkFor(goos string) func(context.Context, io.Writer) (tally, error) {
	return func(ctx context.Context, out io.Writer) (tally, error) {
		root, err := os.Getwd()
		if err != nil {
			return tally{}, err
		}
		look := func(dir string, patterns ...string) func() error {
			return func() error {
				loaded, err := loadFor(ctx, goos, filepath.Join(root, dir), patterns...)
				if err != nil {
					return err
				}
				return findings(loaded)
			}
		}
		err = source{"product for " + goos, []string{"lab", "temporal"}}.unlessAccepted(ctx, out, look("", "./..."))
		if goos == "windows" {
			lab := source{"laboratory for " + goos, []string{"temporal"}}.unlessAccepted(ctx, out, look("lab", append([]string{"./windows"}, labUnderWine...)...))
			err = errors.Join(err, lab)
		}
		return tally{}, err
	}
}

// loadFor loads packages of the module in a directory, with their tests.
func loadFor(ctx context.Context, goos, dir string, patterns ...string) ([]*packages.Package, error) {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx,
		Dir:     dir,
		Mode:    packages.LoadAllSyntax,
		Env:     append(os.Environ(), "GOOS="+goos),
		Tests:   true,
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			return parseFor(fset, dir, name, src)
		},
	}, patterns...)
	// The main packages of tests are generated.
	return slices.DeleteFunc(loaded, func(p *packages.Package) bool { return strings.HasSuffix(p.ID, ".test") }), err
}

// parseFor parses a file. What functions of other modules do is not checked, only what they are.
func parseFor(fset *token.FileSet, dir, name string, src []byte) (*ast.File, error) {
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil || strings.HasPrefix(name, dir+string(filepath.Separator)) {
		return file, err
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
	return file, err
}

// findings returns the errors in the loaded packages, and what the analyzers say about them.
func findings(loaded []*packages.Package) error {
	if len(loaded) == 0 {
		return errors.New("no package was found")
	}
	var errs []error
	packages.Visit(loaded, nil, func(pkg *packages.Package) {
		for _, e := range pkg.Errors {
			if e.Kind != packages.TypeError || slices.Contains(loaded, pkg) {
				errs = append(errs, e)
			}
		}
		pkg.IllTyped = false // because of a dependency, whose imports are not used without its functions
	})
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	graph, err := checker.Analyze(foreignAnalyzers, loaded, nil)
	if err != nil {
		return err
	}
	for act := range graph.All() {
		if !act.IsRoot {
			continue
		}
		errs = append(errs, act.Err)
		for _, d := range act.Diagnostics {
			errs = append(errs, fmt.Errorf("%s: %s", act.Package.Fset.Position(d.Pos), d.Message))
		}
	}
	return errors.Join(errs...)
}

// buildForeign compiles and links what is released for other systems.
func buildForeign(ctx context.Context, _ io.Writer) (tally, error) {
	var errs error
	for _, goos := range []string{"windows", "darwin"} {
		for dir, pkg := range map[string]string{".": "./cmd/gauze", "temporal": "./cmd/gauze-temporal", "lab": "./check"} {
			_, err := quietly(ctx, dir, []string{"GOOS=" + goos}, "go", "build", "-o", os.DevNull, pkg)
			errs = errors.Join(errs, err)
		}
	}
	return tally{}, errs
}
