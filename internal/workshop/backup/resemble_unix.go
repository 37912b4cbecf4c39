//go:build unix

package backup

import (
	"io/fs"
	"os"
	"syscall"
)

// resemble gives the new file the owner, the ACL and the other attributes of the one it replaces.
// The caller sets the mode afterwards, because a new owner and an ACL change it.
func resemble(f *os.File, original string, info fs.FileInfo) error {
	made, err := f.Stat()
	if err != nil {
		return err
	}
	is, _ := made.Sys().(*syscall.Stat_t)
	was, _ := info.Sys().(*syscall.Stat_t)
	if is != nil && was != nil && (is.Uid != was.Uid || is.Gid != was.Gid) {
		if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return err
		}
	}
	return copyAttributes(f, original)
}

// names returns the number of hard links of a file.
func names(f *os.File) uint64 {
	info, err := f.Stat()
	if err != nil {
		return 1
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}
