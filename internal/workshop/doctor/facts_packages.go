package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// npxFolder returns the directory of npx's cache.
func (m *Machine) npxFolder() string {
	cache := filepath.Join(m.Home, ".npm")
	if m.OS == "windows" {
		cache = filepath.Join(m.variable("LOCALAPPDATA"), "npm-cache")
	}
	for _, variable := range []string{"npm_config_cache", "NPM_CONFIG_CACHE"} {
		if dir := m.variable(variable); filepath.IsAbs(dir) {
			cache = dir
		}
	}
	return filepath.Join(cache, "_npx")
}

// NpxEntries returns the directories in npx's cache that contain a package.
func (m *Machine) NpxEntries(name string) []string {
	var entries []string
	files, _ := filepath.Glob(filepath.Join(m.npxFolder(), "*", "package.json"))
	for _, file := range files {
		text, _ := readSmall(file)
		var content struct {
			Dependencies map[string]string `json:"dependencies"`
		}
		if json.Unmarshal(text, &content) == nil {
			if _, ok := content.Dependencies[withoutVersion(name)]; ok {
				entries = append(entries, filepath.Dir(file))
			}
		}
	}
	return entries
}

// UvEntries returns the directories in uv's cache and tools that belong to a package.
func (m *Machine) UvEntries(name string) []string {
	cache, tools := filepath.Join(m.Home, ".cache", "uv"), filepath.Join(m.Home, ".local", "share", "uv", "tools")
	if dir := m.variable("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		cache = filepath.Join(dir, "uv")
	}
	if m.OS == "windows" {
		cache, tools = filepath.Join(m.variable("LOCALAPPDATA"), "uv", "cache"), filepath.Join(m.variable("APPDATA"), "uv", "tools")
	}
	if dir := m.variable("UV_CACHE_DIR"); filepath.IsAbs(dir) {
		cache = dir
	}
	name = strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(withoutVersion(name)))
	if name == "" || strings.ContainsAny(name, `/\*?[`) {
		return nil
	}
	var entries []string
	for _, pattern := range []string{filepath.Join(cache, "wheels-v*", "*", name), filepath.Join(cache, "sdists-v*", "*", name),
		filepath.Join(tools, name)} {
		found, _ := filepath.Glob(pattern)
		entries = append(entries, found...)
	}
	slices.Sort(entries)
	return entries
}

// withoutVersion returns NAME of NAME@VERSION, NAME==VERSION and NAME[EXTRA].
func withoutVersion(name string) string {
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		name = name[:at]
	}
	if at := strings.IndexAny(name, "=<>~![ "); at > 0 {
		name = name[:at]
	}
	return name
}

// Resolved returns the package that a command runs and its most recently used version on this
// machine, as far as the caches show.
func (m *Machine) Resolved(spec launch.Spec) (name, version string) {
	cmd := commandOf(spec)
	asked := cmd.packageName()
	if asked == "" {
		return "", ""
	}
	name = withoutVersion(asked)
	switch launch.Registry(cmd.runner()) {
	case "npm":
		version = m.npmVersion(name)
	case "pypi":
		version = m.uvVersion(name)
	}
	if version == "" {
		version = strings.TrimLeft(strings.TrimPrefix(asked, name), "@=<>~!")
	}
	return name, version
}

// npmVersion returns the version in the newest entry of npx's cache.
func (m *Machine) npmVersion(name string) (version string) {
	var newest time.Time
	for _, entry := range m.NpxEntries(name) {
		file := filepath.Join(entry, "node_modules", filepath.FromSlash(name), "package.json")
		info, err := os.Stat(file)
		if err != nil || info.ModTime().Before(newest) {
			continue
		}
		var content struct{ Version string }
		if text, err := readSmall(file); err == nil && json.Unmarshal(text, &content) == nil {
			newest, version = info.ModTime(), content.Version
		}
	}
	return version
}

// uvVersion returns the version of the newest wheel in uv's cache.
func (m *Machine) uvVersion(name string) (version string) {
	var newest time.Time
	for _, entry := range m.UvEntries(name) {
		wheels, _ := os.ReadDir(entry)
		for _, wheel := range wheels {
			info, err := wheel.Info()
			number, _, _ := strings.Cut(wheel.Name(), "-")
			if err != nil || info.ModTime().Before(newest) || number == "" || number[0] < '0' || number[0] > '9' {
				continue
			}
			newest, version = info.ModTime(), number
		}
	}
	return version
}

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
