package demo

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

func TestAChildHasStoppedOnlyOnceItHas(t *testing.T) {
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Process.Kill(); child.Wait() })
	if stopped(child.Process.Pid) {
		t.Error("a running child has stopped")
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience.Limit()); !stopped(child.Process.Pid); {
		if time.Now().After(end) {
			t.Fatal("a child that was stopped has not")
		}
	}
	if !stopped(child.Process.Pid) {
		t.Error("asked again, it has not stopped")
	}
}
