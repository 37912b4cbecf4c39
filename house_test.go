package gauze_test

import (
	"bytes"
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
)

const module = "github.com/gauze-mcp/gauze"

// doors lists what each package may import. All but standardOnly may also import common.
var doors = map[string][]string{
	".":                               {"internal/task", "internal/taskrun", "internal/backup", "internal/doctor", "internal/proxy", "internal/upstream", "internal/health", "internal/repair", "repair", "internal/launch", "internal/correct", "internal/verdict", "llm"},
	"llm":                             {},
	"internal/verdict":                {"llm"},
	"internal/verdict/situations":     {"internal/verdict"},
	"internal/correct":                {"llm", "internal/repair", "internal/trust"},
	"internal/modelconfig":            {"llm"},
	"internal/task":                   {"llm", "internal/verdict"},
	"internal/taskrun":                {"llm", "internal/task", "internal/verdict", "internal/proxy", "internal/upstream", "internal/health", "internal/launch", "internal/repair", "internal/doctor", "internal/journal"},
	"internal/taskcli":                {"internal/task", "internal/taskrun", "internal/fleet", "internal/launch", "internal/trust"},
	"repair":                          {"internal/repair"},
	"doctor":                          {"internal/trust", "internal/backup", "internal/clientconfig", "internal/doctor", "internal/fleet", "internal/launch", "internal/probe"},
	"cmd/gauze":                       {"internal/trust", "internal/bearer", "internal/task", "internal/taskcli", "internal/taskrun", "internal/journal", "internal/gateway", "internal/proxy", "internal/upstream", "internal/health", "internal/demo", "internal/demo/breakable", "internal/repair", "internal/doctor", "internal/registry", "internal/agenttools", "internal/fleet", "internal/clientconfig", "internal/backup", "internal/catalogue", "internal/launch", "internal/probe", "internal/modelconfig", "internal/live", "llm", "internal/dashboard", "internal/httpguard", "internal/timeline", "internal/top", "internal/otlp", "internal/metrics", "internal/login", "internal/remembered"},
	"internal/mcptasks":               {},
	"internal/agenttools":             {"internal/mcptasks", "internal/task", "internal/taskcli", "internal/taskrun", "internal/proxy", "llm", "internal/verdict", "internal/fleet", "internal/doctor", "internal/repair", "internal/registry", "internal/clientconfig", "internal/backup", "internal/trust", "internal/launch", "internal/probe"},
	"internal/trust":                  {"internal/remembered"},
	"internal/catalogue":              {"internal/doctor", "internal/clientconfig"},
	"internal/doctor":                 {"llm", "internal/upstream", "internal/trust", "internal/launch", "internal/probe", "internal/remembered"},
	"internal/fileid":                 {},
	"internal/clientconfig":           {"internal/fileid", "internal/clientconfig/reference", "internal/splice", "internal/launch"},
	"internal/clientconfig/reference": {},
	"internal/registry":               {"internal/launch"},
	"internal/remembered":             {"internal/fdlimit"},
	"internal/fleet":                  {"llm", "internal/backup", "internal/clientconfig", "internal/doctor", "internal/registry", "internal/upstream", "internal/trust", "internal/launch", "internal/login", "internal/probe"},
	"internal/httpguard":              {},
	"internal/bearer":                 {"internal/launch", "internal/wire"},
	"internal/gateway":                {"internal/bearer", "internal/launch", "internal/upstream", "internal/proxy", "internal/wire", "internal/health", "internal/httpguard"},
	"internal/demo":                   {"internal/demo/breakable", "internal/task", "internal/taskrun", "internal/proxy", "internal/timeline", "internal/upstream", "internal/health", "internal/launch", "llm"},
	"internal/demo/breakable":         {},
	"internal/proxy":                  {"llm", "internal/correct", "internal/upstream", "internal/repair", "internal/wire", "internal/health", "internal/launch", "internal/login"},
	"internal/upstream":               {"internal/wire", "internal/health", "internal/launch", "internal/login"},
	"internal/login":                  {"internal/wire", "internal/trust", "internal/launch", "internal/backup", "internal/filelock", "internal/httpguard"},
	"internal/filelock":               {},
	"internal/probe":                  {"internal/upstream", "internal/wire", "internal/launch"},
	"internal/launch":                 {"internal/wire"},
	"internal/plaintext":              {},
	"internal/redact":                 {"internal/plaintext"},
	"internal/wire":                   {},
	"internal/fault":                  {"internal/shell", "internal/plaintext", "internal/redact"},
	"internal/shell":                  {},
	"internal/repair":                 {},
	"internal/health":                 {},
	"internal/event":                  {"internal/fault", "internal/redact"},
	"internal/fdlimit":                {},
	"internal/journal":                {"internal/filelock", "internal/fdlimit"},
	"internal/live":                   {"internal/health", "internal/fdlimit"},
	"internal/metrics":                {"internal/live", "internal/health", "internal/proxy", "internal/upstream", "internal/verdict"},
	"internal/otlp":                   {"internal/metrics", "internal/live", "internal/health", "internal/proxy"},
	"internal/timeline":               {"internal/journal", "internal/upstream"},
	"internal/dashboard":              {"internal/httpguard", "internal/live", "internal/timeline", "internal/journal", "internal/health", "internal/fleet", "internal/clientconfig", "internal/doctor", "internal/backup", "internal/task", "internal/taskrun", "internal/launch", "internal/taskcli", "internal/metrics"},
	"internal/top":                    {"internal/live", "internal/timeline", "internal/journal", "internal/catalogue"},
	"internal/splice":                 {},
	"internal/backup":                 {"internal/fileid"},
	"examples":                        {},
	"examples/agent":                  {},
	"examples/healedclient":           {},
	"examples/server":                 {},
}

// testOnly has what the unit tests of several packages use. Nothing else may import it, and no room has a door to it.
const testOnly = "internal/testonly/"

// common is what every package may import.
var common = []string{"internal/fault", "internal/event", "internal/shell", "internal/plaintext", "internal/redact"}

// standardOnly may import nothing but the standard library and what doors lists.
var standardOnly = []string{"internal/wire", "internal/fault", "internal/shell", "internal/plaintext", "internal/redact", "internal/health", "internal/event", "internal/demo/breakable"}

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

// testRequirements are modules that only tests of the product import, with the reason.
var testRequirements = map[string]string{}

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

// What a package allocates before main costs every wrap memory, also the wraps that never use it.
func TestPackagesPrepareLittleBeforeTheyAreUsed(t *testing.T) {
	limits := map[string]int{"internal/repair": 600_000} // it checks every call
	const limit = 200_000                                // bytes
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, trace.String())
	}
	found := regexp.MustCompile(`(?m)^init `+regexp.QuoteMeta(module)+`/(\S+) .* (\d+) bytes,`).FindAllStringSubmatch(trace.String(), -1)
	if len(found) < 5 {
		t.Fatalf("only %d packages in the trace:\n%s", len(found), trace.String())
	}
	for _, one := range found {
		allocated, err := strconv.Atoi(one[2])
		if err != nil {
			t.Fatal(err)
		}
		if most := max(limit, limits[one[1]]); allocated > most {
			t.Errorf("%s allocates %d bytes before main, more than %d: compile its patterns when they are used first, with sync.OnceValue", one[1], allocated, most)
		}
	}
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
