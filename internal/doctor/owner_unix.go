//go:build unix

package doctor

import (
	"os"
	"syscall"
)

// isOurs tells whether nobody but us, or the system, could have put a file
// there: what another user can write is not run and not believed.
func isOurs(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	if info.Mode()&os.ModeSymlink != 0 { // whose it is says who made it lead there
		return ownedByUs(info)
	}
	return ownedByUs(info) && info.Mode().Perm()&0o022 == 0
}

func ownedByUs(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Getuid())
}
