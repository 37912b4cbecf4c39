//go:build unix

package probe

// countsCPU reports whether this system counts the CPU time of servers.
func countsCPU() bool { return true }
