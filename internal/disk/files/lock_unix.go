//go:build unix

package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock locks f alone or shared. If another process has it locked, lock waits or returns ErrLocked.
func lock(f *os.File, alone, wait bool) error {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		}
		return os.NewSyscallError("flock", err)
	}
}

// Unlock releases the lock.
func Unlock(f *os.File) { unix.Flock(int(f.Fd()), unix.LOCK_UN) }
