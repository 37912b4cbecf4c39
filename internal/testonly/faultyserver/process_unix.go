//go:build unix

package faultyserver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Suspend sends SIGSTOP and returns when every thread of the process is stopped. Without procfs it
// returns immediately.
func Suspend(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil || pid == os.Getpid() {
		return err
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for Running(pid) && !stopped(pid) {
		<-look.C
	}
	return nil
}

// Resume continues a suspended process.
func Resume(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }

// Running reports whether a process exists and is not a zombie.
func Running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	state := stateIn(fmt.Sprintf("/proc/%d/stat", pid))
	if state == 0 {
		return !procfs()
	}
	return state != 'Z' && state != 'X'
}

func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		if state := stateIn(thread); state != 0 && state != 'T' {
			return false
		}
	}
	return len(threads) > 0 || !procfs()
}

// stateIn returns the state in a stat file of procfs, or 0.
func stateIn(stat string) byte {
	text, err := os.ReadFile(stat)
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) == 0 {
		return 0
	}
	return fields[0][0]
}

func procfs() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}
