package doctor

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/refusing"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// row is one source of a fix's values, their use, and the verdict.
type row struct {
	from    trust.Source
	use     trust.Use
	verdict trust.Verdict
}

// provenance has a row for every source of values of each kind of fix, which is the first word of
// its name. Fixes without rows only give advice.
var provenance = map[string][]row{
	"absolute-path":        {{trust.Machine, trust.Start, trust.Allowed}},
	"path-front":           {{trust.Machine, trust.Start, trust.Allowed}},
	"other-name":           {{trust.Machine, trust.Start, trust.Allowed}},
	"node":                 {{trust.Machine, trust.Start, trust.Allowed}},
	"python":               {{trust.Machine, trust.Start, trust.Allowed}},
	"project-python":       {{trust.OwnFolder, trust.Start, trust.Allowed}, {trust.Project, trust.Start, trust.Asks}},
	"split-command":        {{trust.Entry, trust.Start, trust.Allowed}},
	"expand-home":          {{trust.Entry, trust.Start, trust.Allowed}, {trust.Machine, trust.Start, trust.Allowed}},
	"join-path":            {{trust.Entry, trust.Start, trust.Allowed}},
	"again":                {{trust.Entry, trust.Start, trust.Allowed}},
	"cmd-c":                {{trust.Entry, trust.Start, trust.Allowed}},
	"system-variables":     {{trust.Machine, trust.Start, trust.Allowed}},
	"quiet":                {{trust.Entry, trust.Start, trust.Allowed}},
	"utf-8":                {{trust.Entry, trust.Start, trust.Allowed}},
	"container-stdin":      {{trust.Entry, trust.Start, trust.Allowed}},
	"host-of-container":    {{trust.Machine, trust.Start, trust.Allowed}},
	"argument-to-variable": {{trust.Entry, trust.Start, trust.Allowed}},
	"start-in":             {{trust.OwnFolder, trust.Start, trust.Allowed}},
	"pin":                  {{trust.Entry, trust.Start, trust.Allowed}},
	"command-to-url":       {{trust.Entry, trust.Send, trust.Allowed}},
	"endpoint":             {{trust.Entry, trust.Send, trust.Allowed}},
	"sibling":              {{trust.Entry, trust.Start, trust.Allowed}, {trust.Machine, trust.Start, trust.Allowed}},
	"to-url":               {{trust.Machine, trust.Send, trust.Allowed}},
	"local":                {{trust.Machine, trust.Start, trust.Allowed}, {trust.Machine, trust.Send, trust.Allowed}},
	"compose-port":         {{trust.OwnFolder, trust.Start, trust.Allowed}, {trust.Project, trust.Start, trust.Asks}},
	"forward":              {{trust.Environment, trust.Start, trust.Asks}},
	"set": {{trust.Expansion, trust.Start, trust.Allowed}, {trust.OwnFolder, trust.Start, trust.Allowed},
		{trust.Project, trust.Start, trust.Asks}, {trust.Environment, trust.Start, trust.Asks}, {trust.Registry, trust.Start, trust.Asks}},
	"fill-in": {{trust.Entry, trust.Start, trust.Allowed}, {trust.Expansion, trust.Start, trust.Allowed}, {trust.OwnFolder, trust.Start, trust.Allowed}, {trust.Machine, trust.Start, trust.Allowed},
		{trust.Project, trust.Start, trust.Asks}, {trust.Environment, trust.Start, trust.Asks}},
	"fill-in-openly": {{trust.Expansion, trust.Start, trust.Allowed}, {trust.Expansion, trust.Send, trust.Allowed},
		{trust.Project, trust.Start, trust.Asks}, {trust.Project, trust.Send, trust.Asks}, {trust.Environment, trust.Start, trust.Asks}, {trust.Environment, trust.Send, trust.Asks}},

	"advice": nil, "authority": nil, "certificate": nil, "clean-npx-cache": nil, "clean-uv-cache": nil, "exec-bit": nil, "install": nil, "install-modules": nil, "keep-running": nil,
	"moved": nil, "port-owner": nil, "provide": nil, "proxy": nil, "compose-up": nil, "dependency": nil, "renew": nil, "package": nil, "runner": nil, "other-port": nil,
}

