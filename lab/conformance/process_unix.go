//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

func leadGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func ask(cmd *exec.Cmd) { cmd.Process.Signal(syscall.SIGTERM) }

func killAll(cmd *exec.Cmd) {
	if cmd.SysProcAttr != nil && cmd.SysProcAttr.Setpgid {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	cmd.Process.Kill()
}
