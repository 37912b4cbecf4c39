package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

// statusIn writes a status to a file in dir and returns the file's path.
func statusIn(dir string) (path string, err error) {
	path = filepath.Join(dir, "status.json")
	return path, writeJSON(path, map[string]int{"calls": 1})
}

func TestStatusFileIsReplacedAsAWhole(t *testing.T) {
	dir := t.TempDir()
	for _, was := range []string{"", "something longer than what is written now, and readable by all\n"} {
		if was != "" {
			if err := os.WriteFile(filepath.Join(dir, "status.json"), []byte(was), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		path, err := statusIn(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != "{\n  \"calls\": 1\n}\n" {
			t.Errorf("got %q", got)
		}
		if info, _ := os.Stat(path); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, want 0600", info.Mode())
		}
		if files, _ := os.ReadDir(dir); len(files) != 1 {
			t.Errorf("left behind: %v", files)
		}
		os.Remove(path)
	}
}

func TestStatusFileDoesNotFollowLinks(t *testing.T) {
	windowstest.Skip(t)
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	for _, exists := range []bool{false, true} {
		if exists {
			if err := os.WriteFile(elsewhere, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		link := filepath.Join(dir, "status.json")
		os.Remove(link)
		if err := os.Symlink(elsewhere, link); err != nil {
			t.Skip(err) // Windows without the privilege
		}
		if _, err := statusIn(dir); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("got %v, want an error about the link", err)
		}
		if got, err := os.ReadFile(elsewhere); exists && string(got) != "mine" || !exists && err == nil {
			t.Errorf("the link was followed: %q", got)
		}
		if target, _ := os.Readlink(link); target != elsewhere {
			t.Errorf("the link is gone")
		}
	}
}
