package doctor

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// server is what is known about a server from its entry and the machine it runs on.
type server struct {
	m       *Machine
	spec    launch.Spec
	env     []string
	secrets redact.Secrets
}

func (p *plan) server() server { return server{p.m, p.spec, p.env, p.c.Secrets} }

// runner returns the program that starts the server: the command, or what follows `cmd /c` or `env`.
func (srv server) runner() string { return commandOf(srv.spec).runner() }

// quoted returns the path of a file or directory, fit to be shown. Patterns see one element at a
// time: a long path as a whole can look like a random key.
func (srv server) quoted(path string) string {
	elements := strings.Split(srv.secrets.Redact(path), string(filepath.Separator))
	for i, element := range elements {
		elements[i] = redact.Quote(element)
	}
	return strings.Join(elements, string(filepath.Separator))
}

// startAs returns an Apply that starts a program by its path, with its directory first on PATH.
func (srv server) startAs(path string) func(launch.Spec) launch.Spec {
	return func(s launch.Spec) launch.Spec {
		s = firstOnPath(copied(s), filepath.Dir(path), srv.m.OS == "windows")
		s.Command = path
		return s
	}
}

// start returns the directory that the server is started in. If its entry does not name one, it is
// gauze's own working directory, which may belong to any project.
func (srv server) start() (dir string, from trust.Source) {
	if srv.spec.Dir != "" {
		return srv.spec.Dir, trust.Entry
	}
	return srv.m.Dir, trust.Project
}

// own returns the directory of the server's program, or "" if it is not known. Directories in other
// arguments are what the server works on.
func (srv server) own() string {
	if dir := srv.uvProject(); dir != "" {
		return dir
	}
	script := srv.script()
	if script == "" {
		return ""
	}
	if !filepath.IsAbs(script) {
		dir, _ := srv.start()
		script = filepath.Join(dir, script)
	}
	if !isFile(script) {
		return ""
	}
	return filepath.Dir(script)
}

// uvProject returns DIR of uv --directory DIR run, whose code uv runs, or "".
func (srv server) uvProject() string {
	at := slices.Index(srv.spec.Args, "--directory")
	if program(srv.spec.Command) != "uv" || at < 0 || at+2 >= len(srv.spec.Args) || srv.spec.Args[at+2] != "run" {
		return ""
	}
	if dir := srv.spec.Args[at+1]; filepath.IsAbs(dir) && isFile(filepath.Join(dir, "pyproject.toml")) {
		return dir
	}
	return ""
}

// script returns the server's file: the script that an interpreter runs, or the command itself.
func (srv server) script() string {
	name := program(srv.spec.Command)
	switch strings.TrimRight(name, "0123456789.") {
	case "python", "node", "sh", "bash", "zsh", "ruby", "bun", "deno", "tsx", "ts-node", "php", "perl":
		for _, word := range srv.spec.Args {
			switch {
			case word == "run", plainOption.MatchString(word): // run: of bun and deno
			case strings.HasPrefix(word, "-"):
				return "" // the next word may be the option's value
			default:
				return word
			}
		}
		return ""
	}
	if isPath(srv.spec.Command) && !isRunner(name) {
		return srv.spec.Command
	}
	return ""
}

// plainOption matches an interpreter's options whose value is not in the next word.
var plainOption = regex.New(`^(?:-[bBdEiOPqsSuvxA]+|--[\w-]+=.*|--no-[\w-]+|--allow-[\w-]+|--enable-source-maps|--trace-[\w-]+|` +
	`--experimental-(?:strip-types|transform-types|vm-modules|sqlite))$`)

// folders returns the directories that may have settings of the server, its own first.
func (srv server) folders() []string {
	dir, _ := srv.start()
	if own := srv.own(); own != "" && own != dir {
		return []string{own, dir}
	}
	return []string{dir}
}

// of returns the owner of a file: the server, if the file is in the directory of its program or above
// it in the same project, or else some project.
func (srv server) of(file string) trust.Source {
	if own := srv.own(); own != "" && slices.Contains(srv.m.upwards(own), filepath.Dir(file)) {
		return trust.OwnFolder
	}
	return trust.Project
}
