package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/hub/attach"
)

// stateNames are what gauze makes in its state directory. What has one of these names and a suffix after
// a dot is gauze's too.
var stateNames = []string{
	"backups", "calls", "dashboards", "dashboard-token", "latest-release.json", "live", "lock.key", "logins", "seen", "serve-token", "servers", "tasks", attach.DirName,
	journal.FileName,
}

// isOfState reports whether gauze makes a file of this name in its state directory.
func isOfState(name string) bool {
	return slices.ContainsFunc(stateNames, func(made string) bool {
		return name == made || strings.HasPrefix(name, made+".") || strings.HasPrefix(name, files.Unfinished+made+"-")
	})
}

// remove deletes a file or a directory. It deletes the state directory itself only if nothing else is in
// it, and does not follow a symbolic link.
func (r remnant) remove() error {
	if !r.state {
		err := os.RemoveAll(r.path)
		for range r.above {
			r.path = filepath.Dir(r.path)
			_ = os.Remove(r.path) // unless something else is in it
		}
		return err
	}
	if isLink(r.path) {
		return fs.ErrInvalid
	}
	entries, err := os.ReadDir(r.path)
	if err != nil {
		return err
	}
	kept := false
	for _, e := range entries {
		if !isOfState(e.Name()) {
			kept = true
		} else if err := os.RemoveAll(filepath.Join(r.path, e.Name())); err != nil {
			return err
		}
	}
	if kept {
		return nil
	}
	return os.Remove(r.path)
}

// isLink reports whether a path is a symbolic link.
func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// sameFile reports whether two paths are of the same file.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(one, other)
}
