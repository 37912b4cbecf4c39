//go:build unix

package faultyserver

import (
	"os"
	"runtime"
	"syscall"
)

// diedBy reports whether the process died by the signal of this name. On systems other than Linux
// some of them show as the Go runtime's own crash, so any death counts.
func diedBy(state *os.ProcessState, name string) bool {
	status := state.Sys().(syscall.WaitStatus)
	if name != "KILL" && name != "TERM" && runtime.GOOS != "linux" {
		return !state.Success()
	}
	return status.Signaled() && status.Signal() == signals[name]
}
