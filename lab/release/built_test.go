package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/lab/programs"
)

// kept is the directory of what the tests of this process share.
var kept string

// asReleased is the compression of a release.
var asReleased int

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gauze-release-*")
	if err != nil {
		panic(err)
	}
	kept = dir
	if asReleased = compression; !programs.Everything() {
		compression = gzip.BestSpeed // a program is compressed for each channel, and two releases of it
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

var linux = target{"linux", "amd64"}

var testStamp = stamp{
	version: "1.2.4-dev.5+gabcdef012345",
	commit:  "abcdef0123456789abcdef0123456789abcdef01",
	date:    time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
}

// build makes the binaries and the manual for Linux, once for all tests. They know the key that signs.
var build = sync.OnceValues(func() (*release, error) {
	ctx := context.Background()
	root, err := programs.Root(ctx)
	if err != nil {
		return nil, err
	}
	r := &release{root: root, dir: filepath.Join(kept, "dist"), targets: []target{linux}, stamp: testStamp}
	key := filepath.Join(kept, "key.pem")
	if err := errors.Join(newKey(key), r.useKey(key)); err != nil {
		return nil, err
	}
	if err := binaries(ctx, r); err != nil {
		return nil, err
	}
	return r, manual(ctx, r)
})

// built returns a release for linux/amd64 of which the binaries and the manual are made, in a directory
// of its own. What a test writes there, no other test sees.
func built(t *testing.T) *release {
	t.Helper()
	windowstest.Skip(t)
	if _, err := programs.Gauze.Path(t.Context()); err != nil { // so that Go caches the result until a program changes
		t.Fatal(err)
	}
	r, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return r.again(t)
}

// again returns the release in a directory of its own, with the same binaries and manual.
func (r *release) again(t *testing.T) *release {
	t.Helper()
	own := *r
	own.dir = t.TempDir()
	for _, dir := range []string{"bin", "share"} {
		for _, name := range filesIn(t, filepath.Join(r.dir, dir)) {
			place := filepath.Join(own.dir, dir, name)
			if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(filepath.Join(r.dir, dir, name), place); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &own
}

// standIns returns a release for every system whose binaries are a few bytes.
func standIns(t *testing.T) *release {
	t.Helper()
	r := &release{root: filepath.Join("..", ".."), dir: t.TempDir(), targets: targets, stamp: testStamp}
	for _, target := range targets {
		for _, p := range released {
			write(t, r.binary(p, target), p.name+" for "+target.String())
		}
	}
	for _, name := range []string{"gauze.1", "gauze-run.1", "gauze.bash", "_gauze", "gauze.fish", "gauze.ps1"} {
		write(t, filepath.Join(r.share(), name), "this is "+name+"\n")
	}
	return r
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// madeTwice runs makers in two directories, fails the test unless both have equal files, and returns
// the first release.
func madeTwice(t *testing.T, makers ...func(context.Context, *release) error) *release {
	t.Helper()
	first := built(t)
	second := first.again(t)
	first.run(t, makers...)
	second.run(t, makers...)
	equalFiles(t, first.dir, second.dir)
	return first
}

// run runs makers.
func (r *release) run(t *testing.T, makers ...func(context.Context, *release) error) {
	t.Helper()
	for _, make := range makers {
		if err := make(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

// equalFiles fails the test unless both directories have the same files with the same bytes.
func equalFiles(t *testing.T, first, second string) {
	t.Helper()
	names := filesIn(t, first)
	if others := filesIn(t, second); !slices.Equal(names, others) {
		t.Fatalf("made once: %q\nmade again: %q", names, others)
	}
	for _, name := range names {
		one, two := read(t, filepath.Join(first, name)), read(t, filepath.Join(second, name))
		if !bytes.Equal(one, two) {
			t.Errorf("%s differs when made again: %s", name, firstDifference(one, two))
		}
	}
}

// filesIn returns the files below a directory.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func firstDifference(one, two []byte) string {
	for i := range min(len(one), len(two)) {
		if one[i] != two[i] {
			return fmt.Sprintf("byte %d is %#x and %#x", i, one[i], two[i])
		}
	}
	return fmt.Sprintf("%d and %d bytes", len(one), len(two))
}
