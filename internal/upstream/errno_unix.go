//go:build unix

package upstream

import (
	"errors"
	"os"
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

// signalOf returns the name of the signal that ended a process, or "".
func signalOf(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return unix.SignalName(status.Signal())
	}
	return ""
}
