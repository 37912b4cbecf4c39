package clientconfig

import (
	"os"
	"slices"
	"strings"
)

// ours reports whether the program called gauze in an entry is not a project's own. In the user's own
// files it is the user's. A project's file may refer to it by name, if neither the entry nor the
// project determines where that name is found, or by the path of this program, or of its copy in the
// user's data directory, outside of the project.
// inherited is the environment that the client passes on.
func (c *Config) ours(e *Entry, inherited []string) bool {
	command := e.Spec.Command
	switch {
	case !c.InProject():
		return true
	case strings.ContainsAny(command, `/\`):
		return !c.Home.inProject(command) && (command == c.Home.Copy || c.Home.IsThisProgram(command))
	case has(e.src.outer, "envFile") || has(e.src.node, "envFile"): // may set PATH
		return false
	}
	setsPath := func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return strings.EqualFold(name, "PATH") && !slices.Contains(inherited, pair)
	}
	return !slices.ContainsFunc(e.Spec.Env, setsPath) && !c.Home.bringsGauze(e.Spec.Dir)
}

// IsThisProgram reports whether the program at a path is the one that is running.
func (h Home) IsThisProgram(path string) bool {
	own, err := os.Executable()
	if err != nil {
		return false
	}
	a, errA := h.disk().Stat(own)
	b, errB := h.disk().Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// inProject reports whether a path is in the project, or relative and thus depends on where a client
// starts.
func (h Home) inProject(path string) bool {
	plain := func(path string) string {
		if path = strings.TrimRight(path, h.separator()); h.OS != "linux" {
			path = strings.ToLower(path)
		}
		return path + h.separator()
	}
	below := func(path, dir string) bool { return strings.HasPrefix(plain(path), plain(dir)) }
	return !h.absolute(path) || h.Project != "" && (below(path, h.Root()) || below(h.real(path), h.real(h.Root())))
}

func (h Home) absolute(path string) bool {
	return strings.HasPrefix(path, h.separator()) || h.OS == "windows" && strings.Contains(path, ":")
}

// bringsGauze reports whether a client that looks for gauze may find one in the project. Windows also
// looks in the directory in which the server starts.
func (h Home) bringsGauze(dir string) bool {
	path, _ := h.lookup("PATH")
	separator := ":"
	if h.OS == "windows" {
		separator = ";"
		path += separator + dir + separator + h.Project
	}
	for dir := range strings.SplitSeq(path, separator) {
		if !h.inProject(dir) {
			continue
		}
		for _, name := range []string{"gauze", "gauze.exe", "gauze.cmd", "gauze.bat", "gauze.com"} {
			for _, path := range []string{h.join(dir, name), h.join(h.join(h.Project, dir), name)} {
				if _, err := h.disk().Stat(path); err == nil {
					return true
				}
			}
		}
	}
	return false
}
