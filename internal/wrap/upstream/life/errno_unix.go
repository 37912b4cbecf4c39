//go:build unix

package life

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// Errno returns the name of the system error in err, as in manuals and in C and JavaScript
// programs, or "".
func Errno(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return unix.ErrnoName(number)
	}
	return errnoOfKind(err)
}
