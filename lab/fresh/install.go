//go:build unix

package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The packages are pinned as those of realparts: a lock file without addresses for npm, exact
// versions for PyPI.
var (
	//go:embed pins/package.json
	npmManifest []byte
	//go:embed pins/package-lock.json
	npmLock []byte
	//go:embed pins/pypi.txt
	pypiPins string
)

// parts are the places of the installed packages.
type parts struct {
	modules string // node_modules
	python  string // the directory of the virtual environments, one per server
	node    string
}

// install installs what is missing into the user's cache directory.
func install(ctx context.Context, out io.Writer) (parts, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return parts{}, err
	}
	sum := sha256.Sum256(fmt.Append(nil, string(npmManifest), string(npmLock), pypiPins))
	dir := filepath.Join(cache, "gauze", "fresh", hex.EncodeToString(sum[:6]))
	p := parts{modules: filepath.Join(dir, "node_modules"), python: filepath.Join(dir, "py")}
	if p.node, err = exec.LookPath("node"); err != nil {
		return p, err
	}
	if err := os.MkdirAll(p.python, 0o755); err != nil {
		return p, err
	}
	err = once(dir, "npm", out, func() error {
		err := errors.Join(os.WriteFile(filepath.Join(dir, "package.json"), npmManifest, 0o644),
			os.WriteFile(filepath.Join(dir, "package-lock.json"), npmLock, 0o644))
		if err != nil {
			return err
		}
		if err := shell(ctx, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"); err != nil {
			return err
		}
		return os.Remove(filepath.Join(p.modules, ".bin", "node")) // an old node, which npx would use
	})
	if err != nil {
		return p, err
	}
	for line := range strings.Lines(pypiPins) {
		name, pins, _ := strings.Cut(strings.TrimSpace(line), ":")
		venv := filepath.Join(p.python, name)
		err := once(dir, name, out, func() error {
			if err := shell(ctx, dir, "python3", "-m", "venv", "--clear", venv); err != nil {
				return err
			}
			return shell(ctx, dir, filepath.Join(venv, "bin", "pip"), append([]string{"install", "-q"}, strings.Fields(pins)...)...)
		})
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// once calls do unless a stamp says that it succeeded before.
func once(dir, name string, out io.Writer, do func() error) error {
	stamp := filepath.Join(dir, name+".installed")
	if _, err := os.Stat(stamp); err == nil {
		return nil
	}
	fmt.Fprintf(out, "installing %s\n", name)
	if err := do(); err != nil {
		return fmt.Errorf("installing %s: %w", name, err)
	}
	return os.WriteFile(stamp, nil, 0o644)
}

func shell(ctx context.Context, dir, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
