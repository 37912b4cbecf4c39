package doctor

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/text/sorting"
)

// Interpreter is an installed node or python.
type Interpreter struct {
	Path    string
	Version []int
}

// Interpreters returns all installed interpreters of a kind ("node", "python"), newest first. They
// are run only for their version, in parallel and within one lookTimeout.
func (m *Machine) Interpreters(kind string, env []string) []Interpreter {
	names := []string{kind}
	if kind == "python" {
		names = []string{"python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"}
	}
	var paths []string
	for _, name := range names {
		for _, path := range m.Find(name, env) {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	const most = 24
	paths = paths[:min(len(paths), most)]
	return once(m, kind+"\n"+strings.Join(paths, "\n"), func() []Interpreter {
		found := make([]Interpreter, len(paths))
		var asking sync.WaitGroup
		for i, path := range paths {
			asking.Go(func() { found[i] = Interpreter{path, m.versionOf(path, env)} })
		}
		asking.Wait()
		found = slices.DeleteFunc(found, func(i Interpreter) bool { return len(i.Version) == 0 })
		sorting.Stable(found, func(a, b Interpreter) int { return compareVersions(b.Version, a.Version) })
		return found
	})
}

// versionOf runs an interpreter for its version.
func (m *Machine) versionOf(path string, env []string) []int {
	if !filepath.IsAbs(path) {
		return nil // it would not be the server's
	}
	return once(m, "version\n"+path, func() []int {
		ctx, cancel := m.inTime()
		defer cancel()
		// A shim looks for its manager on PATH. Nothing else in an environment changes the version.
		ask := []string{"HOME=" + m.Home, "PATH=" + filepath.Dir(path) + string(filepath.ListSeparator) + value(env, "PATH", m.OS == "windows")}
		if root, ok := m.Env("SystemRoot"); ok {
			ask = append(ask, "SystemRoot="+root)
		}
		said, err := m.Run(ctx, ask, path, "--version")
		if err != nil {
			return nil
		}
		line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
		return versionIn(line)
	})
}

var versionShape = regex.New(`\d+(?:\.\d+){0,3}`)

// versionIn returns the first version in a string.
func versionIn(text string) []int {
	var version []int
	for part := range strings.SplitSeq(versionShape.FindString(text), ".") {
		if n, err := strconv.Atoi(part); err == nil {
			version = append(version, n)
		}
	}
	return version
}

// versionInPath returns the version in the last element of a path that has one.
func versionInPath(path string) []int {
	for ; len(path) > 1 && path != filepath.Dir(path); path = filepath.Dir(path) {
		if version := versionIn(filepath.Base(path)); len(version) > 0 {
			return version
		}
	}
	return nil
}

// compareVersions compares two versions as far as both go: 20 equals any 20.x.
func compareVersions(a, b []int) int {
	for i := range min(len(a), len(b)) {
		if c := cmp.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	if len(a) == 0 || len(b) == 0 {
		return cmp.Compare(len(a), len(b))
	}
	return 0
}

var comparison = regex.New(`(\|\|)|(>=|<=|==|~=|!=|>|<|\^|~|=)?\s*v?(\d+(?:\.\d+){0,3})(?:\.[x*])*(\+| or (?:higher|newer|later|above))?`)

// satisfies reports whether a version meets a requirement in npm's or pip's syntax. A requirement
// that cannot be parsed allows every version.
func satisfies(version []int, requirement string) bool {
	good, one := true, false
	for _, m := range comparison.FindAllStringSubmatch(requirement, 16) {
		if m[1] != "" { // ||: a new alternative
			if good && one {
				return true
			}
			good, one = true, false
			continue
		}
		one = true
		wanted := versionIn(m[3])
		c := compareVersions(version, wanted)
		switch op := m[2]; {
		case op == ">=" || m[4] != "":
			good = good && c >= 0
		case op == ">":
			good = good && c > 0
		case op == "<=":
			good = good && c <= 0
		case op == "<":
			good = good && c < 0
		case op == "!=":
			good = good && c != 0
		case op == "^": // the same major
			good = good && c >= 0 && compareVersions(version, wanted[:1]) == 0
		case op == "~", op == "~=": // the last number may be higher
			good = good && c >= 0 && compareVersions(version, wanted[:max(1, len(wanted)-1)]) == 0
		default:
			good = good && c >= 0 // "requires Node 18" means at least that
		}
	}
	return good
}
