package upstream

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startTied starts a command that gets SIGTERM if gauze is killed. The guard does that for the
// whole group, but learns of the group only once it runs.
//
// The signal is sent when the thread that forked ends, so all servers are started by one thread
// that never ends.
func startTied(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	done := make(chan error)
	starts <- func() { done <- cmd.Start() }
	return <-done
}

// starts passes work to the thread that starts servers.
var starts = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}
