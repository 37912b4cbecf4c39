//go:build unix

package upstream

// countsCPU reports whether this system counts the CPU time of servers.
func countsCPU() bool { return true }
