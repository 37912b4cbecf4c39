package fleet

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// folder returns the directory for servers that specify none. A project's servers start in the
// project. All others start where no project has influence: npx, uvx, node and others look for
// programs, packages and settings in their working directory and its parents.
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

// project returns the outermost directory of the project.
func (f *Fleet) project() string {
	if root, ok := f.Home.Repository(); ok && root != f.Home.Home {
		return root
	}
	return f.Home.Project
}

// InRepository reports whether a path, or what it leads to, is in a repository. One that is the user's
// home does not count: it has the user's own files.
func (f *Fleet) InRepository(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	for _, one := range []string{path, real} {
		if root, ok := f.At(one).Home.Repository(); ok && root != f.Home.Home {
			return true
		}
	}
	return false
}

// machine returns the machine as servers of the project, or all other servers, see it.
func (f *Fleet) machine(inProject bool) *doctor.Machine {
	m := f.Machine.At(f.folder(inProject))
	m.Required = f.Registry.Required
	if inProject {
		return m
	}
	if f.project() != f.Home.Home {
		m.Project = f.Home.Project
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

// start returns the spec as it is started in dir, with PWD set. A server that does not belong to
// the project finds no programs in it. (npm and direnv add directories of the project to PATH.)
func (f *Fleet) start(s launch.Spec, dir string, inProject bool) launch.Spec {
	if s = startIn(s, dir); inProject || s.URL != "" {
		return s
	}
	for i, pair := range s.Env { // startIn made a copy
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			s.Env[i] = "PATH=" + f.outside(value)
		}
	}
	return s
}

// Launch returns how a configured server is started or reached, as for a check and without gauze in
// between.
func (f *Fleet) Launch(s *Server) launch.Spec {
	inProject := s.Config.InProject()
	dir := f.folder(inProject)
	return f.start(s.Real(), dir, inProject).In(dir)
}

// outside returns a PATH without the directories of the project.
func (f *Fleet) outside(path string) string {
	project := f.project()
	if project == "" || project == f.Home.Home || below(f.Home.Home, project) {
		return path
	}
	dirs := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return dir == project || below(dir, project) })
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// startIn sets PWD to the directory that the server starts in, as a shell would.
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

// below reports whether dir is inside top, at any depth.
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
