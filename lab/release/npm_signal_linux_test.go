package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	stdsignal "os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// Without install scripts, gauze is what its launcher is: signals have the same effect, both end the same way, and no process
// stays behind.
func TestNPMLauncher(t *testing.T) {
	t.Parallel()
	_, r, registry := npmServed(t)
	m := npmMachine(t, registry.url)
	m.do("npm install -g --ignore-scripts gauze-mcp")
	i := m.installed(r, "npm")
	t.Run("signals", func(t *testing.T) { passesSignals(t, m, i) })
	t.Run("gauze is killed", func(t *testing.T) {
		s := i.open(t)
		all := processesOf(t, s.cmd.Process.Pid)
		at := slices.IndexFunc(all, func(p process) bool { return p.program == m.file(npmOwn) })
		if at < 0 {
			t.Fatalf("no gauze in %v", all)
		}
		if err := unix.PidfdSendSignal(all[at].fd, unix.SIGKILL, nil, 0); err != nil {
			t.Fatal(err)
		}
		if state := s.wait(); state != "signal: killed" {
			t.Errorf("the launcher ended with %s", state)
		}
		wantGone(t, all)
	})
	t.Run("the launcher is killed", func(t *testing.T) {
		s := i.open(t)
		all := processesOf(t, s.cmd.Process.Pid)
		s.cmd.Process.Kill()
		s.in.Close() // as its client does then
		s.wait()
		wantGone(t, all)
	})
	t.Run("exit status", func(t *testing.T) {
		_, want := m.try(m.file(npmOwn) + " no-such-command")
		if said, got := m.try("gauze no-such-command"); want == nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, of gauze itself %v\n%s", got, want, said)
		}
	})
}

// passesSignals compares the effect of signals on gauze and on its launcher. Newer versions of Node.js become gauze, older
// ones wait for it.
func passesSignals(t *testing.T, m *machine, i installation) {
	signals := []syscall.Signal{syscall.SIGTERM}
	if programs.Everything() {
		signals = append(signals, syscall.SIGINT, syscall.SIGHUP)
	}
	for _, signal := range signals {
		if stdsignal.Ignored(signal) {
			continue // as SIGHUP is in what nohup started, and so in gauze
		}
		i.gauze = []string{m.file(npmOwn)}
		want := endedBy(t, i, signal)
		for _, node := range []string{realparts.Node(t), realparts.NeedConformance(t).Node} {
			i.gauze = []string{node, m.file(npmBin)}
			if got := endedBy(t, i, signal); got != want {
				t.Errorf("%v to %s: %s, to gauze itself: %s", signal, node, got, want)
			}
		}
	}
}

// endedBy opens a session, sends the signal to the process that was started, and returns how it ended.
func endedBy(t *testing.T, i installation, signal os.Signal) string {
	t.Helper()
	s := i.open(t)
	all := processesOf(t, s.cmd.Process.Pid)
	if len(all) < 2 {
		t.Fatalf("only %v", all)
	}
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	state := s.wait()
	wantGone(t, all)
	return state
}

// wait returns how the process ended that was started.
func (s *wrapped) wait() string {
	s.t.Helper()
	for s.out.Scan() { // until gauze closes it
	}
	err := s.cmd.Wait()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		s.t.Fatal(err)
	}
	return s.cmd.ProcessState.String()
}

// process is one that a pidfd holds, so that no later process can be taken for it.
type process struct {
	pid, fd int
	program string
}

// processesOf returns a process and all below it.
func processesOf(t *testing.T, pid int) []process {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil // it has ended
	}
	t.Cleanup(func() { unix.Close(fd) })
	program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	all := []process{{pid, fd, program}}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range threads {
		children, _ := os.ReadFile(file)
		for _, child := range strings.Fields(string(children)) {
			number, _ := strconv.Atoi(child)
			all = append(all, processesOf(t, number)...)
		}
	}
	return all
}

// wantGone fails the test if one of the processes stays.
func wantGone(t *testing.T, all []process) {
	t.Helper()
	for _, p := range all {
		n, err := 0, error(unix.EINTR)
		for errors.Is(err, unix.EINTR) {
			n, err = unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(patience.Limit().Milliseconds()))
		}
		if err != nil || n != 1 {
			t.Errorf("still running: %d, %s: %v", p.pid, p.program, err)
			unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0)
		}
	}
}
