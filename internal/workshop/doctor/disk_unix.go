//go:build unix

package doctor

import "golang.org/x/sys/unix"

// freeBytes returns the space that this user may still use on the disk of a directory.
func freeBytes(dir string) (free uint64, ok bool) {
	var stat unix.Statfs_t
	const readOnly = 1 // ST_RDONLY and MNT_RDONLY
	if dir == "" || unix.Statfs(dir, &stat) != nil || stat.Blocks == 0 || stat.Flags&readOnly != 0 {
		return 0, false // /proc and the like have no blocks, and an image (a snap, an AppImage) never has free ones
	}
	return uint64(stat.Bavail) * uint64(stat.Bsize), true
}
