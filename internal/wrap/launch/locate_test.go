package launch

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// executable makes an empty program and returns its path.
func executable(t *testing.T, dir, name string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// A bare name means a program in PATH, also where the current directory has one
// of the same name: Windows would look there first, and Linux if PATH says so.
func TestABareNameIsNotAFileOfTheCurrentDirectory(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	executable(t, here, "server")
	want := executable(t, there, "server")
	t.Chdir(here)
	t.Setenv("PATH", "."+string(os.PathListSeparator)+there)
	for _, env := range [][]string{nil, os.Environ(), {"PATH=" + there}} {
		if got, err := Locate(Spec{Command: "server", Env: env}); err != nil || got != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

// A program that only the current directory has is not started, now or later.
func TestAProgramOnlyInTheCurrentDirectoryIsNotFound(t *testing.T) {
	here := t.TempDir()
	executable(t, here, "server")
	t.Chdir(here)
	t.Setenv("PATH", ".")
	_, err := Locate(Spec{Command: "server"})
	if !errors.Is(err, exec.ErrDot) {
		t.Fatal(err)
	}
}
