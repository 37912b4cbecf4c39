//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is a process group led by the server.
type group struct{ id int }

func (g *group) prepare(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return nil
}

func (g *group) adopt(cmd *exec.Cmd) error {
	g.id = cmd.Process.Pid
	return nil
}

// terminate sends SIGTERM. A stopped process would keep it pending indefinitely, so SIGCONT
// follows. In the opposite order the process would run for a moment and read what it was sent while
// stopped.
func (g *group) terminate() {
	syscall.Kill(-g.id, syscall.SIGTERM)
	syscall.Kill(-g.id, syscall.SIGCONT)
}

// kill sends SIGKILL. The group's id is not reused while a member runs or the leader is not reaped;
// a group that is gone is not an error.
func (g *group) kill() { syscall.Kill(-g.id, syscall.SIGKILL) }

// running reports whether a process of the group runs, once its leader was reaped.
func (g *group) running() bool { return syscall.Kill(-g.id, 0) == nil && !g.gone() }

// signalOf returns the name of the signal that ended a process, or "".
func signalOf(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return unix.SignalName(status.Signal())
	}
	return ""
}
