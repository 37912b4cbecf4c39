package files

import (
	"context"
	"errors"
	"os"
)

// ErrLocked means that another process has the lock.
var ErrLocked = errors.New("locked")

// TryLock locks f for this process alone, or returns ErrLocked. The system releases a lock when its
// process ends. On Windows, a lock must be released before it can be changed.
func TryLock(f *os.File) error { return lock(f, true, false) }

// TryRLock locks f together with other readers, or returns ErrLocked.
func TryRLock(f *os.File) error { return lock(f, false, false) }

// OpenLocked opens a file, which it creates if needed, and locks it for this process alone until the
// file is closed. It waits for other processes that have locked it, until ctx ends.
func OpenLocked(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	locked := make(chan error, 1)
	go func() { locked <- lock(f, true, true) }()
	select {
	case err = <-locked:
	case <-ctx.Done():
		err = context.Cause(ctx)
		go func() { // the system call cannot be interrupted
			<-locked
			f.Close()
		}()
		return nil, err
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
