package faultyserver

import (
	"syscall"
	"unsafe"
)

// defaultEffect removes the handler that the Go runtime installed: the zero sigaction is SIG_DFL
// with no flags and an empty mask.
func defaultEffect(sig syscall.Signal) {
	var zero [4]uint64
	const maskBytes = 8
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&zero)), 0, maskBytes, 0, 0)
}
