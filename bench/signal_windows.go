package main

import "os"

// end kills a process. freeze also kills it, because Windows cannot stop a process. isGone reports
// whether it can no longer be opened.
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
