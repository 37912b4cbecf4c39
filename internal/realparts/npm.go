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

var npmUnit = unit{
	name:    "npm",
	pins:    pinned(pinsPackage) + pinned(pinsLock) + nodePin,
	install: installNPM,
}

func installNPM(ctx context.Context, dir string, out io.Writer) (place, error) {
	for _, tool := range []string{"node", "npm"} {
		if err := ensure(ctx, out, tool, "nodejs", "npm"); err != nil {
			return place{}, err
		}
	}
	for _, name := range []string{pinsPackage, pinsLock} {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(pinned(name)), 0o644); err != nil {
			return place{}, err
		}
	}
	// No install scripts: none of the parts needs one, and a test machine should not run strangers' code for nothing.
	if err := run(ctx, dir, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		return place{}, fmt.Errorf("%w\nnext: check that npm reaches its registry (npm ping), then run this again", err)
	}
	node, err := newEnoughNode(ctx, dir, out)
	if err != nil {
		return place{}, err
	}
	return place{Node: node, Modules: filepath.Join(dir, "node_modules")}, nil
}

// newEnoughNode returns the machine's node, or a pinned newer one from npm where the machine's is too old.
func newEnoughNode(ctx context.Context, dir string, out io.Writer) (string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", err
	}
	version, err := exec.CommandContext(ctx, node, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", node, err)
	}
	if nodeMajor(string(version)) >= oldestNode {
		return filepath.Abs(node)
	}
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if runtime.GOOS != "linux" || arch == "" {
		return "", fmt.Errorf("found only Node.js %s, which is too old\nnext: install Node.js %d or newer", strings.TrimSpace(string(version)), oldestNode)
	}
	pkg := "node-linux-" + arch
	fmt.Fprintf(out, "Node.js %s is too old; fetching %s\n", strings.TrimSpace(string(version)), nodePin)
	newer := filepath.Join(dir, "node")
	if err := os.MkdirAll(newer, 0o755); err != nil {
		return "", err
	}
	if err := run(ctx, newer, nil, "npm", "install", "--prefix", newer, "--ignore-scripts", "--no-save", "--no-audit", "--no-fund", pkg+"@"+nodePin); err != nil {
		return "", err
	}
	return filepath.Join(newer, "node_modules", pkg, "bin", "node"), nil
}

// nodeMajor reads the 20 of "v20.1.2"; anything else is 0.
func nodeMajor(version string) int {
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(version), "v"), ".")
	n, _ := strconv.Atoi(major)
	return n
}
