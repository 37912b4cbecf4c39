package process

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// A server that is killed below its launcher is seen before the launcher has
// noticed: between kill(2) and its end it may still read its stdin.
func TestFamilySeesAKilledServerBelowItsLauncher(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", "sleep 1000; exec sleep 1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g := &group{id: cmd.Process.Pid}
	t.Cleanup(func() { g.kill(); cmd.Wait() })
	var f family
	counted := func() []int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.pids
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for limit := time.After(patience.Limit()); len(counted()) < 2; {
		select {
		case <-look.C:
			f.mu.Lock()
			f.pids = nil // until the shell has started its child
			f.mu.Unlock()
			if f.dying(g) {
				t.Fatal("nothing was killed yet")
			}
		case <-limit:
			t.Fatal("the shell never started its child")
		}
		for counting := true; counting; {
			f.mu.Lock()
			counting = f.counting
			f.mu.Unlock()
		}
	}
	if f.dying(g) {
		t.Error("a healthy group looks as if it were dying")
	}
	for _, pid := range counted() {
		if pid != cmd.Process.Pid {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if !f.dying(g) {
		t.Error("the killed process was not seen")
	}
}
