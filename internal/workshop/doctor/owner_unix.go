//go:build unix

package doctor

import (
	"os"
	"syscall"
)

// isOurs reports whether only this user or the system could have written a file. What another user
// can write is neither run nor trusted.
func isOurs(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	if info.Mode()&os.ModeSymlink != 0 { // the link's owner decided where it leads
		return ownedByUs(info)
	}
	return ownedByUs(info) && info.Mode().Perm()&0o022 == 0
}

func ownedByUs(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Getuid())
}
