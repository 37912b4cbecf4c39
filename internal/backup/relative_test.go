package backup

import (
	"path/filepath"
	"testing"
)

func TestARelativeStateDirectoryIsInTheWorkingDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("GAUZE_STATE_DIR", "state")
	want, err := filepath.Abs("state")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := StateDir(); err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
