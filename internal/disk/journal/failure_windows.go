package journal

import "golang.org/x/sys/windows"

// fullErrors are what Windows reports when a disk has no space or its user's share is used up.
var fullErrors = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}

// errReadOnly is what Windows reports for a disk that cannot be written.
const errReadOnly = windows.ERROR_WRITE_PROTECT
