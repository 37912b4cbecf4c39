package gauze_test

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

const module = "github.com/gauze-mcp/gauze"

// doors lists what each package may import. All but standardOnly may also import common.
var doors = map[string][]string{
	".":                                        {"internal/mend/correct", "internal/mend/execute", "internal/mend/repair", "internal/tasks/given", "internal/workshop/doctor", "internal/wrap/launch", "internal/wrap/proxy", "internal/wrap/upstream", "internal/wrap/wire", "llm", "repair"},
	"cmd/gauze":                                {"internal/access/bearer", "internal/access/httpguard", "internal/access/login", "internal/agent/agenttools", "internal/disk/files", "internal/disk/journal", "internal/disk/remembered", "internal/hub", "internal/hub/attach", "internal/hub/upfile", "internal/mend/modelconfig", "internal/mend/repair", "internal/tasks/task", "internal/tasks/taskcli", "internal/tasks/taskrun", "internal/text/document", "internal/text/terminal", "internal/views/dashboard", "internal/views/demo", "internal/views/demo/breakable", "internal/views/live", "internal/views/logs", "internal/views/metrics", "internal/views/otlp", "internal/views/timeline", "internal/views/top", "internal/workshop/backup", "internal/workshop/clientconfig", "internal/workshop/doctor", "internal/workshop/fleet", "internal/workshop/installed", "internal/workshop/registry", "internal/workshop/service", "internal/workshop/trust", "internal/workshop/upgrade", "internal/wrap/gateway", "internal/wrap/launch", "internal/wrap/probe", "internal/wrap/proxy", "internal/wrap/upstream", "llm"},
	"doctor":                                   {"internal/workshop/backup", "internal/workshop/clientconfig", "internal/workshop/doctor", "internal/workshop/fleet", "internal/wrap/launch", "internal/wrap/probe"},
	"event":                                    {"fault", "internal/text/redact"},
	"examples":                                 {},
	"examples/agent":                           {},
	"examples/healedclient":                    {},
	"examples/server":                          {},
	"fault":                                    {"internal/text/plaintext", "internal/text/redact", "internal/text/regex", "internal/text/shell"},
	"health":                                   {"fault"},
	"llm":                                      {"internal/thirdparty/jsonschema"},
	"repair":                                   {"internal/mend/correct", "internal/mend/execute", "internal/mend/repair", "llm"},
	"task":                                     {"internal/mend/execute", "internal/tasks/given", "internal/tasks/task", "internal/tasks/taskrun", "internal/tasks/verdict", "internal/workshop/backup", "internal/workshop/doctor", "internal/wrap/proxy", "llm"},
	"internal/access/bearer":                   {"internal/wrap/launch", "internal/wrap/wire"},
	"internal/access/httpguard":                {},
	"internal/access/login":                    {"internal/access/httpguard", "internal/disk/files", "internal/workshop/backup", "internal/workshop/trust", "internal/wrap/launch", "internal/wrap/wire"},
	"internal/agent/agenttools":                {"internal/agent/mcpserver", "internal/mend/repair", "internal/tasks/task", "internal/tasks/taskcli", "internal/tasks/taskrun", "internal/tasks/verdict", "internal/workshop/backup", "internal/workshop/clientconfig", "internal/workshop/doctor", "internal/workshop/fleet", "internal/workshop/registry", "internal/workshop/trust", "internal/wrap/launch", "internal/wrap/probe", "internal/wrap/proxy", "internal/wrap/wire", "llm"},
	"internal/agent/mcpserver":                 {"internal/wrap/wire"},
	"internal/disk/files":                      {},
	"internal/disk/journal":                    {"internal/disk/files"},
	"internal/disk/remembered":                 {"internal/disk/files"},
	"internal/disk/sockets":                    {},
	"internal/hub":                             {"internal/hub/names", "internal/hub/shared", "internal/hub/upfile", "internal/hub/view", "internal/wrap/gateway", "internal/wrap/launch", "internal/wrap/probe", "internal/wrap/proxy", "internal/wrap/upstream", "internal/wrap/wire"},
	"internal/hub/attach":                      {"internal/disk/files", "internal/disk/sockets", "internal/wrap/wire"},
	"internal/hub/names":                       {},
	"internal/hub/search":                      {},
	"internal/hub/shared":                      {"internal/wrap/launch", "internal/wrap/proxy", "internal/wrap/wire"},
	"internal/hub/upfile":                      {"internal/access/httpguard", "internal/disk/files", "internal/hub/names", "internal/tasks/task", "internal/text/document", "internal/workshop/clientconfig", "internal/workshop/fleet", "internal/workshop/splice", "internal/workshop/trust", "internal/wrap/launch", "internal/wrap/proxy"},
	"internal/hub/view":                        {"internal/hub/names", "internal/hub/search", "internal/wrap/proxy", "internal/wrap/wire"},
	"internal/mend/correct":                    {"internal/mend/repair", "internal/workshop/trust", "llm"},
	"internal/mend/execute":                    {"internal/mend/correct", "internal/mend/repair", "llm"},
	"internal/mend/modelconfig":                {"llm"},
	"internal/mend/repair":                     {"internal/thirdparty/jsonschema", "internal/thirdparty/jsonschema/kind"},
	"internal/tasks/given":                     {"internal/wrap/proxy"},
	"internal/tasks/task":                      {"internal/tasks/verdict", "internal/text/document", "llm"},
	"internal/tasks/taskcli":                   {"internal/tasks/task", "internal/tasks/taskrun", "internal/text/terminal", "internal/workshop/fleet", "internal/workshop/trust", "internal/wrap/launch"},
	"internal/tasks/taskrun":                   {"internal/disk/journal", "internal/mend/repair", "internal/tasks/task", "internal/tasks/verdict", "internal/workshop/doctor", "internal/wrap/launch", "internal/wrap/proxy", "internal/wrap/wire", "llm"},
	"internal/tasks/verdict":                   {"llm"},
	"internal/tasks/verdict/situations":        {"internal/tasks/verdict"},
	"internal/text/document":                   {},
	"internal/text/fullscreen":                 {},
	"internal/text/plaintext":                  {"internal/text/sorting"},
	"internal/text/redact":                     {"internal/text/plaintext", "internal/text/regex", "internal/text/sorting"},
	"internal/text/regex":                      {},
	"internal/text/shell":                      {},
	"internal/text/sorting":                    {},
	"internal/text/terminal":                   {},
	"internal/thirdparty/jsonschema":           {"internal/thirdparty/jsonschema/kind"},
	"internal/thirdparty/jsonschema/kind":      {},
	"internal/views/dashboard":                 {"internal/access/httpguard", "internal/disk/journal", "internal/disk/remembered", "internal/tasks/task", "internal/tasks/taskcli", "internal/tasks/taskrun", "internal/views/live", "internal/views/logs", "internal/views/markup", "internal/views/metrics", "internal/views/timeline", "internal/workshop/backup", "internal/workshop/clientconfig", "internal/workshop/doctor", "internal/workshop/fleet", "internal/wrap/launch"},
	"internal/views/demo":                      {"internal/tasks/task", "internal/tasks/taskrun", "internal/text/terminal", "internal/views/demo/breakable", "internal/views/timeline", "internal/wrap/launch", "internal/wrap/proxy", "internal/wrap/upstream", "llm"},
	"internal/views/demo/breakable":            {},
	"internal/views/live":                      {"internal/disk/files", "internal/disk/sockets"},
	"internal/views/logs":                      {"internal/disk/journal", "internal/views/live", "internal/views/timeline"},
	"internal/views/markup":                    {},
	"internal/views/metrics":                   {"internal/tasks/verdict", "internal/views/live", "internal/wrap/proxy", "internal/wrap/upstream"},
	"internal/views/otlp":                      {"internal/views/live", "internal/views/metrics", "internal/wrap/proxy"},
	"internal/views/timeline":                  {"internal/disk/journal", "internal/wrap/upstream"},
	"internal/views/top":                       {"internal/disk/journal", "internal/text/fullscreen", "internal/text/terminal", "internal/views/live", "internal/views/timeline", "internal/workshop/fleet"},
	"internal/workshop/backup":                 {"internal/disk/files"},
	"internal/workshop/clientconfig":           {"internal/disk/files", "internal/workshop/clientconfig/reference", "internal/workshop/splice", "internal/wrap/launch"},
	"internal/workshop/clientconfig/reference": {},
	"internal/workshop/doctor":                 {"internal/disk/remembered", "internal/workshop/trust", "internal/wrap/launch", "internal/wrap/probe", "internal/wrap/upstream", "llm"},
	"internal/workshop/fleet":                  {"internal/access/login", "internal/disk/files", "internal/workshop/backup", "internal/workshop/clientconfig", "internal/workshop/doctor", "internal/workshop/installed", "internal/workshop/registry", "internal/workshop/trust", "internal/wrap/launch", "internal/wrap/probe", "internal/wrap/upstream", "llm"},
	"internal/workshop/installed":              {"internal/workshop/backup", "internal/disk/files"},
	"internal/workshop/registry":               {"internal/disk/files", "internal/workshop/trust", "internal/wrap/launch"},
	"internal/workshop/service":                {},
	"internal/workshop/splice":                 {},
	"internal/workshop/trust":                  {"internal/disk/remembered"},
	"internal/workshop/upgrade":                {"internal/disk/files", "internal/workshop/installed", "internal/wrap/launch"},
	"internal/wrap/gateway":                    {"internal/access/bearer", "internal/access/httpguard", "internal/wrap/launch", "internal/wrap/proxy", "internal/wrap/upstream", "internal/wrap/wire"},
	"internal/wrap/kernel":                     {"internal/wrap/upstream", "internal/wrap/wire"},
	"internal/wrap/launch":                     {"internal/wrap/wire"},
	"internal/wrap/pause":                      {},
	"internal/wrap/probe":                      {"internal/wrap/launch", "internal/wrap/upstream", "internal/wrap/upstream/life", "internal/wrap/wire"},
	"internal/wrap/proxy":                      {"internal/access/login", "internal/mend/correct", "internal/mend/repair", "internal/wrap/kernel", "internal/wrap/launch", "internal/wrap/probe", "internal/wrap/stages/correction", "internal/wrap/stages/diagnosis", "internal/wrap/stages/gate", "internal/wrap/stages/login", "internal/wrap/stages/observation", "internal/wrap/stages/repetition", "internal/wrap/stages/trace", "internal/wrap/upstream", "internal/wrap/wire", "llm"},
	"internal/wrap/stages/correction":          {"internal/mend/correct", "internal/mend/repair", "internal/wrap/kernel", "internal/wrap/stages/diagnosis", "internal/wrap/stages/gate", "internal/wrap/upstream", "internal/wrap/wire", "llm"},
	"internal/wrap/stages/diagnosis":           {"internal/mend/repair", "internal/wrap/kernel", "internal/wrap/launch", "internal/wrap/upstream", "internal/wrap/wire"},
	"internal/wrap/stages/gate":                {"internal/mend/repair", "internal/wrap/kernel", "internal/wrap/wire"},
	"internal/wrap/stages/login":               {"internal/access/login", "internal/mend/correct", "internal/mend/repair", "internal/wrap/kernel", "internal/wrap/launch", "internal/wrap/upstream", "internal/wrap/wire"},
	"internal/wrap/stages/observation":         {"internal/wrap/kernel", "internal/wrap/upstream"},
	"internal/wrap/stages/repetition":          {"internal/mend/correct", "internal/mend/repair", "internal/wrap/kernel"},
	"internal/wrap/stages/trace":               {"internal/wrap/kernel", "internal/wrap/wire"},
	"internal/wrap/upstream":                   {"internal/access/login", "internal/wrap/launch", "internal/wrap/upstream/life", "internal/wrap/upstream/process", "internal/wrap/upstream/web", "internal/wrap/wire"},
	"internal/wrap/upstream/life":              {"internal/access/login", "internal/wrap/launch", "internal/wrap/wire"},
	"internal/wrap/upstream/process":           {"internal/wrap/launch", "internal/wrap/upstream/life", "internal/wrap/wire"},
	"internal/wrap/upstream/web":               {"internal/access/login", "internal/wrap/launch", "internal/wrap/upstream/life", "internal/wrap/wire"},
	"internal/wrap/wire":                       {},
}

