//go:build unix

package upgrade

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file the owner of the one it replaces: root may upgrade the program of a user.
// Others cannot, and keep their own.
func keepOwner(f *os.File, like fs.FileInfo) {
	if was, ok := like.Sys().(*syscall.Stat_t); ok {
		f.Chown(int(was.Uid), int(was.Gid))
	}
}
