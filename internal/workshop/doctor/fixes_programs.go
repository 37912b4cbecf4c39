package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// missing returns the name of the program that was not found. For a path it does so only if it is a
// known runner: a different file of the same name is the same program only then.
func (p *plan) missing() string {
	name := p.said["command"]
	if name == "" || name == p.spec.Command {
		name = p.spec.Command
	}
	if isPath(name) && !isRunner(program(name)) && program(name) != "python" {
		return ""
	}
	return program(name)
}

// locateProgram starts the missing program from where it is installed, with its directory on PATH:
// npx needs node.
func locateProgram(p *plan) (fixes []Fix) {
	name := p.missing()
	if p.c.Spawn.Of == "interpreter" && isPath(p.c.Spawn.Path) {
		return nil // the script names the interpreter's path, which PATH does not change
	}
	already := filepath.SplitList(value(p.env, "PATH", p.m.OS == "windows"))
	for _, path := range p.m.Find(name, p.env) {
		if program(p.spec.Command) != name && slices.Contains(already, filepath.Dir(path)) {
			continue // it was already searched
		}
		fixes = append(fixes, p.server().startFrom(path))
	}
	return fixes[:min(len(fixes), 3)]
}

// realProgram starts the program itself instead of a version manager's shim.
func realProgram(p *plan) (fixes []Fix) {
	name := p.server().runner()
	for _, path := range p.m.Find(name, p.env) {
		if !strings.Contains(filepath.ToSlash(path), "/shims/") && !strings.Contains(filepath.ToSlash(path), "/.volta/bin/") {
			fixes = append(fixes, p.server().startFrom(path))
		}
	}
	return fixes[:min(len(fixes), 3)]
}

// startFrom starts a program by its path if it is the server's command, or else puts its directory
// on the server's PATH.
func (srv server) startFrom(path string) Fix {
	dir, name := filepath.Dir(path), program(path)
	if program(srv.spec.Command) != name {
		return Fix{Name: "path-front " + dir, Origins: starts(trust.Machine),
			About: fmt.Sprintf("puts %s, which contains %s, first on the server's PATH", srv.quoted(dir), name),
			Next:  fmt.Sprintf(`Add %s to PATH under "env" in the server's entry.`, srv.quoted(dir)),
			Apply: func(s launch.Spec) launch.Spec { return firstOnPath(copied(s), dir, srv.m.OS == "windows") }}
	}
	return Fix{Name: "absolute-path " + path, Origins: starts(trust.Machine),
		About: fmt.Sprintf("starts %s, which is not on the client's PATH, and puts its directory first on PATH",
			srv.quoted(path)),
		Next:  "Use the absolute path as the command: `" + srv.quoted(path) + "`",
		Apply: srv.startAs(path)}
}

// otherPython starts the same Python under its other name.
func otherPython(p *plan) (fixes []Fix) {
	missing := p.missing()
	other := map[string]string{"python": "python3", "python3": "python"}[missing]
	if other == "" || program(p.spec.Command) != missing {
		return nil
	}
	for _, path := range p.m.Find(other, p.env) {
		if v := p.m.versionOf(path, p.env); len(v) == 0 || v[0] != 3 {
			continue // python may still be a Python 2
		}
		fixes = append(fixes, Fix{Name: "other-name " + path, Origins: starts(trust.Machine),
			About: fmt.Sprintf("starts %s, because Python is called %s on this machine", p.server().quoted(path), other),
			Next:  "Use " + other + " as the command.",
			Apply: p.server().startAs(path)})
	}
	return fixes[:min(len(fixes), 2)]
}

// newerNode runs the server with the newest installed Node that it supports.
func newerNode(p *plan) []Fix { return p.newer("node") }

// newerPythonOf runs the server with the newest installed Python that it supports.
func newerPythonOf(p *plan) []Fix { return p.newer("python") }

// newer runs the server with the newest installed interpreters of a kind that it supports.
func (p *plan) newer(kind string) (fixes []Fix) {
	if p.spec.Command == "" {
		return nil
	}
	wanted := p.requirement(kind)
	var last []int
	for _, found := range p.m.Interpreters(kind, p.env) {
		if satisfies(found.Version, wanted) && !p.server().uses(found, kind) && !slices.Equal(found.Version, last) {
			fixes = append(fixes, p.server().with(kind, found))
			last = found.Version
		}
	}
	if len(fixes) > 0 {
		return fixes[:min(len(fixes), 2)]
	}
	return installCurrent(p, kind)
}

// requirementShapes are the patterns by which tools name the version that they require.
var requirementShapes = map[string][]*regex.Lazy{
	"node": {
		regex.New(`required: \{[^}]{0,120}\bnode: '([^'\n]{1,60})'`),
		regex.New(`"node" is incompatible with this module\. Expected version "([^"\n]{1,60})"`),
		regex.New(`Required: \{[^}]{0,80}"node":"([^"\n]{1,60})"`),
		regex.New(`(?i)(?:requires?|needs?|minimum)[^\n]{0,40}\bNode(?:\.?js)?(?: version)?:? ?(?:version )?v?((?:>=|\^|~)? ?\d[\d.]*)`),
		regex.New(`(?i)\bNode(?:\.?js)?(?: version)? ((?:>=|\^)? ?v?\d[\d.]*(?:\+| or (?:higher|newer|later|above)))`),
	},
	"python": {
		regex.New(`requires a different Python: [\d.]+ not in '([^'\n]{1,60})'`),
		regex.New(`satisfy Python ?([<>=~!][^\s\n]{0,40})`),
		regex.New(`Requires-Python ([<>=~!][^\s;]{0,40})`),
	},
}

