package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

// The folder and the user's flags leave no trace in the binary, and it knows its version.
func TestBuildIsReproducible(t *testing.T) {
	windowstest.Skip(t)
	r, dir := built(t), t.TempDir()
	copied := filepath.Join(dir, "copied")
	copyGo(t, r.root, copied)
	first, second := r.binary(released[0], linux), filepath.Join(dir, "second")
	t.Setenv("GOFLAGS", "-buildvcs=true -tags=seededbugs")
	settings := filepath.Join(dir, "settings") // of go env -w
	if err := os.WriteFile(settings, []byte("GOFLAGS=-tags=seededbugs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", settings)
	if err := released[0].build(t.Context(), copied, second, r.stamp, linux); err != nil {
		t.Fatal(err)
	}
	one, two := read(t, first), read(t, second)
	if !bytes.Equal(one, two) {
		t.Errorf("%d and %d bytes that differ, built from the same source in two folders", len(one), len(two))
	}
	output, err := exec.Command(second, "version").Output()
	if err != nil || !strings.HasPrefix(string(output), "gauze "+r.version+"\ncommit:  "+r.commit+"\n") {
		t.Errorf("gauze version: %q, %v", output, err)
	}
}

// maxBinary is how large gauze may be for linux/amd64.
const maxBinary = 26_200_000

// The binary had 31 MB when it contained html/template, which makes the linker keep every exported
// method. Anything that calls a method by a name that is not a constant does the same: look for
// ReflectMethod in the output of go build -ldflags=-dumpdep.
func TestBinaryIsSmall(t *testing.T) {
	t.Parallel()
	r := built(t)
	info, err := os.Stat(r.binary(released[0], linux))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxBinary {
		t.Errorf("gauze has %d bytes, more than %d: find what was added with go tool nm -size -sort size", info.Size(), maxBinary)
	}
}

// The version names the commit and what was changed since, and sorts after its tag.
func TestVersionNamesTheCommitAndChanges(t *testing.T) {
	for _, c := range []struct {
		described string
		changed   bool
		want      string
	}{
		{"abcdef012345", false, "0.0.0-dev+gabcdef012345"},
		{"abcdef012345", true, "0.0.0-dev+gabcdef012345.dirty"},
		{"v1.2.3-0-gabcdef012345", false, "1.2.3"},
		{"v1.2.3-0-gabcdef012345", true, "1.2.3+dirty"},
		{"v1.2.9-14-gabcdef012345", false, "1.2.10-dev.14+gabcdef012345"},
	} {
		if got := versionOf(c.described, c.changed); got != c.want || !semver.MatchString(got) {
			t.Errorf("%s, changed %v: %s, expected %s", c.described, c.changed, got, c.want)
		}
	}
}

// A release knows its commit and the commit's time; a new file counts as a change.
func TestReleaseReadsTheRepository(t *testing.T) {
	windowstest.Skip(t)
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.invalid"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, said)
		}
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	git("tag", "v1.2.3")
	git("config", "core.abbrev", "20")
	r, err := newRelease(t.Context(), dir, dir, "")
	if err != nil || r.version != "1.2.3" || len(r.commit) != 40 || r.date.Format(time.RFC3339) != "2026-01-02T03:04:05Z" {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err = newRelease(t.Context(), dir, dir, ""); err != nil || r.version != "1.2.3+dirty" {
		t.Errorf("%+v, %v with a new file", r, err)
	}
	if _, err := newRelease(t.Context(), dir, dir, "soon"); err == nil {
		t.Error("a version that npm cannot read was accepted")
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
