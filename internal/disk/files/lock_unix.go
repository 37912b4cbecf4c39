//go:build unix

package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks f alone or shared, or returns ErrLocked.
func tryLock(f *os.File, alone bool) error {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
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