// requirement returns the version that the evidence asks for, or "". What the evidence says about
// the version in use does not count.
func (p *plan) requirement(kind string) string {
	text := p.c.words()
	for _, shape := range requirementShapes[kind] {
		if m := shape.FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	if kind == "python" {
		return p.said["version"]
	}
	return ""
}

// uses reports whether an interpreter is the one that failed.
func (srv server) uses(found Interpreter, kind string) bool {
	command := srv.spec.Command
	if program(command) == kind || kind == "python" && strings.HasPrefix(program(command), "python") {
		if !isPath(command) {
			if first := srv.m.Find(command, srv.env); len(first) > 0 {
				command = first[0]
			}
		}
		return found.Path == command || compareVersions(found.Version, srv.m.versionOf(command, srv.env)) == 0
	}
	first := srv.m.Find(kind, srv.env)
	if kind == "python" {
		first = srv.m.Find("python3", srv.env)
	}
	return len(first) > 0 && compareVersions(found.Version, srv.m.versionOf(first[0], srv.env)) == 0
}

// with runs the server with an interpreter: as the command, with uv's own option, or by putting it
// first on PATH.
func (srv server) with(kind string, found Interpreter) Fix {
	dir, number := filepath.Dir(found.Path), dotted(found.Version)
	fix := Fix{Name: kind + " " + found.Path, Origins: starts(trust.Machine),
		About: fmt.Sprintf("runs the server with %s %s, which is installed in %s", kind, number, srv.quoted(dir)),
		Next:  fmt.Sprintf("Use %s, or put its directory first on PATH under \"env\" in the server's entry.", srv.quoted(found.Path))}
	runner := program(srv.spec.Command)
	fix.Apply = func(s launch.Spec) launch.Spec {
		s = firstOnPath(copied(s), dir, srv.m.OS == "windows")
		switch neighbour := filepath.Join(dir, filepath.Base(s.Command)); {
		case kind == "python" && strings.HasPrefix(runner, "python"):
			s.Command = found.Path
		case kind == "python" && runner == "uvx" && !slices.Contains(s.Args, "--python"):
			s.Args = slices.Insert(s.Args, 0, "--python", found.Path)
		case kind == "python" && runner == "uv" && len(s.Args) > 0 && s.Args[0] == "run" && !slices.Contains(s.Args, "--python"):
			s.Args = slices.Insert(s.Args, 1, "--python", found.Path)
		case kind == "node" && slices.Contains([]string{"node", "npx", "npm"}, runner) && runnable(neighbour):
			s.Command = neighbour
		}
		return s
	}
	return fix
}

// dotted returns a version as a string, such as "3.12.0".
func dotted(version []int) string {
	var parts []string
	for _, n := range version {
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, ".")
}

// projectPython starts a script with the Python of its own project, whose virtual environment is in
// the script's directory or above it. For a module, the project is the directory the server is
// started in.
func projectPython(p *plan) []Fix {
	if !strings.HasPrefix(program(p.spec.Command), "python") || len(p.spec.Args) == 0 {
		return nil
	}
	project, from := p.server().own(), trust.OwnFolder
	if project == "" && p.spec.Args[0] == "-m" && p.spec.Dir != "" {
		project, from = p.spec.Dir, p.server().ofModule()
	}
	if project == "" {
		return nil
	}
	for _, dir := range p.m.upwards(project) {
		for _, python := range []string{".venv/bin/python", "venv/bin/python", ".venv/Scripts/python.exe", "venv/Scripts/python.exe"} {
			path := filepath.Join(dir, filepath.FromSlash(python))
			if runnable(path) && isOurs(path) && isOurs(dir) && path != p.spec.Command {
				return []Fix{{Name: "project-python " + path, Origins: starts(from),
					About: "starts the script with its project's Python, " + p.server().quoted(path),
					Next:  "Use the project's Python as the command: `" + p.server().quoted(path) + "`",
					Apply: p.server().startAs(path)}}
			}
		}
	}
	return nil
}

// ofModule returns the owner of the directory of python -m MODULE: it is the server's own if it
// contains the module, where Python finds it first.
func (srv server) ofModule() trust.Source {
	if len(srv.spec.Args) < 2 || !plainModule.MatchString(srv.spec.Args[1]) {
		return trust.Project
	}
	name, _, _ := strings.Cut(srv.spec.Args[1], ".")
	if path := filepath.Join(srv.spec.Dir, name); isFile(path+".py") || isFolder(path) {
		return trust.OwnFolder
	}
	return trust.Project
}

var plainModule = regex.New(`^\w+(?:\.\w+)*$`)
