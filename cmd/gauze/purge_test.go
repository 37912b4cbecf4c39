package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestUninstallPurgesOnlyWhatGauzeMakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := filepath.Join(dir, "gauze")
	for _, name := range []string{"backups/1/old", "journal.db", "journal.db.heads", "serve-token", "notes/mine.txt", "bin/gauze"} {
		file := filepath.Join(state, filepath.FromSlash(name))
		os.MkdirAll(filepath.Dir(file), 0o755)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(state, link); err == nil { // Windows may not let a user make one
		if err := (remnant{path: link, state: true}).remove(); err == nil {
			t.Error("a link was followed")
		}
	}
	if _, err := os.Stat(filepath.Join(state, "journal.db")); err != nil {
		t.Error(err)
	}
	if err := (remnant{path: state, state: true}).remove(); err != nil {
		t.Error(err)
	}
	left, _ := filepath.Glob(filepath.Join(state, "*", "*"))
	all, _ := os.ReadDir(state)
	if len(left) != 2 || len(all) != 2 {
		t.Errorf("left: %q, %v", left, all)
	}
	os.RemoveAll(filepath.Join(state, "notes"))
	os.RemoveAll(filepath.Join(state, "bin"))
	if err := (remnant{path: state, state: true}).remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(state); err == nil {
		t.Error("an empty directory stays")
	}
}
