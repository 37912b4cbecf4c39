package fleet

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/launch"
)

// folder returns where servers start that name no folder of their own. Those of
// the project start in the project. All others start where no project has a say:
// npx, uvx, node and the like look for programs, packages and settings in the
// folder they start in and in those above it.
func (f *Fleet) folder(inProject bool) string {
	home := f.Home.Home
	switch {
	case inProject:
		return f.Home.Project
	case below(home, f.project()):
		return filepath.VolumeName(home) + string(filepath.Separator)
	}
	return home
}

// project returns the outermost folder of the project.
func (f *Fleet) project() string {
	if root, ok := f.Home.Repository(); ok && root != f.Home.Home {
		return root
	}
	return f.Home.Project
}

// machine returns the machine as servers see it that are of the project, or
// are not.
func (f *Fleet) machine(inProject bool) *doctor.Machine {
	m := f.Machine.At(f.folder(inProject))
	if inProject {
		return m
	}
	env := m.Env
	m.Env = func(name string) (string, bool) {
		value, ok := env(name)
		if name == "PATH" {
			value = f.outside(value)
		}
		return value, ok
	}
	return m
}

// start returns the Spec as it is started in dir: it is told of the folder the
// way a shell would, and a server that is not of the project finds no programs
// there. (npm and direnv put folders of the project on the PATH.)
func (f *Fleet) start(s launch.Spec, dir string, inProject bool) launch.Spec {
	if s = startIn(s, dir); inProject || s.URL != "" {
		return s
	}
	for i, pair := range s.Env { // startIn made it a copy
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			s.Env[i] = "PATH=" + f.outside(value)
		}
	}
	return s
}

// outside returns a PATH without the folders of the project.
func (f *Fleet) outside(path string) string {
	project := f.project()
	if project == "" || project == f.Home.Home || below(f.Home.Home, project) {
		return path
	}
	dirs := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return dir == project || below(dir, project) })
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// startIn tells a server the folder it starts in the way a shell would.
func startIn(s launch.Spec, dir string) launch.Spec {
	if s.URL != "" || s.Env == nil {
		return s
	}
	if !filepath.IsAbs(s.Dir) {
		dir = filepath.Join(dir, s.Dir)
	} else {
		dir = s.Dir
	}
	s.Env = slices.Clone(s.Env)
	for i, pair := range s.Env {
		if strings.HasPrefix(pair, "PWD=") {
			s.Env[i] = "PWD=" + dir
		}
	}
	s.Env = slices.DeleteFunc(s.Env, func(pair string) bool { return strings.HasPrefix(pair, "OLDPWD=") })
	return s
}

// below reports whether a folder is in another one, at any depth.
func below(dir, top string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if real, err := filepath.EvalSymlinks(top); err == nil {
		top = real
	}
	way, err := filepath.Rel(top, dir)
	return top != "" && err == nil && way != "." && filepath.IsLocal(way)
}
