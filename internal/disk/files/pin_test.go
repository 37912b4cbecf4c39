package files

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAPinnedIdentityIsThatOfTheFileThatWasThere(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, name := range []string{path, other} {
		if err := os.WriteFile(name, []byte("same"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, err := Pin(os.Lstat(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Lstat(path); err != nil || os.SameFile(before, after) {
		t.Error("the file that replaced it counts as the same", err)
	}
}

func TestAFileIsTheSameAsItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := Pin(os.Lstat(path))
	if err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(before, now) {
		t.Error("it is a different one", err)
	}
}

func TestAMissingFileHasNoIdentity(t *testing.T) {
	if info, err := Pin(os.Lstat(filepath.Join(t.TempDir(), "none"))); info != nil || !os.IsNotExist(err) {
		t.Errorf("%v, %v", info, err)
	}
}
