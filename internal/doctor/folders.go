package doctor

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/trust"
)

// start returns the directory that the server is started in. If its entry does not name one, it is
// gauze's own working directory, which may belong to any project.
func (p *plan) start() (dir string, from trust.Source) {
	if p.spec.Dir != "" {
		return p.spec.Dir, trust.Entry
	}
	return p.Dir, trust.Project
}

// own returns the directory of the server's program, or "" if it is not known. Directories in other
// arguments are what the server works on.
func (p *plan) own() string {
	if dir := p.uvProject(); dir != "" {
		return dir
	}
	script := p.script()
	if script == "" {
		return ""
	}
	if !filepath.IsAbs(script) {
		dir, _ := p.start()
		script = filepath.Join(dir, script)
	}
	if !isFile(script) {
		return ""
	}
	return filepath.Dir(script)
}

// uvProject returns DIR of uv --directory DIR run, whose code uv runs, or "".
func (p *plan) uvProject() string {
	at := slices.Index(p.spec.Args, "--directory")
	if program(p.spec.Command) != "uv" || at < 0 || at+2 >= len(p.spec.Args) || p.spec.Args[at+2] != "run" {
		return ""
	}
	if dir := p.spec.Args[at+1]; filepath.IsAbs(dir) && isFile(filepath.Join(dir, "pyproject.toml")) {
		return dir
	}
	return ""
}

// script returns the server's file: the script that an interpreter runs, or the command itself.
func (p *plan) script() string {
	name := program(p.spec.Command)
	switch strings.TrimRight(name, "0123456789.") {
	case "python", "node", "sh", "bash", "zsh", "ruby", "bun", "deno", "tsx", "ts-node", "php", "perl":
		for _, word := range p.spec.Args {
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
	if isPath(p.spec.Command) && !isRunner(nil, name) {
		return p.spec.Command
	}
	return ""
}

// plainOption matches an interpreter's options whose value is not in the next word.
var plainOption = &wording{source: `^(?:-[bBdEiOPqsSuvxA]+|--[\w-]+=.*|--no-[\w-]+|--allow-[\w-]+|--enable-source-maps|--trace-[\w-]+|--experimental-(?:strip-types|transform-types|vm-modules|sqlite))$`}

// folders returns the directories that may have settings of the server, its own first.
func (p *plan) folders() []string {
	dir, _ := p.start()
	if own := p.own(); own != "" && own != dir {
		return []string{own, dir}
	}
	return []string{dir}
}

// of returns the owner of a file: the server, if the file is in the directory of its program or above
// it in the same project, or else some project.
func (p *plan) of(file string) trust.Source {
	if own := p.own(); own != "" && slices.Contains(p.upwards(own), filepath.Dir(file)) {
		return trust.OwnFolder
	}
	return trust.Project
}
