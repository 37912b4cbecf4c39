package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// modules is the nearest package.json above a directory whose dependencies are not installed.
type modules struct {
	dir       string
	installer string // the program that its lock file is for
}

// missingModules returns the project of a directory if it has dependencies and none are installed.
func (m *Machine) missingModules(dir string) (missing modules, ok bool) {
	for ; filepath.IsAbs(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, "node_modules")) || exists(filepath.Join(dir, ".pnp.cjs")) {
			return modules{}, false // Node looks for modules in all directories above
		}
		if ok {
			continue
		}
		text, err := readSmall(filepath.Join(dir, "package.json"))
		if err != nil {
			continue
		}
		var manifest struct {
			Dependencies map[string]any `json:"dependencies"`
		}
		if json.Unmarshal(text, &manifest) != nil || len(manifest.Dependencies) == 0 {
			return modules{}, false
		}
		missing, ok = modules{dir: dir, installer: installerFor(dir)}, true
	}
	return missing, ok
}

// installerFor returns the program that wrote a project's lock file, npm by default.
func installerFor(dir string) string {
	for _, lock := range []struct{ file, program string }{
		{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"},
	} {
		if isFile(filepath.Join(dir, lock.file)) {
			return lock.program
		}
	}
	return "npm"
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
