package upstream

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startTied starts a command that gets SIGTERM if we vanish. The guard does
// that for the whole group, but hears of the group only once it runs.
//
// The signal comes when the thread that forked ends, so all servers are
// started by one thread, which never does.
func startTied(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	done := make(chan error)
	starts <- func() { done <- cmd.Start() }
	return <-done
}

// starts is the work of the thread that starts servers.
var starts = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}
