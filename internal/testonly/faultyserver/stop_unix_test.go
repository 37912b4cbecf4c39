//go:build unix

package faultyserver

import (
	"syscall"
	"testing"
)

func TestStoppedServerAnswersWhenContinued(t *testing.T) {
	p := greeted(t, "")
	p.write(toolCall("1", "stop", ""))
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("not stopped: %v, %v", status, err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.want(`"id":1`, "continued")
}
