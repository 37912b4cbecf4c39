// Command static is staticcheck with the checks that the level of the check needs.
//
// Some checks must read the functions of every dependency, SQLite's included, to know which of them are
// pure or never return nil. That takes minutes after each change of a dependency, so they are left to
// a run of everything.
package main

import (
	"os"

	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/analysis/facts/deprecated"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/lintcmd"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

func main() {
	cmd := lintcmd.NewCommand("staticcheck")
	cmd.ParseFlags(os.Args[1:])
	everything := os.Getenv(sample.EnvAll) != ""
	for _, family := range [][]*lint.Analyzer{simple.Analyzers, staticcheck.Analyzers, stylecheck.Analyzers, {unused.Analyzer}} {
		for _, a := range family {
			if everything || !readsDependencies(a.Analyzer) {
				cmd.AddAnalyzers(a)
			}
		}
	}
	cmd.Run()
}

// readsDependencies reports whether an analyzer needs more of dependencies than their declarations.
func readsDependencies(a *analysis.Analyzer) bool {
	if len(a.FactTypes) > 0 && a != deprecated.Analyzer {
		return true
	}
	for _, required := range a.Requires {
		if readsDependencies(required) {
			return true
		}
	}
	return false
}
