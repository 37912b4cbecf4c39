package faultyserver

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"
)

// startSleeper starts a child that only holds streams open. It is not waited for: it is meant to outlive the server.
func startSleeper(holds []string, apart bool, d time.Duration) (pid int, err error) {
	cmd := exec.Command("sleep", strconv.FormatFloat(d.Seconds(), 'f', 3, 64))
	if slices.Contains(holds, "stdin") {
		cmd.Stdin = os.Stdin
	}
	if slices.Contains(holds, "stdout") {
		cmd.Stdout = os.Stdout
	}
	if slices.Contains(holds, "stderr") {
		cmd.Stderr = os.Stderr
	}
	if apart {
		cmd.SysProcAttr = newSession()
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

// startAgain starts this binary as the server once more, on the same stdio: what a daemon does before its parent
// exits.
func startAgain(args []string) error {
	path, _, env := Command()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = newSession()
	return cmd.Start()
}

// continueAfter lets a child send SIGCONT to this process: nobody can wake himself.
func continueAfter(d time.Duration) error {
	script := fmt.Sprintf("sleep %.3f; kill -CONT %d", d.Seconds(), os.Getpid())
	return exec.Command("sh", "-c", script).Start()
}
