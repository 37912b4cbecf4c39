//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuOfChildren returns the CPU time of all processes that ended below this one.
func cpuOfChildren() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// dump makes the processes of a group print their stacks and end.
func dump(group int) { syscall.Kill(-group, syscall.SIGQUIT) }

// ownGroup makes a command the leader of a new process group.
var ownGroup = &syscall.SysProcAttr{Setpgid: true}
