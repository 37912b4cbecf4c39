//go:build !unix

package doctor

import (
	"os"
	"path/filepath"
	"strings"
)

// isOurs tells whether a file is really below the home folder of this user:
// elsewhere many may write, and whether they may is not known here.
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

// within reports whether a folder is outer or inside of it.
func within(dir, outer string) bool {
	way, err := filepath.Rel(outer, dir)
	return err == nil && way != ".." && !strings.HasPrefix(way, ".."+string(filepath.Separator))
}
