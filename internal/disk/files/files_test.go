package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// content returns what a directory has, by name.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

func TestAFileIsReplacedAndNothingElseIsLeft(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("n", 200)
	for _, name := range []string{"a", long} {
		path := filepath.Join(dir, name)
		if err := errors.Join(Replace(path, []byte("one")), Swap(path, []byte("two"))); err != nil {
			t.Fatal(err)
		}
	}
	if all := content(t, dir); len(all) != 2 || all["a"] != "two" || all[long] != "two" {
		t.Errorf("%v", all)
	}
	if info, err := os.Stat(filepath.Join(dir, "a")); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestAFailureLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if Replace(filepath.Join(dir, "a"), nil) == nil || Replace(filepath.Join(dir, "none", "a"), nil) == nil {
		t.Error("no error")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, Unfinished+"*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Of many that create the same file, one succeeds, and nobody sees half of it.
func TestAFileIsCreatedOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	created := make(chan string, 10)
	var all sync.WaitGroup
	for _, r := range "0123456789" {
		all.Go(func() {
			switch err := Create(path, []byte(strings.Repeat(string(r), 1000))); {
			case err == nil:
				created <- string(r)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(created) != 1 {
		t.Fatalf("%d created it", len(created))
	}
	if got := content(t, dir); len(got) != 1 || got["key"] != strings.Repeat(<-created, 1000) {
		t.Errorf("%v", got)
	}
}

func TestWhatAKilledProcessLeftIsRemoved(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{Unfinished + "a-1", Unfinished + "b-1", "a"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	RemoveUnfinished(filepath.Join(dir, "a"))
	if all := content(t, dir); len(all) != 2 {
		t.Errorf("%v", all)
	}
}
