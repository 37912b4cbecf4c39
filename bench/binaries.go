package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// binaries are the executables one run of a benchmark needs, built once into a
// directory that goes away with it.
type binaries struct {
	dir  string // temporary, also for whatever else the run writes
	root string // the module
	self string // this executable, for the roles
}

func newBinaries() (*binaries, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOMOD: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gauze-bench-")
	if err != nil {
		return nil, err
	}
	return &binaries{dir: dir, root: filepath.Dir(strings.TrimSpace(string(mod))), self: self}, nil
}

func (b *binaries) remove() { os.RemoveAll(b.dir) }

// gauze builds the product, with build tags if there are any.
func (b *binaries) gauze(tags string) (string, error) {
	return b.build("gauze", "-tags", tags, "./cmd/gauze")
}

// sdkServer builds the echo server written with the Go SDK.
func (b *binaries) sdkServer() (string, error) {
	return b.build("sdkserver", "./bench/sdkserver")
}

func (b *binaries) build(name string, args ...string) (string, error) {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	out := filepath.Join(b.dir, name)
	cmd := exec.Command("go", append([]string{"build", "-o", out}, args...)...)
	cmd.Dir = b.root
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", name, err, said)
	}
	return out, nil
}
