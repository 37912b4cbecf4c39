package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
)

// become runs a different program in place of this one. Ctrl-C reaches it directly.
func become(path string, args []string) error {
	signal.Ignore(os.Interrupt)
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitStatus(exit.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("cannot start %s: %w", path, err)
	}
	return nil
}
