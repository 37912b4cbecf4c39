package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// asks is a client in a script: asks FILE COMMAND ARGS... sends the requests in the file and closes
// its side only after the last response. With a file as stdin, gauze would wait for two seconds,
// which a diagnosis on a busy machine may exceed.
func asks(args []string) int {
	requests, err := os.ReadFile(args[0])
	if err != nil {
		return complain(err)
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return complain(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return complain(err)
	}
	if err := cmd.Start(); err != nil {
		return complain(err)
	}
	in.Write(requests)
	due := bytes.Count(requests, []byte(`"id"`))
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		os.Stdout.Write(line)
		if bytes.Contains(line, []byte(`"id"`)) {
			due--
		}
		if due == 0 {
			in.Close()
		}
		if err != nil {
			break
		}
	}
	var failed *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &failed) {
		return failed.ExitCode()
	} else if err != nil {
		return complain(err)
	}
	return 0
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "asks:", err)
	return 1
}
