//go:build unix

package faultyserver

import (
	"os"
	"runtime"
	"syscall"
)

// diedBy reports whether the process died by the signal of this name. Other systems than Linux
// show the Go runtime's own crash for some of them, which can be any.
func diedBy(state *os.ProcessState, name string) bool {
	status := state.Sys().(syscall.WaitStatus)
	if name != "KILL" && name != "TERM" && runtime.GOOS != "linux" {
		return !state.Success()
	}
	return status.Signaled() && status.Signal() == signals[name]
}
