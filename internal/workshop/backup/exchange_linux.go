package backup

import "golang.org/x/sys/unix"

// exchange swaps two files in one step. Some file systems cannot.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
