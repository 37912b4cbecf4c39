//go:build !unix

package doctor

import (
	"os"
	"path/filepath"
	"strings"
)

// isOurs reports whether a file is really below this user's home directory. Elsewhere other users
// may be able to write, which is not checked here.
func isOurs(path string) bool {
	home, err := os.UserHomeDir()
	if err == nil {
		home, err = filepath.EvalSymlinks(home)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	return err == nil && path != home && within(path, home)
}

// within reports whether a directory is outer or inside it.
func within(dir, outer string) bool {
	way, err := filepath.Rel(outer, dir)
	return err == nil && way != ".." && !strings.HasPrefix(way, ".."+string(filepath.Separator))
}
