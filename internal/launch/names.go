package launch

import "net/netip"

// IsShell reports whether name is the name of a shell, without directory and extension.
func IsShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "zsh", "ash", "cmd":
		return true
	}
	return false
}

// Installs reports whether name is the name of a program that fetches packages and runs them in
// processes of their own, such as npx and docker.
func Installs(name string) bool {
	switch name {
	case "npm", "npx", "pnpm", "pnpx", "yarn", "bunx", "uv", "uvx", "pip", "pip3", "pipx", "docker", "podman", "cargo", "dotnet":
		return true
	}
	return false
}

// fetchesFirst reports whether name is the name of a runtime that may fetch packages before it runs
// a program in its own process.
func fetchesFirst(name string) bool { return name == "bun" || name == "deno" || name == "go" }

// IsLoopback reports whether host is this machine: localhost or a loopback address. Any other name
// may resolve to anything.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