// testOnly has what the unit tests of several packages use. Nothing else may import it, and no room has a door to it.
const testOnly = "internal/testonly/"

// common is what every package may import.
var common = []string{"fault", "event", "health", "internal/wrap/pause", "internal/text/shell", "internal/text/plaintext", "internal/text/redact", "internal/text/regex", "internal/text/sorting"}

// standardOnly may import nothing but the standard library and what doors lists.
var standardOnly = []string{"internal/wrap/wire", "fault", "internal/text/shell", "internal/text/plaintext", "internal/text/redact", "internal/text/regex", "internal/text/sorting", "internal/wrap/pause", "health", "event", "internal/views/demo/breakable"}

// kernel promises one answer and no effect twice. It must not know anything else.
var kernelDoors = []string{"fault", "event", "health", "internal/wrap/upstream", "internal/wrap/wire"}

func TestRoomsHaveNoOtherDoors(t *testing.T) {
	for room, files := range rooms(t) {
		allowed, known := doors[room]
		if strings.HasPrefix(room, testOnly) {
			continue // what tests use may use anything
		}
		if !known {
			t.Errorf("%s is not in the table of rooms: add it to doors and to docs/ARCHITECTURE.md", room)
			continue
		}
		for file, imports := range files {
			for _, imported := range imports {
				other, ours := strings.CutPrefix(imported, module+"/")
				switch {
				case ours && slices.Contains(common, other) && !slices.Contains(standardOnly, room):
				case ours && !slices.Contains(allowed, other):
					t.Errorf("%s imports %s: not a door of %s", file, other, room)
				case !ours && strings.Contains(strings.Split(imported, "/")[0], ".") && slices.Contains(standardOnly, room):
					t.Errorf("%s imports %s: %s keeps to the standard library", file, imported, room)
				}
			}
		}
	}
}

