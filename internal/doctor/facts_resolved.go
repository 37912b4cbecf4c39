package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// Resolved returns the package that a command runs and its most recently used version on this
// machine, as far as the caches show.
func (m *Machine) Resolved(spec launch.Spec) (name, version string) {
	x := &exam{Case: Case{Command: append([]string{spec.Command}, spec.Args...)}}
	asked := x.packageName()
	if asked == "" {
		return "", ""
	}
	name = withoutVersion(asked)
	switch x.runner() {
	case "npx", "npm", "bunx", "pnpx", "pnpm", "yarn", "bun":
		version = m.npmVersion(name)
	case "uvx", "uv", "pipx":
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
