// Package filelock locks files between processes. The system releases a lock when its process ends.
package filelock

import "errors"

// ErrLocked means that a different process has the lock.
var ErrLocked = errors.New("locked")