func TestTheKernelKnowsNothingElse(t *testing.T) {
	for file, imports := range rooms(t)["internal/wrap/kernel"] {
		for _, imported := range imports {
			if other, ours := strings.CutPrefix(imported, module+"/"); ours && !slices.Contains(kernelDoors, other) {
				t.Errorf("%s imports %s: what needs it is a stage", file, other)
			}
		}
	}
}

// The program speaks MCP itself: the SDK, which only users of the library need, would add 1.7 MB to it.
func TestTheProgramIsWithoutTheSDK(t *testing.T) {
	for room, files := range rooms(t) {
		if !strings.HasPrefix(room, "internal/") && !strings.HasPrefix(room, "cmd/") || strings.HasPrefix(room, testOnly) {
			continue
		}
		for file, imports := range files {
			for _, imported := range imports {
				if imported == module || imported == module+"/task" || strings.HasPrefix(imported, "github.com/modelcontextprotocol/go-sdk/") {
					t.Errorf("%s imports %s, so that gauze contains the SDK", file, imported)
				}
			}
		}
	}
}

// testRequirements are modules that only tests of the product import, with the reason.
var testRequirements = map[string]string{
	"github.com/goccy/go-yaml":        "a second reader of YAML, with which the edits of splice are compared",
	"github.com/google/jsonschema-go": "derives schemas from types, with which those of gauze mcp are compared",
}

