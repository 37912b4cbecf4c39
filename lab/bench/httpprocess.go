package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"time"
)

// httpProcess is a process that serves HTTP and prints its address to stderr.
type httpProcess struct {
	cmd    *exec.Cmd
	url    string
	output *tailBuffer
	exit   chan error
}

// startHTTP starts a process and waits until it prints "listening on URL". What it prints also goes to its Stderr.
func startHTTP(cmd *exec.Cmd) (*httpProcess, error) {
	f := &httpProcess{cmd: cmd, output: &tailBuffer{}, exit: make(chan error, 1)}
	address := &addressFinder{words: f.output, found: make(chan string, 1)}
	if cmd.Stderr == nil {
		cmd.Stderr = address
	} else {
		cmd.Stderr = io.MultiWriter(address, cmd.Stderr)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { f.exit <- cmd.Wait() }()
	select {
	case f.url = <-address.found:
		return f, nil
	case err := <-f.exit:
		return nil, fmt.Errorf("%v exited before it was listening: %v\n%s", cmd.Args, err, f.output)
	case <-time.After(20 * time.Second):
		cmd.Process.Kill()
		return nil, fmt.Errorf("%v is not listening\n%s", cmd.Args, f.output)
	}
}

// stop asks the process to exit and kills it if it does not. It returns the exit error.
func (f *httpProcess) stop() error {
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

// addressFinder finds the address in the output of a process.
type addressFinder struct {
	words *tailBuffer
	done  bool
	found chan string
}

var listening = regexp.MustCompile(`listening on (http://\S+)\n`)

func (a *addressFinder) Write(b []byte) (int, error) {
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
