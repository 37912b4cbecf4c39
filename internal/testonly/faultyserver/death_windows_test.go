package faultyserver

import "os"

// diedBy reports whether the process ended with the exit code that Windows reports for this death.
func diedBy(state *os.ProcessState, name string) bool {
	return uint32(state.ExitCode()) == signals[name]
}