// What measures and checks gauze has a module of its own, so that gauze requires only what gauze needs.
func TestGauzeRequiresNothingForTestsAlone(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	imported := map[string]bool{}
	for room, files := range rooms(t) {
		for _, imports := range files {
			for _, pkg := range imports {
				imported[pkg] = imported[pkg] || !strings.HasPrefix(room, testOnly)
			}
		}
	}
	for _, line := range requirement.FindAllStringSubmatch(string(text), -1) {
		name := line[1]
		needed := strings.Contains(string(text), name+" "+line[2]+" // indirect") || testRequirements[name] != ""
		for pkg := range imported {
			needed = needed || imported[pkg] && (pkg == name || strings.HasPrefix(pkg, name+"/"))
		}
		if !needed {
			t.Errorf("only tests import %s: move them to lab, or add it to testRequirements with the reason", name)
		}
	}
}

// Temporal's libraries are in a module of their own, so that gauze stays small.
func TestGauzeDoesNotContainTemporal(t *testing.T) {
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "github.com/spf13/cobra") {
			t.Fatalf("%s does not list what gauze depends on", file)
		}
		if strings.Contains(string(text), "temporal") {
			t.Errorf("%s contains Temporal: it must be required only by temporal/go.mod", file)
		}
	}
}

// The go command refuses to build a module of our own in this tree that does not list what the
// packages of gauze that it imports require. Most of these modules are not part of the default check.
func TestModulesOfOurOwnRequireWhatGauzeRequires(t *testing.T) {
	gauze := required(t, "go.mod")
	all := rooms(t)
	for dir, imports := range modulesOfOurOwn(t) {
		file := path.Join(dir, "go.mod")
		listed := required(t, file)
		if listed[module] == "" {
			continue
		}
		for name, version := range gauze {
			if listed[name] != "" && older(listed[name], version) {
				t.Errorf("%s requires %s %s, gauze %s\nnext: go -C %s mod tidy", file, name, listed[name], version, dir)
			}
		}
		for _, imported := range reached(imports, all) {
			for name := range gauze {
				if (imported == name || strings.HasPrefix(imported, name+"/")) && listed[name] == "" {
					t.Errorf("%s does not list %s, which gauze imports\nnext: go -C %s mod tidy", file, name, dir)
				}
			}
		}
	}
}

