package upstream

import (
	"os/exec"
	"runtime"
	"sync"
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
	starter() <- func() { done <- cmd.Start() }
	return <-done
}

var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})
