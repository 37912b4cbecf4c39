package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestOnlyTheSameSourceIsNotLookedAtAgain(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir()) // where the caches of other systems are
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	source, found := source{"a test", []string{"lab"}}, error(nil)
	looked := func() bool {
		t.Helper()
		did := false
		err := source.unlessAccepted(t.Context(), io.Discard, func() error { did = true; return found })
		if did && !errors.Is(err, found) || !did && err != nil {
			t.Fatal(err)
		}
		return did
	}
	expect := func(after string, want bool) {
		t.Helper()
		if did := looked(); did != want {
			t.Errorf("after %s: looked %v, want %v", after, did, want)
		}
	}

	write("a.go", "package a")
	write("README.md", "text")
	write("lab/b.go", "package b")
	expect("the start", true)
	expect("nothing", false)
	write("README.md", "other text")
	expect("a change of a document", false)
	write("lab/b.go", "package c")
	expect("a change in a folder that is not read", false)
	write("docs/new.md", "")
	expect("a new file, which a pattern may embed", true)
	for _, name := range []string{"a.go", "go.mod", "go.sum", "staticcheck.conf"} {
		write(name, "// changed")
		expect("a change of "+name, true)
		expect("nothing", false)
	}
	t.Setenv("CGO_ENABLED", "1")
	t.Setenv("GOFLAGS", "-tags=other")
	expect("a change of Go's settings", true)
	source.check = "another test"
	expect("a check of a different name", true)

	write("a.go", "package wrong")
	found = errors.New("something is wrong")
	expect("a fault", true)
	expect("the same fault", true)
	found = nil
	expect("a fault that is gone", true)
	expect("nothing", false)

	write("a.go", "package again")
	err := source.unlessAccepted(t.Context(), io.Discard, func() error { write("a.go", "package edited"); return nil })
	if err != nil {
		t.Fatal(err)
	}
	expect("an edit while it was looked at", true)
}
