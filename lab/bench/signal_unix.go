//go:build unix

package main

import "syscall"

// killProcess kills a process, suspendProcess stops it, isGone reports whether it was reaped.
func killProcess(pid int)    { syscall.Kill(pid, syscall.SIGKILL) }
func suspendProcess(pid int) { syscall.Kill(pid, syscall.SIGSTOP) }
func isGone(pid int) bool    { return syscall.Kill(pid, 0) == syscall.ESRCH }
