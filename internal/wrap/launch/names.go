package launch

import (
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// IsShell reports whether name is the name of a shell, without directory and extension.
func IsShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "zsh", "ash", "cmd":
		return true
	}
	return false
}

// runners are the programs that may fetch a package before they run it.
var runners = map[string]struct {
	registry string // whose packages its arguments name; empty: they name something else
	inside   bool   // it runs a program in its own process
}{
	"npx": {registry: "npm"}, "npm": {registry: "npm"}, "pnpm": {registry: "npm"}, "pnpx": {registry: "npm"}, "yarn": {registry: "npm"},
	"bunx": {registry: "npm"}, "bun": {registry: "npm", inside: true},
	"uvx": {registry: "pypi"}, "uv": {registry: "pypi"}, "pipx": {registry: "pypi"}, "pip": {registry: "pypi"}, "pip3": {registry: "pypi"},
	"dnx": {registry: "nuget"}, "dotnet": {}, "docker": {}, "podman": {}, "cargo": {},
	"deno": {inside: true}, "go": {inside: true},
}

// Runners returns the names of the programs that may fetch a package before they run it, in order.
func Runners() []string { return slices.Sorted(maps.Keys(runners)) }

// Fetches reports whether name is the name of a program that may fetch a package before it runs it.
func Fetches(name string) bool {
	_, known := runners[name]
	return known
}

// Installs reports whether name is the name of a program that fetches packages and runs them in
// processes of their own, such as npx and docker.
func Installs(name string) bool { return Fetches(name) && !runners[name].inside }

// Registry returns the registry whose packages the arguments of a program name: "npm", "pypi",
// "nuget"; or "".
func Registry(name string) string { return runners[name].registry }

// ProgramName returns the name of a program without its directory and Windows extension.
func ProgramName(command string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, ending := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// IsLoopback reports whether host is this machine: localhost or a loopback address. Any other name
// may resolve to anything.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
