//go:build unix

package main

import "syscall"

// end kills a process, freeze stops it, isGone reports whether it was reaped.
func end(pid int)         { syscall.Kill(pid, syscall.SIGKILL) }
func freeze(pid int)      { syscall.Kill(pid, syscall.SIGSTOP) }
func isGone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }
