package faultyserver

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// unreadBytes returns the number of bytes in the pipe that were not read.
func unreadBytes(t *testing.T, r *os.File) (n int32) {
	t.Helper()
	const fionread = 0x541B
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, r.Fd(), fionread, uintptr(unsafe.Pointer(&n))); errno != 0 {
		t.Fatal(errno)
	}
	return n
}