// A new remedy fails here until it is in a scene, and a new kind of fix or
// source until it has a row.
func TestEveryFixSaysWhereItsValuesComeFrom(t *testing.T) {
	shown, used := map[string]bool{}, map[string]bool{}
	for _, x := range append(troubles(), scenes()...) {
		f, spec, _, _ := x.offer(t)
		c := x.seen(f, spec)
		c.Command = append([]string{spec.Command}, spec.Args...)
		lists := map[string][]remedy{"": obvious}
		for _, cause := range slices.Concat(knowledge().causes, unexplained) {
			lists[cause.name] = cause.remedies
		}
		for cause, list := range lists {
			for _, r := range list {
				name := runtime.FuncForPC(reflect.ValueOf(r).Pointer()).Name()
				shown[name] = shown[name] || false
				for _, fix := range r(newPlan(f.Machine, Diagnosis{Cause: cause, Explanation: "x", Fix: "x"}, c, spec)) {
					shown[name] = true
					hasRows(t, x.name, fix, used)
				}
			}
		}
	}
	for name, ok := range shown {
		if !ok {
			t.Errorf("%s offers nothing in any scene", name)
		}
	}
	for kind, rows := range provenance {
		for _, r := range rows {
			if !used[fmt.Sprint(kind, r)] {
				t.Errorf("no %s takes values from %s to %s them", kind, r.from, r.use)
			}
		}
	}
}

// hasRows compares a fix with its rows, before and after it was judged.
func hasRows(t *testing.T, scene string, fix Fix, used map[string]bool) {
	t.Helper()
	kind, _, _ := strings.Cut(fix.Name, " ")
	rows, ok := provenance[kind]
	if !ok || fix.Apply != nil && rows == nil {
		t.Errorf("%s: %q has no row", scene, fix.Name)
	}
	strictest := trust.Allowed
	for _, taken := range fix.Origins {
		at := slices.IndexFunc(rows, func(r row) bool { return r.from == taken.From && r.use == taken.Use })
		if at < 0 {
			t.Errorf("%s: %q has no row for %s, %s", scene, fix.Name, taken.From, taken.Use)
			continue
		}
		used[fmt.Sprint(kind, rows[at])] = true
		if got := trust.Of(taken.From, taken.Use); got != rows[at].verdict {
			t.Errorf("%s: %q: %s, %s is %s", scene, fix.Name, taken.From, taken.Use, got)
		}
		strictest = max(strictest, rows[at].verdict)
	}
	if fix.Apply == nil {
		return
	}
	if now := judged(fix); len(fix.Origins) == 0 || strictest > trust.Allowed && now.Risk == Runtime || strictest == trust.Never && now.Apply != nil {
		t.Errorf("%s: %q takes %v and stays %s", scene, fix.Name, fix.Origins, now.Risk)
	}
}

