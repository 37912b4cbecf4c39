package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// A wrap whose calls are answered waits for nothing but its client and its server: no timer is armed. The
// runtime's own thread that looks after the others wakes up once a minute.
func TestAWrapThatWaitsHasNoTimer(t *testing.T) {
	t.Parallel()
	if _, err := os.ReadFile("/proc/self/syscall"); err != nil {
		t.Skipf("the system does not say what a thread waits for: %v", err)
	}
	w := startRun(t, []string{"GOGC=off"}, "--quiet", "--", "faultyserver").initialize()
	w.request("tools/list", `{}`)
	w.response()
	w.call("echo", `{"text":"x"}`)
	w.response()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for limit := time.After(patience.Limit()); ; {
		waits, awake, err := w.waits()
		if errors.Is(err, fs.ErrPermission) {
			t.Skipf("the system does not say what a thread waits for: %v", err)
		}
		if err == nil && awake == 0 && len(waits) <= 1 {
			return
		}
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("%d threads are awake (%v), and these wait for a time: %q, want one at most", awake, err, waits)
		}
	}
}

// waits returns the system calls of the threads of gauze that end after a time, and how many threads are not in
// one.
func (w *wrapped) waits() (limited []string, awake int, err error) {
	dir := fmt.Sprintf("/proc/%d/task", w.cmd.Process.Pid)
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, err
	}
	for _, thread := range threads {
		text, err := os.ReadFile(filepath.Join(dir, thread.Name(), "syscall"))
		if err != nil {
			return nil, 0, err
		}
		// The number of the system call, its six arguments, and two addresses.
		fields := strings.Fields(string(text))
		if len(fields) < 7 {
			awake++
			continue
		}
		switch number, timeout := fields[0], fields[4]; {
		case number == fmt.Sprint(syscall.SYS_FUTEX) && timeout == "0x0":
		case number == fmt.Sprint(syscall.SYS_EPOLL_PWAIT) && timeout == "0xffffffffffffffff":
		case number == fmt.Sprint(syscall.SYS_READ), number == fmt.Sprint(syscall.SYS_WAITID):
		default:
			limited = append(limited, strings.TrimSpace(string(text)))
		}
	}
	return limited, awake, nil
}
