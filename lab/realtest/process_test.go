//go:build linux

package realtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// process is one process, held by a pidfd: its number cannot come to mean another one.
type process struct {
	pid, parent, group int
	args               string
	fd                 int
}

func (p process) String() string { return fmt.Sprintf("%d (%s)", p.pid, p.args) }

// below returns every descendant of a process, parents before children.
func below(t *testing.T, root int) []process {
	t.Helper()
	children := map[int][]process{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stats {
		if p, ok := readProcess(file); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var found []process
	queue := children[root]
	for len(queue) > 0 {
		p := queue[0]
		queue = append(queue[1:], children[p.pid]...)
		fd, err := unix.PidfdOpen(p.pid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue // it ended meanwhile
		}
		if err != nil {
			t.Fatalf("pidfd_open %v: %v", p, err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		p.fd = fd
		found = append(found, p)
	}
	return found
}

// readProcess reads /proc/PID/stat; see proc_pid_stat(5).
func readProcess(file string) (process, bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return process{}, false
	}
	end := bytes.LastIndexByte(b, ')') // the name may hold anything
	if end < 0 {
		return process{}, false
	}
	fields := strings.Fields(string(b[end+1:]))
	if len(fields) < 3 || fields[0] == "Z" {
		return process{}, false
	}
	dir := filepath.Dir(file)
	args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	pid, _ := strconv.Atoi(filepath.Base(dir))
	parent, _ := strconv.Atoi(fields[1])
	group, _ := strconv.Atoi(fields[2])
	return process{pid: pid, parent: parent, group: group, args: strings.TrimSpace(string(bytes.ReplaceAll(args, []byte{0}, []byte{' '})))}, true
}

// serverBelow returns the processes of the server that runs under gauze: the process group in which one is called as
// the server is. Whatever else gauze keeps beside it is not the server. There are none while it is down.
func serverBelow(t *testing.T, gauze int, calledAs string) []process {
	t.Helper()
	all := below(t, gauze)
	groups := map[int]bool{}
	for _, p := range all {
		if strings.Contains(p.args, calledAs) {
			groups[p.group] = true
		}
	}
	var server []process
	for _, p := range all {
		if groups[p.group] {
			server = append(server, p)
		}
	}
	return server
}

// signalEach sends a signal to each of the processes; one that is gone already is no error.
func signalEach(t *testing.T, processes []process, signal syscall.Signal) {
	t.Helper()
	for _, p := range processes {
		if err := unix.PidfdSendSignal(p.fd, signal, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			t.Errorf("signal %v to %v: %v", signal, p, err)
		}
	}
	if signal == syscall.SIGSTOP {
		untilFrozen(t, processes)
	}
}

// untilFrozen waits until every thread of the processes is stopped. The signal alone says nothing: a thread may still
// read a message while another one takes the signal.
func untilFrozen(t *testing.T, processes []process) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	limit := time.After(testPatience)
	for _, p := range processes {
		for !frozen(p.pid) {
			select {
			case <-look.C:
			case <-limit:
				t.Fatalf("%v does not stop", p)
			}
		}
	}
}

func frozen(pid int) bool {
	states, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range states {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // that thread has ended
		}
		// The name in brackets may hold anything; the state follows it.
		if rest := text[bytes.LastIndexByte(text, ')')+1:]; len(rest) > 1 && !strings.ContainsRune("tTZX", rune(rest[1])) {
			return false
		}
	}
	return true
}

// gone waits until all the processes have ended, and returns those that have not when the time is over.
func gone(ctx context.Context, processes []process) (left []process) {
	deadline, ok := ctx.Deadline()
	if !ok {
		panic("gone needs a deadline")
	}
	for _, p := range processes {
		if !ended(p.fd, deadline) {
			left = append(left, p)
		}
	}
	return left
}

// ended waits for a pidfd to become readable, which it does when its process ends.
func ended(fd int, deadline time.Time) bool {
	for {
		wait := max(0, time.Until(deadline).Milliseconds())
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(wait))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n == 1
	}
}

// wantGone fails the test if one of the processes lives longer than patience.
func wantGone(t *testing.T, processes []process, patience time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if left := gone(ctx, processes); len(left) > 0 {
		t.Errorf("still running after %v: %v", patience, left)
		signalEach(t, left, syscall.SIGKILL)
	}
}
