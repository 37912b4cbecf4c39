package files

import (
	"errors"
	"os"
)

// ErrLocked means that another process has the lock.
var ErrLocked = errors.New("locked")

// TryLock locks f for this process alone, or returns ErrLocked. The system releases a lock when its
// process ends. On Windows, a lock must be released before it can be changed.
func TryLock(f *os.File) error { return tryLock(f, true) }

// TryRLock locks f together with other readers, or returns ErrLocked.
func TryRLock(f *os.File) error { return tryLock(f, false) }
