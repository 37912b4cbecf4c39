package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"time"
)

// front is a process that serves HTTP and prints its address to stderr.
type front struct {
	cmd  *exec.Cmd
	url  string
	said *tailBuffer
	exit chan error
}

// startFront starts a process and waits until it prints "listening on URL".
func startFront(cmd *exec.Cmd) (*front, error) {
	f := &front{cmd: cmd, said: &tailBuffer{}, exit: make(chan error, 1)}
	address := &announcement{words: f.said, found: make(chan string, 1)}
	cmd.Stderr = address
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { f.exit <- cmd.Wait() }()
	select {
	case f.url = <-address.found:
		return f, nil
	case err := <-f.exit:
		return nil, fmt.Errorf("%v exited before it was listening: %v\n%s", cmd.Args, err, f.said)
	case <-time.After(20 * time.Second):
		cmd.Process.Kill()
		return nil, fmt.Errorf("%v is not listening\n%s", cmd.Args, f.said)
	}
}

// stop asks the process to exit and kills it if it does not. It returns the exit error.
func (f *front) stop() error {
	if f.cmd.Process.Signal(syscall.SIGTERM) != nil {
		f.cmd.Process.Kill() // Windows has no such signal
	}
	select {
	case err := <-f.exit:
		return err
	case <-time.After(20 * time.Second):
		f.cmd.Process.Kill()
		<-f.exit
		return os.ErrDeadlineExceeded
	}
}

// announcement finds the address in the output of a process.
type announcement struct {
	words *tailBuffer
	done  bool
	found chan string
}

var listening = regexp.MustCompile(`listening on (http://\S+)\n`)

func (a *announcement) Write(b []byte) (int, error) {
	a.words.Write(b)
	if a.done {
		return len(b), nil
	}
	if at := listening.FindStringSubmatch(a.words.String()); at != nil {
		a.done = true
		a.found <- at[1]
	}
	return len(b), nil
}
