package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/views/top"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
)

// topCommand returns gauze top, the live view.
func topCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Watch wrapped servers and their calls live",
		Long: "Show the wrapped servers of all clients on this machine, refreshed every second: state,\n" +
			"calls, latency, what was healed. From there, you can open a server's recent calls,\n" +
			"what was wrong with one call and what gauze did about it, and a server's log. With one\n" +
			"key, you can restart a server, run gauze doctor or explain a fault. The keys are shown on\n" +
			"the screen; ? lists all of them.",
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runTop(cmd.Context()) },
	}
}

func runTop(ctx context.Context) error {
	if err := fullScreen(); err != nil {
		return err
	}
	dir, err := backup.StateDir()
	if err != nil {
		return err
	}
	path, err := journalPath()
	if err != nil {
		return err
	}
	m := &top.Machine{StateDir: dir, Journal: path, Check: checkServer}
	defer m.Close()
	return top.Run(ctx, m, bool(terminal.PaintFor(os.Stdout)))
}

// fullScreen returns why the terminal cannot show a live view, nil if it can.
func fullScreen() error {
	const instead = "\nTo print the same information once:\n\n    gauze status"
	if !terminal.Is(os.Stdin) || !terminal.Is(os.Stdout) {
		return errors.New("the live view requires a terminal for input and output" + instead)
	}
	if kind := os.Getenv("TERM"); kind == "dumb" || kind == "" && runtime.GOOS != "windows" {
		return fmt.Errorf("this terminal (TERM=%q) cannot move its cursor, which the live view requires%s", kind, instead)
	}
	return nil
}

// checkServer runs gauze doctor for one server and returns its output. It has no terminal, so it asks
// nothing and writes nothing.
func checkServer(ctx context.Context, name string) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, "doctor", "--", name)
	cmd.Cancel = func() error {
		if runtime.GOOS == "windows" {
			return cmd.Process.Kill()
		}
		return cmd.Process.Signal(os.Interrupt) // it stops the server that it tests
	}
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var status *exec.ExitError
	if errors.As(err, &status) {
		err = nil // the output says why
	}
	return out.String(), err
}
