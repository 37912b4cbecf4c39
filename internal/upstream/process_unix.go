//go:build unix

package upstream

import (
	"os/exec"
	"syscall"
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

// terminate asks. A stopped process would keep SIGTERM pending for ever, so it
// is continued, but only then: the other way round it would go on for a moment
// and read what it was sent while it was stopped.
func (g *group) terminate() {
	syscall.Kill(-g.id, syscall.SIGTERM)
	syscall.Kill(-g.id, syscall.SIGCONT)
}

// kill does not ask. The group's id stays ours as long as one member lives or
// the leader is not reaped; a group that is gone is no error.
func (g *group) kill() { syscall.Kill(-g.id, syscall.SIGKILL) }
