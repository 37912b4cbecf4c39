package main

import "os"

// end kills a process; freeze cannot be had, so it ends it, too; isGone tells
// whether it can still be opened.
func end(pid int) {
	if process, err := os.FindProcess(pid); err == nil {
		process.Kill()
	}
}

func freeze(pid int) { end(pid) }

func isGone(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	process.Release()
	return false
}
