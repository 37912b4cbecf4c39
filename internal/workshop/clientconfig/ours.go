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
	return !setsPath(e.Spec.Env, inherited) && !c.Home.bringsGauze(e.Spec.Dir)
}

// setsPath reports whether the variables of an entry have a PATH that differs from its client's.
func setsPath(variables, inherited []string) bool {
	return slices.ContainsFunc(variables, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return strings.EqualFold(name, "PATH") && !slices.Contains(inherited, pair)
	})
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

// programNames are the names under which a client finds gauze in a directory.
var programNames = []string{"gauze", "gauze.exe", "gauze.cmd", "gauze.bat", "gauze.com"}

// pathDirs returns the directories of the PATH.
func (h Home) pathDirs() []string {
	path, _ := h.lookup("PATH")
	if h.OS == "windows" {
		return strings.Split(path, ";")
	}
	return strings.Split(path, ":")
}

// onPath reports whether gauze is found by its name, or the PATH is not known.
func (h Home) onPath() bool {
	if _, known := h.lookup("PATH"); !known {
		return true
	}
	return slices.ContainsFunc(h.pathDirs(), func(dir string) bool {
		return slices.ContainsFunc(programNames, func(name string) bool { return h.exists(h.join(dir, name)) })
	})
}

// bringsGauze reports whether a client that looks for gauze may find one in the project. Windows also
// looks in the directory in which the server starts.
func (h Home) bringsGauze(dir string) bool {
	dirs := h.pathDirs()
	if h.OS == "windows" {
		dirs = append(dirs, dir, h.Project)
	}
	for _, dir := range dirs {
		if !h.inProject(dir) {
			continue
		}
		for _, name := range programNames {
			if h.exists(h.join(dir, name)) || h.exists(h.join(h.join(h.Project, dir), name)) {
				return true
			}
		}
	}
	return false
}
