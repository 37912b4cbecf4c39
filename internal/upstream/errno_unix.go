//go:build unix

package upstream

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Errno is the name of the system's error inside of err, as manuals and
// programs in C and JavaScript spell it; empty if there is none.
func Errno(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return unix.ErrnoName(number)
	}
	return errnoOfKind(err)
}

// signalOf is the name of the signal that ended a process.
func signalOf(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return unix.SignalName(status.Signal())
	}
	return ""
}
