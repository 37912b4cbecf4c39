//go:build unix

package live

import "syscall"

// isRunning reports whether a process with this number runs. It may be a different one.
func isRunning(pid int) bool { return pid > 0 && syscall.Kill(pid, 0) != syscall.ESRCH }
