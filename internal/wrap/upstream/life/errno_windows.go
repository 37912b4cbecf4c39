package life

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// Errno returns the name of the system error in err, or "". Windows has numbers of its own; those
// that matter get their common names.
func Errno(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		if name := errnoNames[number]; name != "" {
			return name
		}
	}
	return errnoOfKind(err)
}

var errnoNames = map[syscall.Errno]string{
	windows.ERROR_FILE_NOT_FOUND:            "ENOENT",
	windows.ERROR_PATH_NOT_FOUND:            "ENOENT",
	windows.ERROR_ACCESS_DENIED:             "EACCES",
	windows.ERROR_ELEVATION_REQUIRED:        "EACCES",
	windows.ERROR_BAD_EXE_FORMAT:            "ENOEXEC",
	syscall.ENOEXEC:                         "ENOEXEC",
	windows.ERROR_EXE_MACHINE_TYPE_MISMATCH: "EBADARCH",
	windows.ERROR_FILENAME_EXCED_RANGE:      "ENAMETOOLONG",
	windows.ERROR_NOT_ENOUGH_MEMORY:         "ENOMEM",
	windows.ERROR_SHARING_VIOLATION:         "EBUSY",
	syscall.ECONNREFUSED:                    "ECONNREFUSED", // Go's own number
	windows.WSAECONNREFUSED:                 "ECONNREFUSED",
	windows.WSAECONNRESET:                   "ECONNRESET",
	windows.WSAETIMEDOUT:                    "ETIMEDOUT",
	windows.WSAENETUNREACH:                  "ENETUNREACH",
	windows.WSAEHOSTUNREACH:                 "EHOSTUNREACH",
}
