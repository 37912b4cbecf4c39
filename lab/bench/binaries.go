package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// binaries builds the executables of one benchmark run in a temporary directory.
type binaries struct {
	dir  string // temporary; also used for the run's other files
	root string // the module's root
	self string // this executable, which plays the roles
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
	// What gauze records during a benchmark does not belong into the user's journal.
	if err := os.Setenv("GAUZE_STATE_DIR", filepath.Join(dir, "state")); err != nil {
		return nil, err
	}
	return &binaries{dir: dir, root: filepath.Dir(strings.TrimSpace(string(mod))), self: self}, nil
}

func (b *binaries) remove() { os.RemoveAll(b.dir) }

// gauze builds gauze with the given build tags.
func (b *binaries) gauze(tags string) (string, error) {
	return b.build("gauze", "-tags", tags, "./cmd/gauze")
}

// sdkServer builds the echo server that uses the Go SDK.
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
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", name, err, output)
	}
	return out, nil
}
