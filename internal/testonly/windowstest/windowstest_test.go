package windowstest

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A testFile is what the list has to know about one test file.
type testFile struct {
	name     string   // path from the root of the module, with slashes
	tests    bool     // declares a test, a benchmark, a fuzz test or an example
	excluded bool     // not built for Windows
	callers  []string // functions that call Skip
	byGOOS   []string // functions that skip by runtime.GOOS
	strings  []string // string literals
}

func TestListAgreesWithTheTree(t *testing.T) {
	tree := readTree(t)
	if len(tree) < 200 {
		t.Errorf("only %d test files found", len(tree))
	}
	for _, complaint := range disagreements(tree, slices.Concat(tests, wineTests), files) {
		t.Error(complaint)
	}
}

// disagreements compares the list with the test files of the tree.
func disagreements(tree []testFile, tests, files []exemption) []string {
	var found []string
	for _, entry := range slices.Concat(tests, files) {
		if entry.reason == "" {
			found = append(found, "no reason given: "+strings.Join(entry.names, ", "))
		}
	}
	for name := range names(tests) {
		if !slices.ContainsFunc(tree, func(f testFile) bool { return f.calls(name) }) {
			found = append(found, name+" is listed, but does not exist or does not call windowstest.Skip")
		}
	}
	for pattern := range names(files) {
		if !slices.ContainsFunc(tree, func(f testFile) bool { return f.excluded && matches(pattern, f.name) }) {
			found = append(found, pattern+" is listed, but does not exist or is built for Windows")
		}
	}
	for _, f := range tree {
		if f.excluded {
			if f.tests && !f.listed(files) {
				found = append(found, f.name+" is not built for Windows and is not listed")
			}
			continue
		}
		for _, function := range f.byGOOS {
			if _, known := reason(tests, function, ""); !known {
				found = append(found, function+" skips by runtime.GOOS instead of windowstest.Skip")
			}
		}
	}
	return found
}

func (f testFile) calls(name string) bool {
	function, subtest := splitName(name)
	return !f.excluded && slices.Contains(f.callers, function) && (subtest == "" || slices.Contains(f.strings, subtest))
}

func (f testFile) listed(files []exemption) bool {
	for pattern := range names(files) {
		if matches(pattern, f.name) {
			return true
		}
	}
	return false
}

func names(list []exemption) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, entry := range list {
			for _, name := range entry.names {
				if !yield(name) {
					return
				}
			}
		}
	}
}

func matches(pattern, file string) bool {
	ok, err := path.Match(pattern, file)
	return ok && err == nil
}

func readTree(t *testing.T) []testFile {
	t.Helper()
	var tree []testFile
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && file != root && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		read := readFile(filepath.ToSlash(name), parsed)
		read.excluded = !builtForWindows(t, file)
		tree = append(tree, read)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// builtForWindows reports whether the file is part of a Windows build, with the race detector or
// without.
func builtForWindows(t *testing.T, file string) bool {
	t.Helper()
	for _, tags := range [][]string{nil, {"race"}} {
		windows := build.Default
		windows.GOOS, windows.BuildTags, windows.ToolTags = "windows", tags, nil
		ok, err := windows.MatchFile(filepath.Dir(file), filepath.Base(file))
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return true
		}
	}
	return false
}

func readFile(name string, parsed *ast.File) testFile {
	f := testFile{name: name}
	pkg := path.Dir(name)
	if pkg == "." {
		pkg = path.Base(module)
	}
	for _, decl := range parsed.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		full := pkg + "." + function.Name.Name
		f.tests = f.tests || isTest(function)
		ast.Inspect(function.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if isSelector(n.Fun, "windowstest", "Skip") {
					f.callers = append(f.callers, full)
				}
			case *ast.IfStmt, *ast.SwitchStmt:
				if branchesByGOOS(n) && skips(n, isTest(function)) {
					f.byGOOS = append(f.byGOOS, full)
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					f.strings = append(f.strings, text)
				}
			}
			return true
		})
	}
	return f
}

func isTest(function *ast.FuncDecl) bool {
	if function.Recv != nil || function.Name.Name == "TestMain" {
		return false
	}
	return slices.ContainsFunc([]string{"Test", "Benchmark", "Fuzz", "Example"}, func(prefix string) bool {
		return strings.HasPrefix(function.Name.Name, prefix)
	})
}

func isSelector(n ast.Node, left, right string) bool {
	s, ok := n.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != right {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == left
}

// branchesByGOOS reports whether a condition of the statement mentions the platform.
func branchesByGOOS(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		return mentionsGOOS(n.Cond)
	case *ast.SwitchStmt:
		return n.Tag != nil && mentionsGOOS(n.Tag) || slices.ContainsFunc(n.Body.List, func(clause ast.Stmt) bool {
			return slices.ContainsFunc(clause.(*ast.CaseClause).List, mentionsGOOS)
		})
	}
	return false
}

