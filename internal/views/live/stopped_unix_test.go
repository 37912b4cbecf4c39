//go:build unix

package live_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

func TestAStoppedWrapIsSilentAndTheOthersAnswer(t *testing.T) {
	dir := stateDir(t)
	stopped, id := child(t, dir)
	_, other := child(t, dir)
	if err := stopped.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(stopped.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it did not stop: %v, %v", status, err)
	}
	live.SetAskTimeout(2 * time.Second)
	all, err := live.All(t.Context(), dir)
	live.SetAskTimeout(patience.Limit())
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, s := range all {
		switch {
		case s.ID == id && s.State == live.StateSilent && s.Name == "child" && s.PID == stopped.Process.Pid:
		case s.ID == other && s.State == "healthy":
		default:
			t.Errorf("%+v", s)
		}
	}
	if err := stopped.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if all, err := live.All(t.Context(), dir); err != nil || len(all) != 2 || all[0].State != "healthy" || all[1].State != "healthy" {
		t.Errorf("after it continued: %+v, %v", all, err)
	}
}
