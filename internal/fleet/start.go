package fleet

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/upstream"
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

// startIn tells a server the folder it starts in the way a shell would.
func startIn(s upstream.Spec, dir string) upstream.Spec {
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
