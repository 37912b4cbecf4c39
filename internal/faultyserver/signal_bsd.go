//go:build unix && !linux

package faultyserver

import "syscall"

// defaultEffect does nothing here: SEGV, ABRT and BUS end in the Go runtime's own crash.
func defaultEffect(syscall.Signal) {}