// A fix that cannot be judged is not applied.
func TestAFixThatDoesNotSayWhereItsValuesComeFromIsNotApplied(t *testing.T) {
	same := func(s launch.Spec) launch.Spec { return s }
	for name, takes := range map[string][]Origin{"nothing": nil, "output": starts(trust.Output), "output among others": append(starts(trust.Entry), sends(trust.Output)...), "unknown": starts(trust.Agent + 1)} {
		if f := judged(Fix{Apply: same, Origins: takes}); f.Apply != nil || f.Risk == Runtime {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for from := trust.Environment; from <= trust.Agent; from++ {
		if f := judged(Fix{Apply: same, Origins: append(starts(trust.Entry), starts(from)...)}); f.Risk == Runtime {
			t.Errorf("%s: %+v", from, f)
		}
	}
	if f := judged(Fix{Apply: same, Origins: starts(trust.Entry, trust.Expansion, trust.OwnFolder, trust.Machine)}); f.Risk != Runtime || f.Apply == nil {
		t.Errorf("%+v", f)
	}
}

// scenes returns further set-ups in which the other remedies propose something.
func scenes() []trouble {
	seen := func(c Case) func(*fakeMachine, launch.Spec) Case {
		return func(*fakeMachine, launch.Spec) Case { return c }
	}
	web := launch.Spec{URL: "https://mcp.example.invalid/mcp", Env: []string{}}
	plain := func(s launch.Spec) func(*fakeMachine) launch.Spec {
		return func(*fakeMachine) launch.Spec { return s }
	}
	var inner, outer int
	compose := func(s launch.Spec) func(*fakeMachine) launch.Spec {
		return func(f *fakeMachine) launch.Spec {
			outer, inner = listen(f.t), refusing.Port(f.t)
			f.file("home/me/project/compose.yaml", fmt.Sprintf("services:\n  db:\n    ports: ['%d:%d']\n", outer, inner))
			f.file("home/me/project/server.js", "")
			s.Env = []string{"PATH=/given", "DB_PORT=" + strconv.Itoa(inner)}
			return s
		}
	}
	return []trouble{
		{name: "Windows", spec: func(f *fakeMachine) launch.Spec {
			f.OS, f.env["APPDATA"] = "windows", `C:\Users\me\AppData\Roaming`
			return launch.Spec{Command: "npx", Args: []string{"-y", "pkg"}, Env: []string{`Path=C:\x`}}
		}, seen: seen(Case{Log: "Error: spawn EINVAL"})},
		{name: "a redirect", spec: plain(web), seen: seen(Case{URL: web.URL, HTTP: []HTTP{{Status: 307, Location: "/mcp/"}}})},
		{name: "a redirect elsewhere", spec: plain(web), seen: seen(Case{URL: web.URL, HTTP: []HTTP{{Status: 307, Location: "https://evil.example/"}}})},
		{name: "compose of its own", spec: compose(launch.Spec{Command: "node", Args: []string{"server.js"}}), seen: seen(said("connect ECONNREFUSED"))},
		{name: "compose of a project", spec: compose(launch.Spec{Command: "uvx", Args: []string{"db-mcp"}}), seen: seen(said("connect ECONNREFUSED"))},
		{name: "compose that is down", spec: func(f *fakeMachine) launch.Spec {
			f.file("home/me/project/compose.yaml", fmt.Sprintf("services:\n  db:\n    ports: ['%d:5432']\n", refusing.Port(f.t)))
			return launch.Spec{Command: "uvx", Args: []string{"db-mcp"}, Env: []string{"PATH=/given"}}
		}, seen: seen(said("connect ECONNREFUSED 127.0.0.1:5432"))},
		{name: "a port of another entry", spec: func(f *fakeMachine) launch.Spec {
			f.Entries = []launch.Spec{{Command: "pg", Args: []string{fmt.Sprintf("postgres://127.0.0.1:%d/b", listen(f.t))}, Env: []string{}}}
			return launch.Spec{Command: "pg", Args: []string{fmt.Sprintf("postgres://127.0.0.1:%d/a", refusing.Port(f.t))}, Env: []string{}}
		}, seen: seen(said("connect ECONNREFUSED 127.0.0.1:5432"))},
		{name: "a different runner", spec: func(f *fakeMachine) launch.Spec {
			f.file("home/me/.bun/bin/bunx", "")
			return launch.Spec{Command: "npx", Args: []string{"-y", "pkg"}, Env: []string{"PATH=/given"}}
		}, seen: notThere},
		{name: "a misspelt runner", spec: func(f *fakeMachine) launch.Spec {
			f.file("system/usr/bin/npx", "")
			return launch.Spec{Command: "npxx", Args: []string{"-y", "pkg"}, Env: []string{"PATH=/given"}}
		}, seen: notThere},
		{name: "a program instead of its runner", spec: func(f *fakeMachine) launch.Spec {
			f.file("home/me/.local/bin/notes-mcp", "")
			return launch.Spec{Command: "uvx", Args: []string{"notes-mcp"}, Env: []string{"PATH=/given"}}
		}, seen: notThere},
		{name: "the other loopback", spec: func(f *fakeMachine) launch.Spec {
			return launch.Spec{URL: fmt.Sprintf("http://[::1]:%d/mcp", listen(f.t)), Env: []string{}}
		}, seen: seen(Case{Log: "connect: connection refused"})},
		{name: "a module in its folder", spec: func(f *fakeMachine) launch.Spec {
			f.file("home/me/project/notes.py", "")
			f.file("home/me/project/.venv/bin/python", "Python 3.12.0")
			return launch.Spec{Command: "python3", Args: []string{"-m", "notes"}, Dir: f.Dir, Env: []string{"PATH=/given"}}
		}, seen: seen(said("ModuleNotFoundError: No module named 'mcp'"))},
		{name: "a module from elsewhere", spec: func(f *fakeMachine) launch.Spec {
			f.file("home/me/project/.venv/bin/python", "Python 3.12.0")
			return launch.Spec{Command: "python3", Args: []string{"-m", "notes"}, Dir: f.Dir, Env: []string{"PATH=/given"}}
		}, seen: seen(said("ModuleNotFoundError: No module named 'notes'"))},
		{name: "a uv project", spec: func(f *fakeMachine) launch.Spec {
			f.file("home/me/server/pyproject.toml", "")
			f.file("home/me/server/.env", "EXAMPLE_TOKEN="+canary)
			return launch.Spec{Command: "uv", Args: []string{"--directory", f.path("home/me/server"), "run", "notes"}, Env: []string{"PATH=/given"}}
		}, seen: seen(said("Error: EXAMPLE_TOKEN environment variable is required"))},
		{name: "a command that serves HTTP", spec: plain(launch.Spec{Command: "python3", Args: []string{"server.py"}, Env: []string{"PATH=/given"}}),
			seen: seen(Case{Limit: Limit{Passed: true, Alive: true, Listening: 8000, Serves: "http://127.0.0.1:8000/mcp"}})},
		{name: "variables that a registry lists", spec: func(f *fakeMachine) launch.Spec {
			f.env["ORBIT_TOKEN"] = stray
			return launch.Spec{Command: "npx", Args: []string{"-y", "orbit"}, Env: []string{"PATH=/given"}}
		}, seen: seen(Case{Stage: Started, Exit: Exit{Known: true, Code: 1}, Required: []string{"ORBIT_TOKEN"}})},
		{name: "a node project without its modules", spec: func(f *fakeMachine) launch.Spec {
			f.file("home/me/server/package.json", `{"dependencies":{"x":"1"}}`)
			return launch.Spec{Command: "node", Args: []string{f.file("home/me/server/index.js", "")}, Env: []string{"PATH=/given"}}
		}, seen: seen(Case{Limit: Limit{Passed: true, Alive: true}})},
		{name: "the home folder", spec: plain(launch.Spec{Command: "server", Env: []string{"PATH=/given", "X=${userHome}/x"}}), seen: seen(said("Error: ${userHome}/x"))},
		{name: "a key in an argument", spec: plain(launch.Spec{Command: "server", Args: []string{"--key=${MY_TOKEN}"}, Env: []string{"MY_TOKEN=" + canary}}), seen: seen(said("Error: invalid api key"))},
		{name: "uv's cache", spec: func(f *fakeMachine) launch.Spec {
			f.folder("home/me/.cache/uv/wheels-v5/pypi/notes")
			return launch.Spec{Command: "uvx", Args: []string{"notes"}, Env: []string{"PATH=/given", "HTTP_PROXY=http://p.example"}}
		}, seen: seen(said("error: Failed to read metadata from archive-v0"))},
		{name: "a file that may not be started", spec: func(f *fakeMachine) launch.Spec {
			return launch.Spec{Command: f.file("home/me/project/server.sh", ""), Env: []string{"PATH=/given"}}
		}, seen: func(_ *fakeMachine, s launch.Spec) Case {
			return Case{Spawn: Spawn{Errno: "EACCES", Path: s.Command, Of: "command"}, Limit: Limit{Listening: 8000}}
		}},
	}
}
