// Package windowstest contains the list of tests that do not run on Windows. A test is skipped
// there only through this list, and this package's test keeps the list and the tree consistent.
package windowstest

import (
	"path"
	"runtime"
	"strings"
	"testing"
)

const module = "github.com/gauze-mcp/gauze"

// Skip skips t on Windows, or only under wine, if the list names the function that calls Skip or
// its subtest t. On every system it fails t if the list has neither.
func Skip(t testing.TB) {
	t.Helper()
	pc, _, _, _ := runtime.Caller(1)
	function := listName(runtime.FuncForPC(pc).Name())
	_, subtest, _ := strings.Cut(t.Name(), "/")
	why, known := reason(tests, function, subtest)
	whyWine, knownWine := reason(wineTests, function, subtest)
	switch {
	case !known && !knownWine:
		t.Fatalf("%s calls windowstest.Skip but has no entry in internal/testonly/windowstest/list.go", function)
	case why != "" && runtime.GOOS == "windows":
		t.Skip(why)
	case whyWine != "" && underWine():
		t.Skip(whyWine)
	}
}

// reason returns why the function, or its subtest, is skipped, and whether the list has an entry
// for the function or for any of its subtests.
func reason(list []exemption, function, subtest string) (why string, known bool) {
	for _, entry := range list {
		for _, name := range entry.names {
			listed, listedSubtest := splitName(name)
			if listed != function {
				continue
			}
			known = true
			if listedSubtest == "" || strings.ReplaceAll(listedSubtest, " ", "_") == subtest {
				return entry.reason, true
			}
		}
	}
	return "", known
}

// splitName splits "internal/wrap/proxy.TestX/subtest" into the function and the subtest.
func splitName(name string) (function, subtest string) {
	pkg, rest, _ := strings.Cut(name, ".")
	test, subtest, _ := strings.Cut(rest, "/")
	return pkg + "." + test, subtest
}

// listName turns the runtime's name of a function, or of a closure in it, into the list's:
// "internal/wrap/proxy.TestX", and "gauze.TestX" in the root of the module.
func listName(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, path.Dir(module)+"/"), path.Base(module)+"/")
	dir, base := path.Split(name)
	parts := strings.Split(base, ".")
	return dir + strings.TrimSuffix(parts[0], "_test") + "." + parts[1]
}
