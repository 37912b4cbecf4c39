package doctor

import "golang.org/x/sys/unix"

// mountedNoExec reports whether programs may not be started from the disk of a file.
func mountedNoExec(path string) bool {
	var stat unix.Statfs_t
	return unix.Statfs(path, &stat) == nil && stat.Flags&unix.ST_NOEXEC != 0
}
