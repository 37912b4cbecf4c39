//go:build unix

package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// A Guard outlives gauze if gauze is killed, ends the process group that was left, and exits. It is
// a shell that reads from a pipe that only gauze holds: each line names the group to end, an empty
// line none. When the pipe is closed while a group is named, it acts. A parent death signal would
// reach only the leader (npx), not the server below it, and is tied to the thread that forked.
type Guard struct {
	cmd  *exec.Cmd
	pipe *os.File
}

// guardScript has no `--` before the group: dash, the /bin/sh of Debian, parses it as a number.
const guardScript = `g=; while read -r line; do g=$line; done; ` +
	`[ -n "$g" ] && { kill -CONT "-$g"; kill -TERM "-$g"; sleep 1; kill -KILL "-$g"; } 2>/dev/null`

// arm starts the guard before there is anything to watch: a server that is started first would be
// left if gauze were killed in between. A machine without a shell has no guard; the server then
// still sees its stdin close.
func (g *Guard) arm() {
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it must not get signals to gauze's group
	err = cmd.Start()
	read.Close()
	if err != nil {
		write.Close()
		return
	}
	g.cmd, g.pipe = cmd, write
}

// watch tells the guard which group is running.
func (g *Guard) watch(group int) {
	if g.cmd != nil {
		fmt.Fprintf(g.pipe, "%d\n", group)
	}
}

// release tells the guard that the group is gone.
func (g *Guard) release() {
	if g.cmd != nil {
		fmt.Fprintln(g.pipe)
	}
}

// Close ends the guard.
func (g *Guard) Close() {
	if g.cmd != nil {
		g.pipe.Close()
		g.cmd.Wait()
		g.cmd = nil
	}
}

func (p *process) guardedBy(g *Guard) { g.watch(p.group.id) }
