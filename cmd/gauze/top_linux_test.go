package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "gauze-top-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	environ := []string{"GAUZE_STATE_DIR=" + dir}
	files := startRun(t, environ, "--quiet", "--name", "files", "--", "faultyserver").initialize()
	notes := startRun(t, environ, "--quiet", "--name", "notes", "--", "faultyserver").initialize()
	pid := announced(t, dir, 2)[1].ServerPID

	cmd := program(t, "gauze", "top")
	cmd.Env = append(os.Environ(), "GAUZE_STATE_DIR="+dir, "TERM=vt100", "HOME="+dir)
	s := startOnScreen(t, 120, 24, cmd)
	s.want(`^> files +healthy .* 0 +0 .* t `, `^  notes +healthy`, `^q quit .* \? keys$`)

	// A server is killed.
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	notes.call("echo", `{"text":"after"}`)
	if _, line := notes.response(); !strings.Contains(line, `"after"`) {
		t.Fatal(line)
	}
	s.want(`^  notes +(degraded|healthy) .* 2 .* 1 +1  it was killed, `)
	s.press("j\r")
	s.want(`^gauze top: calls of notes`, `\(server\) .* restarted +the server exited`, ` echo +ok `)
	s.press("\x1b")

	// It is restarted, after a confirmation.
	s.want(`^> notes`)
	s.press("r")
	s.want(`^Restart notes\? y/n`)
	s.press("y")
	s.want(`^Restarted notes\.`, `^> notes .* 1 +2  you restarted it, `)

	// A wrap that does not answer leaves the rest usable.
	if err := files.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.want(`^  files +not responding`)
	s.press("?")
	s.want(`^ctrl\+z +suspend`)
	s.press("\x1b")
	if err := files.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.want(`^  files +healthy`)

	s.press("d")
	s.want(`^gauze doctor: no server named "notes"`)
	s.press("\x1b")

	s.resize(40, 12)
	s.want(`^  NAME. +STATE +CALLS +HEALED$`, `^> notes `, `^q quit .* \? keys$`)

	// The terminal is released for the shell, and the view returns although there is no shell.
	s.press("\x1a")
	s.until("ctrl+z does not release the terminal", func() bool { return !s.isFull() })
	s.until("the view does not return", s.isFull)
	s.want(`^> notes `)

	s.press("\x03")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	<-s.read
	if s.isFull() || len(s.unknown) > 0 || !s.colored {
		t.Errorf("at the end, colored %v, the screen is:\n%s", s.colored, s)
	}

	cmd = program(t, "gauze", "top")
	cmd.Env = append(os.Environ(), "GAUZE_STATE_DIR="+dir, "TERM=vt100", "NO_COLOR=yes")
	plain := startOnScreen(t, 120, 24, cmd)
	plain.want(`^> files +healthy`, `^  notes +(degraded|healthy)`)
	plain.press("q")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if <-plain.read; plain.colored {
		t.Error("it has colors in spite of NO_COLOR")
	}
	for _, w := range []*wrapped{files, notes} {
		w.in.Close()
		w.wantEnd(0)
	}
}

func TestTopRequiresATerminal(t *testing.T) {
	t.Parallel()
	out, err := program(t, "gauze", "top").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "gauze top: the live view requires a terminal") || !strings.HasSuffix(string(out), "\n    gauze status\n") {
		t.Errorf("%v\n%s", err, out)
	}
	cmd := program(t, "gauze", "top")
	cmd.Env = append(os.Environ(), "TERM=dumb")
	s := startOnScreen(t, 80, 24, cmd)
	cmd.Wait()
	<-s.read
	if s.want(`^gauze top: this terminal \(TERM="dumb"\) cannot move its cursor`); cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("exit status %d", cmd.ProcessState.ExitCode())
	}
}
