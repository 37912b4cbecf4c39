//go:build unix

package journal

import "syscall"

// fullErrors are what the system reports when a disk has no space or its user's share is used up.
var fullErrors = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

// errReadOnly is what the system reports for a disk that cannot be written.
const errReadOnly = syscall.EROFS
