package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// The server of a client that was killed does not stay.
func TestGauzeUpAfterConnectWasKilled(t *testing.T) {
	t.Parallel()
	s := newUpState(t)
	w := s.connect(t.TempDir(), "A=1").initialize()
	stays := s.connect(t.TempDir(), "A=1").initialize()
	server := serverPID(t, w.ask("pid", `{}`))
	w.call("hang", `{}`)
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, server)
	stays.ask("echo", `{"text":"x"}`)
}

// serverPID returns the pid in the response of the tool pid.
func serverPID(t *testing.T, response string) (pid int) {
	t.Helper()
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	var said struct{ PID int }
	if err := json.Unmarshal([]byte(response), &m); err != nil || len(m.Result.Content) == 0 || json.Unmarshal([]byte(m.Result.Content[0].Text), &said) != nil {
		t.Fatalf("%v in %s", err, response)
	}
	return said.PID
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for limit := patience.Context(t).Done(); ; {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || strings.Contains(string(status), "\nState:\tZ") {
			return
		}
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("process %d is still running", pid)
		}
	}
}

// A client may wait until everything that it opened is closed, and end the process group and all
// descendants of what it started.
func TestGauzeUpHasNothingOfItsFirstClient(t *testing.T) {
	t.Parallel()
	s := newUpState(t)
	end, inherited, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	cmd := program(t, "gauze", "connect", "--file", s.file)
	cmd.ExtraFiles, cmd.SysProcAttr = []*os.File{inherited}, &syscall.SysProcAttr{Setpgid: true}
	first := startWrap(t, cmd, []string{"GAUZE_STATE_DIR=" + s.dir}).initialize()
	inherited.Close()
	up := s.up().Pid
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", up))
	if err != nil {
		t.Fatal(err)
	}
	if parent := strings.Fields(string(status))[3]; parent == fmt.Sprint(cmd.Process.Pid) {
		t.Errorf("gauze up is a child of its first client, process %s", parent)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, r := range []io.Reader{end, first.out} {
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Error(err)
		}
	}
	s.connect(t.TempDir(), "A=1").initialize()
	if now := s.up().Pid; now != up {
		t.Errorf("process %d has taken the place of %d", now, up)
	}
}

// A client that is gone closes both of its ends. A call that is open then does not keep gauze connect.
func TestConnectWithoutAReader(t *testing.T) {
	t.Parallel()
	s := newUpState(t)
	w := s.connect(t.TempDir(), "A=1").initialize()
	server := serverPID(t, w.ask("pid", `{}`))
	w.call("hang", `{}`)
	w.in.Close()
	w.ear.Close()
	w.cmd.Wait()
	gone(t, server)
}