// requirement is a line of a go.mod file that requires a module.
var requirement = regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+) (v\S+)`)

// older reports whether version v is lower than w.
func older(v, w string) bool {
	numbers := func(version string) (all []int) {
		for _, part := range strings.FieldsFunc(version, func(r rune) bool { return r < '0' || r > '9' }) {
			n, _ := strconv.Atoi(part) // a part of a commit may be too large, and is then 0 in both
			all = append(all, n)
		}
		return all
	}
	return slices.Compare(numbers(v), numbers(w)) < 0
}

// required returns the modules that a go.mod file lists, with their versions.
func required(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, line := range requirement.FindAllStringSubmatch(string(text), -1) {
		found[line[1]] = line[2]
	}
	return found
}

// modulesOfOurOwn are the folders with a go.mod file except the root, and what their Go files import.
func modulesOfOurOwn(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	inside := map[string]string{} // folder -> the folder of its module
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			inside[file] = inside[filepath.Dir(file)]
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil {
				inside[file] = filepath.ToSlash(file)
			}
			return nil
		}
		in := inside[filepath.Dir(file)]
		if in == "." || !strings.HasSuffix(file, ".go") {
			return nil
		}
		imports, err := importsOf(file)
		found[in] = append(found[in], imports...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found["temporal"] == nil {
		t.Fatal("the module temporal was not found")
	}
	return found
}

// reached returns the packages outside gauze that the packages of gauze among imports import,
// directly or through each other.
func reached(imports []string, all map[string]map[string][]string) (outside []string) {
	seen := map[string]bool{}
	for next := imports; len(next) > 0; {
		imported := next[0]
		next = next[1:]
		room, ours := strings.CutPrefix(imported, module+"/")
		if !ours || seen[room] {
			continue
		}
		seen[room] = true
		for _, some := range all[room] {
			next = append(next, some...)
			outside = append(outside, slices.DeleteFunc(slices.Clone(some), func(p string) bool { return strings.HasPrefix(p, module) })...)
		}
	}
	slices.Sort(outside)
	return slices.Compact(outside)
}

func importsOf(file string) (imports []string, err error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, spec := range parsed.Imports {
		imports = append(imports, strings.Trim(spec.Path.Value, `"`))
	}
	return imports, nil
}

