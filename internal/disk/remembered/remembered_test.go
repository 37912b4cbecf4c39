package remembered

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestAShelfKeepsTheLastWord(t *testing.T) {
	state := t.TempDir()
	s := In(state)
	if s.Get("a") != nil {
		t.Error("an empty shelf has something")
	}
	s.Put("a", []byte(`1`))
	s.Put("b", []byte(`2`))
	s.Put("a", []byte(`3`))
	for whose, want := range map[string]string{"a": "3", "b": "2", "c": ""} {
		if got := string(In(state).Get(whose)); got != want {
			t.Errorf("%s: %q, want %q", whose, got, want)
		}
	}
}

// Neither a name nor a mode reveals whose server it is.
func TestAShelfRevealsNothing(t *testing.T) {
	const secret = "sk-canary-0123456789"
	state, other := t.TempDir(), t.TempDir()
	In(state).Put(secret, []byte(`{}`))
	In(other).Put(secret, []byte(`{}`))
	names := func(state string) (all []string) {
		files, err := filepath.Glob(filepath.Join(state, "servers", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if mode := info.Mode().Perm(); mode != 0o600 && runtime.GOOS != "windows" {
				t.Errorf("%s has mode %o", file, mode)
			}
			all = append(all, filepath.Base(file))
		}
		return all
	}
	a, b := names(state), names(other)
	if len(a) != 1 || len(b) != 1 || a[0] == b[0] || strings.Contains(a[0], "canary") {
		t.Errorf("%q and %q", a, b)
	}
}

func TestAShelfIsBounded(t *testing.T) {
	s := In(t.TempDir())
	s.Put("large", bytes.Repeat([]byte("x"), maxBytes+1))
	if s.Get("large") != nil {
		t.Error("a file that is too large was kept")
	}
	for i := range maxServers + 20 {
		s.Put(fmt.Sprint(i), []byte("1"))
	}
	files, err := filepath.Glob(filepath.Join(s.dir, "*.json"))
	if err != nil || len(files) != maxServers {
		t.Errorf("%d files, %v", len(files), err)
	}
	if s.Get(fmt.Sprint(maxServers+19)) == nil {
		t.Error("the last one is gone")
	}
}

// Sessions that begin at the same time agree on the key.
func TestAShelfIsShared(t *testing.T) {
	state := t.TempDir()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { In(state).Put(fmt.Sprint(i), []byte(fmt.Sprint(i))) })
	}
	all.Wait()
	for i := range 20 {
		if got := string(In(state).Get(fmt.Sprint(i))); got != fmt.Sprint(i) {
			t.Errorf("%d: %q", i, got)
		}
	}
	left, err := filepath.Glob(filepath.Join(state, "servers", ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}
