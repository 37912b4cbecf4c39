package realparts

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The servers from PyPI, each with an environment of its own.
var (
	pythonUnit = pythonUnitOf("python", timePin)
	gitUnit    = pythonUnitOf("python-git", gitPin)
)

// pythonUnitOf returns a unit that runs one server with uvx.
func pythonUnitOf(name, pin string) unit {
	return unit{name: name, pins: uvPin + " " + pin, install: func(ctx context.Context, dir string, out io.Writer) (place, error) {
		return installPython(ctx, dir, pin, out)
	}}
}

func installPython(ctx context.Context, dir, pin string, out io.Writer) (place, error) {
	if err := Ensure(ctx, out, "python3", "python3", "python3-venv"); err != nil {
		return place{}, err
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return place{}, err
	}
	venv := filepath.Join(dir, "venv")
	if err := run(ctx, dir, nil, python, "-m", "venv", venv); err != nil {
		// Debian ships python3 without venv.
		if apt := aptInstall(ctx, out, "python3-venv"); apt != nil {
			return place{}, fmt.Errorf("%w\n%w", err, apt)
		}
		if err := run(ctx, dir, nil, python, "-m", "venv", "--clear", venv); err != nil {
			return place{}, err
		}
	}
	bin := filepath.Join(venv, "bin")
	pip := filepath.Join(bin, "pip")
	if err := run(ctx, dir, nil, pip, "install", "--disable-pip-version-check", uvPin); err != nil {
		return place{}, fmt.Errorf("%w\nnext: check that pip can reach its index (pip download %s), then try again", err, uvPin)
	}
	p := place{Uvx: filepath.Join(bin, "uvx"), Cache: filepath.Join(dir, "uv-cache"), Python: filepath.Join(bin, "python3")}
	if err := os.MkdirAll(p.Cache, 0o755); err != nil {
		return place{}, err
	}
	return p, warm(ctx, dir, pip, pin, p)
}

// warm runs the server once, so that uvx later works from its cache without a network.
func warm(ctx context.Context, dir, pip, pin string, p place) error {
	argv := append(uvx(p), pin, "--help")
	err := run(ctx, dir, nil, argv...)
	if err == nil {
		return nil
	}
	// uv does not read pip's configuration, so try again with the index that pip uses.
	env := uvEnvironment(ctx, pip)
	if len(env) > 0 && run(ctx, dir, env, argv...) == nil {
		return nil
	}
	return fmt.Errorf("%w\nnext: check that uv can reach its index, then try again", err)
}

func uvx(p place) []string {
	return []string{p.Uvx, "--cache-dir", p.Cache, "--no-python-downloads", "--python", p.Python}
}

// uvxCommand returns the command that starts a server from the cache, independent of the network.
func uvxCommand(p place, pin string) []string {
	return append(uvx(p), "--offline", pin)
}

// uvEnvironment returns pip's configured indexes as variables of uv.
func uvEnvironment(ctx context.Context, pip string) []string {
	listed, err := exec.CommandContext(ctx, pip, "config", "list").Output()
	if err != nil {
		return nil
	}
	names := map[string]string{
		"index-url":       "UV_DEFAULT_INDEX",
		"extra-index-url": "UV_INDEX",
		"find-links":      "UV_FIND_LINKS",
		"trusted-host":    "UV_INSECURE_HOST",
		"cert":            "SSL_CERT_FILE",
	}
	var env []string
	for line := range strings.Lines(string(listed)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			continue
		}
		name := names[key[strings.LastIndex(key, ".")+1:]]
		if name == "" || os.Getenv(name) != "" {
			continue
		}
		env = append(env, name+"="+strings.Trim(value, "'"))
	}
	return env
}
