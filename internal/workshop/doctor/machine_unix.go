//go:build unix

package doctor

import (
	"os/exec"
	"syscall"
	"time"
)

// mercy is how long programs that were asked to end may take to clean up.
const mercy = 2 * time.Second

// detach gives a command its own process group: a login shell may start other processes.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// end asks a command and what it has started to end, and kills what is left some time later. A login shell
// that is killed may leave a lock: with that of pyenv rehash, every terminal that the user opens later
// waits for a minute.
func end(cmd *exec.Cmd) {
	group := -cmd.Process.Pid
	syscall.Kill(group, syscall.SIGTERM)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for late := time.After(mercy); syscall.Kill(group, 0) == nil; {
		select {
		case <-again.C:
		case <-late:
			syscall.Kill(group, syscall.SIGKILL)
			return
		}
	}
}
