// Package built provides the gauze binary to the tests that start it as users do.
package programs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Env names a gauze binary of this tree, to be used instead of building one.
const Env = "GAUZE_BINARY"

// EnvTests names the test binary of the command gauze, without the race detector.
const EnvTests = "GAUZE_TESTS_ALONE"

// Gauze puts gauze into dir and returns its path. It is the binary that Env names, or a new one.
func Gauze(ctx context.Context, dir string) (string, error) {
	path := os.Getenv(Env)
	if path == "" {
		return Program(ctx, dir, "gauze", "./cmd/gauze")
	}
	to := filepath.Join(dir, filepath.Base(path))
	return to, Link(path, to)
}

// Link gives a program a second path.
func Link(path, to string) error {
	if os.Link(path, to) == nil {
		return nil
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(to, program, 0o755)
}

// Program builds a package of this tree, which is given as seen from its root, as dir/name.
func Program(ctx context.Context, dir, name, pkg string, flags ...string) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/gauze-mcp/gauze").Output()
	root := strings.TrimSpace(string(mod))
	if err != nil || root == "" {
		return "", errors.New("not inside a checkout of gauze")
	}
	path := filepath.Join(dir, name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-o", path}, flags...), pkg)...)
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, output)
	}
	return path, nil
}
