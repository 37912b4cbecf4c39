package main

import "os"

// killProcess kills a process. suspendProcess also kills it, because Windows cannot stop a process.
// isGone reports whether it can no longer be opened.
func killProcess(pid int) {
	if process, err := os.FindProcess(pid); err == nil {
		process.Kill()
	}
}

func suspendProcess(pid int) { killProcess(pid) }

func isGone(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	process.Release()
	return false
}
