//go:build linux

package realtest

import (
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// child is a process the test itself started: a server at a URL, or gauze serve. It never outlives the test, not even
// one that panics.
type child struct {
	cmd   *exec.Cmd
	said  *stderrText
	ended chan struct{}
}

// births are done by one thread that lives as long as the tests: a death signal is sent when the thread that asked for
// it ends, not when its process does.
var births = sync.OnceValue(func() chan<- func() {
	wanted := make(chan func())
	go func() {
		runtime.LockOSThread()
		for birth := range wanted {
			birth()
		}
	}()
	return wanted
})

// start starts a child and waits until it says on stderr that it is ready.
func start(t *testing.T, argv, env []string, ready string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(argv[0], argv[1:]...), said: stderrOf(t), ended: make(chan struct{})}
	c.cmd.Env = env
	c.cmd.Stdout, c.cmd.Stderr = c.said, c.said
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.cmd.WaitDelay = stopPatience // what it started may hold its stderr
	started := make(chan error)
	births() <- func() { started <- c.cmd.Start() }
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait() // its state tells
		close(c.ended)
	}()
	t.Cleanup(c.kill)
	c.wait(t, ready)
	return c
}

// wait returns the line that the child says a text in.
func (c *child) wait(t *testing.T, text string) string {
	t.Helper()
	patience := time.After(testPatience)
	for {
		if line, ok := c.said.line(text); ok {
			return line
		}
		select {
		case <-c.said.grown:
		case <-c.ended:
			t.Fatalf("%s ended (%v) and never said %q", c, c.cmd.ProcessState, text)
		case <-patience:
			t.Fatalf("%s does not say %q", c, text)
		}
	}
}

// kill ends it by SIGKILL, if it still runs, and waits for its end: its port is free then.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may be dead already
	<-c.ended
}

func (c *child) pid() int       { return c.cmd.Process.Pid }
func (c *child) String() string { return strings.Join(c.cmd.Args, " ") }
