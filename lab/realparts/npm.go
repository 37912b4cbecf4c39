package realparts

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

var npmUnit = npmUnitOf("npm", minNode, pinsPackage, pinsLock)

// npmUnitOf is a unit of npm packages that require Node.js node or newer.
func npmUnitOf(name string, node int, manifest, lock string) unit {
	return unit{name: name, pins: pinned(manifest) + pinned(lock) + nodePin, install: func(ctx context.Context, dir string, out io.Writer) (place, error) {
		return installPinned(ctx, dir, out, node, manifest, lock)
	}}
}

// installPinned installs the packages of the pin files, with Node.js oldest or newer.
func installPinned(ctx context.Context, dir string, out io.Writer, oldest int, pins ...string) (place, error) {
	for _, tool := range []string{"node", "npm"} {
		if err := Ensure(ctx, out, tool, "nodejs", "npm"); err != nil {
			return place{}, err
		}
	}
	if err := writePins(dir, pins...); err != nil {
		return place{}, err
	}
	if err := run(ctx, dir, nil, npm("ci")...); err != nil {
		return place{}, fmt.Errorf("%w\nnext: check that npm can reach its registry (npm ping), then try again", err)
	}
	node, err := newEnoughNode(ctx, dir, out, oldest)
	if err != nil {
		return place{}, err
	}
	return place{Node: node, Modules: filepath.Join(dir, "node_modules")}, nil
}

// writePins copies pin files into the folder that npm installs into.
func writePins(dir string, pins ...string) error {
	for _, name := range pins {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(pinned(name)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// npm returns an npm command line that runs no install scripts, which none of the parts requires,
// prefers the cache, and fails within seconds without a network.
func npm(args ...string) []string {
	return append([]string{"npm", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
		"--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"}, args...)
}

// newEnoughNode returns the installed node, or a pinned one from npm if that is too old.
func newEnoughNode(ctx context.Context, dir string, out io.Writer, oldest int) (string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", err
	}
	version, err := exec.CommandContext(ctx, node, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", node, err)
	}
	if nodeMajor(string(version)) >= oldest {
		return filepath.Abs(node)
	}
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if runtime.GOOS != "linux" || arch == "" {
		return "", fmt.Errorf("the installed Node.js %s is too old\nnext: install Node.js %d or newer", strings.TrimSpace(string(version)), oldest)
	}
	pkg := "node-linux-" + arch
	fmt.Fprintf(out, "Node.js %s is too old; installing %s\n", strings.TrimSpace(string(version)), nodePin)
	newer := filepath.Join(dir, "node")
	if err := os.MkdirAll(newer, 0o755); err != nil {
		return "", err
	}
	if err := run(ctx, newer, nil, npm("install", "--prefix", newer, "--no-save", pkg+"@"+nodePin)...); err != nil {
		return "", err
	}
	return filepath.Join(newer, "node_modules", pkg, "bin", "node"), nil
}

// nodeMajor returns the 20 of "v20.1.2", or 0 if version is not valid.
func nodeMajor(version string) int {
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(version), "v"), ".")
	n, _ := strconv.Atoi(major)
	return n
}
