package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/lab/programs"
)

// The folder and the user's flags leave no trace in the binary, and it knows its version.
func TestBuildIsReproducible(t *testing.T) {
	windowstest.Skip(t)
	if _, err := programs.Gauze.Path(t.Context()); err != nil { // what is built here is what that is built from
		t.Fatal(err)
	}
	const version = "v1.2.3-4-gabcdef0"
	dir, here := t.TempDir(), target{runtime.GOOS, runtime.GOARCH}
	source := filepath.Join("..", "..")
	copied := filepath.Join(dir, "copied")
	copyGo(t, source, copied)
	first, second := filepath.Join(dir, "first.exe"), filepath.Join(dir, "second.exe") // Windows starts no other
	if err := released[0].build(t.Context(), source, first, version, here); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-buildvcs=true -tags=seededbugs")
	settings := filepath.Join(dir, "settings") // of go env -w
	if err := os.WriteFile(settings, []byte("GOFLAGS=-tags=seededbugs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", settings)
	if err := released[0].build(t.Context(), copied, second, version, here); err != nil {
		t.Fatal(err)
	}
	one, two := read(t, first), read(t, second)
	if !bytes.Equal(one, two) {
		t.Errorf("%d and %d bytes that differ, built from the same source in two folders", len(one), len(two))
	}
	output, err := exec.Command(first, "version").Output()
	if err != nil || strings.TrimSpace(string(output)) != "gauze "+version {
		t.Errorf("gauze version: %q, %v", output, err)
	}
}

// The version names the commit and what was changed since, whatever git is configured to.
func TestVersionNamesTheCommitAndChanges(t *testing.T) {
	windowstest.Skip(t)
	t.Chdir(t.TempDir())
	git := func(args ...string) {
		t.Helper()
		if said, err := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.invalid"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, said)
		}
	}
	describe := func() string {
		t.Helper()
		version, err := describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return version
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	clean := describe()
	git("config", "core.abbrev", "20")
	if now := describe(); now != clean {
		t.Errorf("%s and %s for one commit", clean, now)
	}
	if err := os.WriteFile("new.go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if now := describe(); now != clean+"-dirty" { // go build reads it, although git does not track it
		t.Errorf("%s with a new file", now)
	}
	git("add", ".")
	if now := describe(); now != clean+"-dirty" {
		t.Errorf("%s with a change", now)
	}
}

func TestEveryBinaryHasAName(t *testing.T) {
	seen := map[string]bool{}
	for _, program := range released {
		for _, target := range targets {
			seen[program.file(target)] = true
		}
	}
	for _, want := range []string{"gauze-windows-amd64.exe", "gauze-windows-arm64.exe", "gauze-darwin-arm64", "gauze-linux-amd64", "gauze-temporal-linux-arm64", "gauze-temporal-windows-amd64.exe"} {
		if !seen[want] {
			t.Errorf("%s is missing", want)
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d names", len(seen))
	}
}

// copyGo copies a module, without its repository and what was built.
func copyGo(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if rel == ".git" || rel == "dist" {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if !entry.Type().IsRegular() || rel == ".git" {
			return nil
		}
		return os.WriteFile(filepath.Join(to, rel), read(t, path), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
