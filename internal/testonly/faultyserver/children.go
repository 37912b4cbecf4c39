package faultyserver

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"
)

// helpers are the programs that this binary runs instead of the server if its first argument names
// one.
var helpers = map[string]func(args []string) error{
	"sleep": func(args []string) error { return sleepFor(args[0]) },
	"resume": func(args []string) error {
		if err := sleepFor(args[0]); err != nil {
			return err
		}
		pid, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return Resume(pid)
	},
}

func sleepFor(duration string) error {
	d, err := time.ParseDuration(duration)
	time.Sleep(d)
	return err
}

// helper returns the command that runs a helper.
func helper(args ...string) *exec.Cmd {
	path, args, env := Command(args...)
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// startSleeper starts a child that only holds streams open. It does not wait for it, because the
// child is meant to outlive the server.
func startSleeper(holds []string, apart bool, d time.Duration) (pid int, err error) {
	cmd := helper("sleep", d.String())
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

// startAgain starts this binary as the server again, on the same stdio, as a daemon does before its
// parent exits.
func startAgain(args []string) error {
	cmd := helper(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = newSession()
	return cmd.Start()
}

// continueAfter starts a child that resumes this process, which cannot do so itself.
func continueAfter(d time.Duration) error {
	return helper("resume", d.String(), strconv.Itoa(os.Getpid())).Start()
}
