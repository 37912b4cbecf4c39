//go:build unix

package doctor

import (
	"os/exec"
	"syscall"
)

// alone puts a question's process into a group of its own and ends the whole
// group at the deadline: a login shell may have started others.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