func mentionsGOOS(condition ast.Expr) bool {
	found := false
	ast.Inspect(condition, func(n ast.Node) bool {
		found = found || isSelector(n, "runtime", "GOOS")
		return true
	})
	return found
}

// skips reports whether a branch of the statement ends a test: by a skip, or in a test by a return.
func skips(statement ast.Node, inTest bool) bool {
	found := false
	ast.Inspect(statement, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			found = found || slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, n.Sel.Name)
		case *ast.ReturnStmt:
			found = found || inTest && len(n.Results) == 0
		}
		return true
	})
	return found
}

func TestDisagreementsAreFound(t *testing.T) {
	source := `package x
		func TestListed(t *testing.T) { windowstest.Skip(t) }
		func TestUnlisted(t *testing.T) { if runtime.GOOS == "windows" { t.Skip("no") } }
		func TestLeaves(t *testing.T) { if runtime.GOOS != "linux" { return } }
		func TestElse(t *testing.T) { if runtime.GOOS == "linux" { x = 1 } else { t.Skip("no") } }
		func TestSwitch(t *testing.T) { switch runtime.GOOS { case "windows": t.Skip("no") } }
		func TestCase(t *testing.T) { switch { case runtime.GOOS == "windows": t.SkipNow() } }
		func TestOther(t *testing.T) { switch x { case 1: t.Skip("no") } }
		func TestBoth(t *testing.T) { windowstest.Skip(t); if runtime.GOOS != "linux" { t.Skip("no") } }
		func TestSubtests(t *testing.T) { t.Run("one case", func(t *testing.T) { windowstest.Skip(t) }) }
		func TestPlain(t *testing.T) { if runtime.GOOS == "windows" { x = 1 } }
	`
	parsed, err := parser.ParseFile(token.NewFileSet(), "x_test.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	built := readFile("internal/x/x_test.go", parsed)
	excluded := testFile{name: "internal/x/x_linux_test.go", tests: true, excluded: true}
	helper := testFile{name: "internal/x/helper_linux_test.go", excluded: true}
	other := testFile{name: "internal/y/y_linux_test.go", tests: true, excluded: true}
	got := disagreements([]testFile{built, excluded, helper, other},
		[]exemption{
			{"why", []string{"internal/x.TestListed", "internal/x.TestGone", "internal/x.TestPlain", "internal/x.TestBoth"}},
			{"", []string{"internal/x.TestSubtests/one case", "internal/x.TestSubtests/no case"}},
		},
		[]exemption{{"why", []string{"internal/y/*_test.go", "internal/z/*_test.go", "internal/x/x_test.go"}}})
	want := []string{
		"no reason given: internal/x.TestSubtests/one case, internal/x.TestSubtests/no case",
		"internal/x.TestGone is listed, but does not exist or does not call windowstest.Skip",
		"internal/x.TestPlain is listed, but does not exist or does not call windowstest.Skip",
		"internal/x.TestSubtests/no case is listed, but does not exist or does not call windowstest.Skip",
		"internal/z/*_test.go is listed, but does not exist or is built for Windows",
		"internal/x/x_test.go is listed, but does not exist or is built for Windows",
		"internal/x.TestUnlisted skips by runtime.GOOS instead of windowstest.Skip",
		"internal/x.TestLeaves skips by runtime.GOOS instead of windowstest.Skip",
		"internal/x.TestElse skips by runtime.GOOS instead of windowstest.Skip",
		"internal/x.TestSwitch skips by runtime.GOOS instead of windowstest.Skip",
		"internal/x.TestCase skips by runtime.GOOS instead of windowstest.Skip",
		"internal/x/x_linux_test.go is not built for Windows and is not listed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestReasonIsFoundByFunctionOrSubtest(t *testing.T) {
	list := []exemption{{"all", []string{"internal/x.TestA"}}, {"some", []string{"internal/x.TestB/a case"}}}
	for _, c := range []struct {
		function, subtest, why string
		known                  bool
	}{
		{"internal/x.TestA", "", "all", true},
		{"internal/x.TestA", "a_case", "all", true},
		{"internal/x.TestB", "a_case", "some", true},
		{"internal/x.TestB", "other", "", true},
		{"internal/y.TestA", "", "", false},
	} {
		if why, known := reason(list, c.function, c.subtest); why != c.why || known != c.known {
			t.Errorf("%s %s: %q %v", c.function, c.subtest, why, known)
		}
	}
	for name, want := range map[string]string{
		module + "/internal/wrap/proxy.TestX.func1": "internal/wrap/proxy.TestX",
		module + "/internal/wrap/proxy_test.TestX":  "internal/wrap/proxy.TestX",
		module + ".TestX":                           "gauze.TestX",
		module + "_test.TestX.func2.1":              "gauze.TestX",
		module + "/cmd/gauze.TestX":                 "cmd/gauze.TestX",
	} {
		if got := listName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
