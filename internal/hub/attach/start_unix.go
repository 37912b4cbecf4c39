//go:build unix

package attach

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// detached gives a process a session of its own: signals to the client's group do not reach it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func startDetached(cmd *exec.Cmd) error { return cmd.Start() }

// keepFiles keeps the files that a client left open from the processes that this one starts: a client
// may wait until nothing has its pipe open.
func keepFiles() {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
