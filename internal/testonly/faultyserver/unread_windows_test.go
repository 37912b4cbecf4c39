package faultyserver

import (
	"os"
	"testing"
	"unsafe"
)

// unreadBytes returns the number of bytes in the pipe that were not read.
func unreadBytes(t *testing.T, r *os.File) (n int32) {
	t.Helper()
	peek := kernel32.NewProc("PeekNamedPipe")
	if ok, _, err := peek.Call(r.Fd(), 0, 0, 0, uintptr(unsafe.Pointer(&n)), 0); ok == 0 {
		t.Fatal(err)
	}
	return n
}
