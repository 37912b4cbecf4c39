//go:build unix

package upstream

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// A guard outlives us if we are killed, ends the group we left behind, and is
// gone itself. It is a shell that waits on a pipe only we hold: each line
// names the group to end, an empty one none; when the pipe closes without us
// having said so, it acts. A death signal set at fork would reach only the
// leader (npx), not the server below it, and is tied to the forking thread.
type guard struct {
	cmd  *exec.Cmd
	pipe *os.File
}

// No `--` before the group: dash, the /bin/sh of Debian, takes it for a number.
const guardScript = `g=; while read -r line; do g=$line; done; ` +
	`[ -n "$g" ] && { kill -CONT "-$g"; kill -TERM "-$g"; sleep 1; kill -KILL "-$g"; } 2>/dev/null`

// arm starts the guard, before there is anything to watch: a server that is
// started first would be left behind if we were killed in between. A machine
// without a shell has no guard; the server then still sees its stdin close.
func (g *guard) arm() {
	if g.cmd != nil {
		return
	}
	read, write, err := os.Pipe()
	if err != nil {
		return
	}
	cmd := exec.Command("/bin/sh", "-c", guardScript, "process-guard")
	cmd.Stdin = read
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a signal to our group is not for it
	err = cmd.Start()
	read.Close()
	if err != nil {
		write.Close()
		return
	}
	g.cmd, g.pipe = cmd, write
}

// watch tells the guard which group is alive.
func (g *guard) watch(group int) {
	if g.cmd != nil {
		fmt.Fprintf(g.pipe, "%d\n", group)
	}
}

// release: the group is gone, there is nothing left to end.
func (g *guard) release() {
	if g.cmd != nil {
		fmt.Fprintln(g.pipe)
	}
}

func (g *guard) close() {
	if g.cmd != nil {
		g.pipe.Close()
		g.cmd.Wait()
		g.cmd = nil
	}
}

func (p *process) guardedBy(g *guard) { g.watch(p.group.id) }
