//go:build unix && !linux

package faultyserver

import "syscall"

// defaultEffect does nothing: SEGV, ABRT and BUS cause the Go runtime's own crash.
func defaultEffect(syscall.Signal) {}
