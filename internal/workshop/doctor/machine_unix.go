//go:build unix

package doctor

import (
	"os/exec"
	"syscall"
)

// killTreeOnCancel puts a command into its own process group and kills the whole group at the
// deadline: a login shell may have started other processes.
func killTreeOnCancel(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