// What packages allocate before main delays the first response of every wrap and stays in its memory,
// also in wraps that never use it. The limits are what they allocated when this was written, and a tenth.
func TestPackagesPrepareLittleBeforeTheyAreUsed(t *testing.T) {
	windowstest.Skip(t)
	const (
		maxBytes, maxAllocs               = 560_000, 3_300 // of all packages
		maxPackageBytes, maxPackageAllocs = 90_000, 420    // of each
	)
	gauze := filepath.Join(t.TempDir(), "gauze")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", gauze, "./cmd/gauze")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as a release; the check has compiled that already
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(gauze, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, trace.String())
	}
	type prepared struct {
		name          string
		bytes, allocs int
	}
	var all prepared
	var packages []prepared
	for _, line := range regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes, (\d+) allocs`).FindAllStringSubmatch(trace.String(), -1) {
		size, _ := strconv.Atoi(line[2])
		count, _ := strconv.Atoi(line[3])
		all.bytes, all.allocs = all.bytes+size, all.allocs+count
		packages = append(packages, prepared{line[1], size, count})
		if size > maxPackageBytes || count > maxPackageAllocs {
			t.Errorf("%s allocates %d bytes (limit %d) in %d allocations (limit %d) before main: prepare its tables when they are first used (sync.OnceValue, regex.New), or do not import it",
				line[1], size, maxPackageBytes, count, maxPackageAllocs)
		}
	}
	if len(packages) < 50 {
		t.Fatalf("only %d packages in the trace:\n%s", len(packages), trace.String())
	}
	if all.bytes > maxBytes || all.allocs > maxAllocs {
		slices.SortFunc(packages, func(a, b prepared) int { return cmp.Compare(b.bytes, a.bytes) })
		t.Errorf("the packages of gauze allocate %d bytes (limit %d) in %d allocations (limit %d) before main. Compare the largest with those of an earlier commit: %v",
			all.bytes, maxBytes, all.allocs, maxAllocs, packages[:10])
	}
}

// A pattern that is compiled when it is first used would otherwise panic there.
func TestPatternsCompile(t *testing.T) {
	compiled := 0
	for _, files := range rooms(t) {
		for file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				if !ok || len(call.Args) != 1 {
					return true
				}
				if to, ok := call.Fun.(*ast.SelectorExpr); !ok || to.Sel.Name != "New" || !isName(to.X, "regex") {
					return true
				}
				source, whole := literal(call.Args[0])
				if _, err := regexp.Compile(source); whole && err != nil {
					t.Errorf("%s: %v", file, err)
				}
				compiled++
				return true
			})
		}
	}
	if compiled < 200 {
		t.Errorf("only %d patterns found", compiled)
	}
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// literal returns the value of string literals that are joined by +, and whether it has no other parts.
func literal(e ast.Expr) (text string, whole bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, leftWhole := literal(e.X)
		right, rightWhole := literal(e.Y)
		return left + right, leftWhole && rightWhole
	}
	return "", false
}

func TestEveryRoomSaysWhatItIsFor(t *testing.T) {
	for room := range rooms(t) {
		packages, err := filepath.Glob(filepath.Join(filepath.FromSlash(room), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range packages {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			found = found || parsed.Doc != nil && (strings.HasPrefix(parsed.Doc.Text(), "Package ") || strings.HasPrefix(parsed.Doc.Text(), "Command "))
		}
		if !found {
			t.Errorf("%s has no package comment", room)
		}
	}
}

// rooms are the folders with Go files, and what each file imports. Tests are
// guests and may come through any door.
func rooms(t *testing.T) map[string]map[string][]string {
	t.Helper()
	found := map[string]map[string][]string{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && file != ".") {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil && file != "." {
			return fs.SkipDir // a module of its own, whose dependencies are not gauze's
		}
		if entry.IsDir() || !strings.HasSuffix(file, ".go") {
			return nil
		}
		room := path.Dir(filepath.ToSlash(file))
		if found[room] == nil {
			found[room] = map[string][]string{}
		}
		if strings.HasSuffix(file, "_test.go") {
			return nil
		}
		found[room][file], err = importsOf(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 10 {
		t.Fatalf("only %d rooms found", len(found))
	}
	return found
}
