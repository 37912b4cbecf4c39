package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// In the client leg the suite starts this program instead of the client, once per scenario. These
// variables tell it what to run.
const (
	envClient = "GAUZE_CONFORMANCE_CLIENT"
	envGauze  = "GAUZE_CONFORMANCE_GAUZE"
)

// runClientThrough opens a front to the URL in the last argument, runs the client against it, and
// returns the client's exit status. All processes stay in the process group of the suite, so that
// they end with it.
func runClientThrough(ctx context.Context, f front, client string, args []string) int {
	last := len(args) - 1
	if last < 0 {
		fmt.Fprintln(os.Stderr, "conformance: the suite passed no URL")
		return 2
	}
	url, stop, err := f.open(ctx, target{url: args[last]})
	if err != nil {
		fmt.Fprintf(os.Stderr, "conformance: %v\n", err)
		return 2
	}
	cmd := exec.CommandContext(ctx, client, append(args[:last:last], url)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	status := 0
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "conformance: client: %v\n", err)
		status = max(1, cmd.ProcessState.ExitCode())
	}
	if err := stop(); err != nil {
		fmt.Fprintf(os.Stderr, "conformance: %v\n", err)
		return 3
	}
	return status
}
