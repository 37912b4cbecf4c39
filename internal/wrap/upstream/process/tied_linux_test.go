package process

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// A blocked system call for each server would take a thread, and at the start of gauze the processor
// that has to read the server's first response.
func TestWaitingForAServerTakesNoThread(t *testing.T) {
	const servers = 40
	before := threads(t)
	for range servers {
		_, out := startScript(t, `echo started; read -r line`)
		if _, err := out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if more := threads(t) - before; more > servers/2 {
		t.Errorf("%d servers took %d threads", servers, more)
	}
}

// A server may exit before the wait for it begins, and the poller reports that once: it must not be missed.
func TestAnExitBeforeTheWaitIsNoticed(t *testing.T) {
	cmd := exec.Command("true")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	io.Copy(io.Discard, out) // until it exits
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 500 {
				untilExit(cmd.Process.Pid)
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-patience.Context(t).Done():
		t.Fatal("a wait for a process that has exited does not end")
	}
}

// threads returns how many threads this process has.
func threads(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
