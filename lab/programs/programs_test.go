package programs

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The path of a program changes with its bytes, and only with them.
func TestPathIsTheBytes(t *testing.T) {
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
