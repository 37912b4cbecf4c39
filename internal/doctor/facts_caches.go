package doctor

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
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
	for _, pattern := range []string{filepath.Join(cache, "wheels-v*", "*", name), filepath.Join(cache, "sdists-v*", "*", name), filepath.Join(tools, name)} {
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
