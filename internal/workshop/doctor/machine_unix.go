//go:build unix

package doctor

import (
	"os/exec"
	"syscall"
	"time"
)

// mercy is how long a program that was asked to end may take to clean up.
const mercy = 5 * time.Second

// detach gives a command its own process group: a login shell may start other processes.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// end asks a command and what it has started to end, and kills them only after some time. A login shell
// that is killed may leave a lock: with that of pyenv rehash, every terminal that the user opens later
// waits for a minute.
func end(cmd *exec.Cmd, ended <-chan error) {
	syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(mercy):
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
