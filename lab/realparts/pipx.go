package realparts

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
)

const (
	pipxPin = "pipx==1.18.4"
	pipPin  = "pip==26.3" // pipx installs it into the environments that it makes
)

var pipxUnit = unit{name: "pipx", pins: pipxPin + " " + pipPin, install: installPipx}

// NeedPythonTools returns the directory that has python3, pip, uv and uvx. Missing tools are handled as in Need.
func NeedPythonTools(t testing.TB) string {
	t.Helper()
	return filepath.Dir(need(t, pythonUnit).Uvx)
}

// NeedPipx returns the directory that has pipx, and a directory with the wheels that pipx itself installs. A missing pipx is
// handled as in Need.
func NeedPipx(t testing.TB) (bin, wheels string) {
	t.Helper()
	p := need(t, pipxUnit)
	return filepath.Dir(p.Python), p.Cache
}

func installPipx(ctx context.Context, dir string, out io.Writer) (place, error) {
	if err := Ensure(ctx, out, "python3", "python3", "python3-venv"); err != nil {
		return place{}, err
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return place{}, err
	}
	venv := filepath.Join(dir, "venv")
	if err := run(ctx, dir, nil, python, "-m", "venv", venv); err != nil {
		return place{}, err
	}
	p := place{Python: filepath.Join(venv, venvBin(), filepath.Base(python)), Cache: filepath.Join(dir, "wheels")}
	pip := []string{p.Python, "-m", "pip", "--disable-pip-version-check"}
	if err := run(ctx, dir, nil, append(pip, "install", pipxPin)...); err != nil {
		return place{}, fmt.Errorf("%w\nnext: check that pip can reach its index (pip download %s), then try again", err, pipxPin)
	}
	return p, run(ctx, dir, nil, append(pip, "download", "--no-deps", "-d", p.Cache, pipPin)...)
}
