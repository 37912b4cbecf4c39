package files

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock locks f alone or shared. If another process has it locked, lock waits or returns ErrLocked.
func lock(f *os.File, alone, wait bool) error {
	how := uint32(0)
	if !wait {
		how |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	if alone {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return os.NewSyscallError("LockFileEx", err)
}

// Unlock releases the lock.
func Unlock(f *os.File) { windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{}) }
