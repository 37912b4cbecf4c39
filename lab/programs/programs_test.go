package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The path of a program changes with its bytes, and only with them.
func TestPathIsTheBytes(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(cache))) // for the standard library
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	build := func(root, says string, when time.Time) string {
		t.Helper()
		for name, text := range map[string]string{"go.mod": "module example.com/x\n\ngo 1.26.0\n", "main.go": "package main\n\nfunc main() { println(" + says + ") }\n"} {
			file := filepath.Join(root, name)
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file, when, when); err != nil {
				t.Fatal(err)
			}
		}
		path, err := Program{Name: "x", Env: "X", dir: ".", pkg: "."}.Build(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	here, there, now := t.TempDir(), t.TempDir(), time.Now()
	one := build(here, `"one"`, now)
	if again := build(here, `"one"`, now.Add(-time.Hour)); again != one {
		t.Errorf("another time, another path: %s and %s", one, again)
	}
	if elsewhere := build(there, `"one"`, now); elsewhere != one {
		t.Errorf("another directory, another path: %s and %s", one, elsewhere)
	}
	if two := build(here, `"two"`, now); two == one {
		t.Error("other bytes, the same path")
	}
}

func TestOldProgramsAreRemoved(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	store := filepath.Join(cache, "gauze", "programs")
	for name, age := range map[string]time.Duration{"old": 2 * forgotten, "new": 0, "built": 2 * forgotten} {
		dir := filepath.Join(store, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(dir, then, then); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveOld(); err != nil {
		t.Fatal(err)
	}
	for name, kept := range map[string]bool{"old": false, "new": true, "built": true} {
		if _, err := os.Stat(filepath.Join(store, name)); (err == nil) != kept {
			t.Errorf("%s: %v, kept %v", name, err, kept)
		}
	}
}

// A package that the race detector does not watch contains no function of another package.
func TestTheUnwatchedPackageHasOnlyItsOwnFunctions(t *testing.T) {
	list := exec.Command("go", slices.Concat([]string{"list"}, RaceFlags, []string{"-export", "-f", "{{.Export}}", unwatched})...)
	list.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=-trimpath -buildvcs=false")
	archive, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := exec.Command("go", "tool", "nm", strings.TrimSpace(string(archive))).Output()
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for line := range strings.Lines(string(symbols)) {
		_, name, isText := strings.Cut(line, " T ")
		switch {
		case !isText || strings.HasPrefix(name, "type:"):
		case strings.HasPrefix(name, unwatched+"."):
			own++
		default:
			t.Errorf("%s contains %s", unwatched, name)
		}
	}
	if own < 1000 {
		t.Errorf("%d functions of its own", own)
	}
}

type early struct{}

func (early) TestMain(ask func() (string, error)) error {
	_, err := ask()
	return err
}

func TestATestMainGetsNoProgram(t *testing.T) {
	t.Setenv(Gauze.Env, "somewhere")
	ask := func() (string, error) { return Gauze.Path(t.Context()) }
	if path, err := ask(); path != "somewhere" || err != nil {
		t.Errorf("a test gets %q, %v", path, err)
	}
	if err := (early{}).TestMain(ask); err == nil {
		t.Error("a TestMain gets one")
	}
}
