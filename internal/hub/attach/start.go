package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/gauze-mcp/gauze/internal/disk/sockets"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// detachVariable asks a gauze process to start its own command line again and to exit.
const detachVariable = "GAUZE_DETACH"

// ready is what a process writes to its stdout once it listens.
const ready = "ready\n"

// Start starts a gauze process that outlives this one, and returns when it calls Ready. program is the
// path of gauze. The process has no terminal, writes what it prints to the log of the place, and is
// not a child of this process: some clients end all descendants of what they started.
func Start(ctx context.Context, p Place, program string, args ...string) error {
	if err := sockets.OwnDir(p.dir()); err != nil {
		return err
	}
	log, err := openLog(p.Log())
	if err != nil {
		return err
	}
	defer log.Close()
	said, stdout, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = p.dir(), stdout, log, detached()
	cmd.Env = append(os.Environ(), detachVariable+"=1")
	keepFiles()
	err = runDetached(cmd)
	stdout.Close()
	if err != nil {
		said.Close()
		return fmt.Errorf("cannot start gauze up: %w", err)
	}
	return p.awaitReady(ctx, said)
}

// awaitReady waits until the process that was started has said that it listens.
func (p Place) awaitReady(ctx context.Context, said *os.File) error {
	type words struct {
		text []byte
		err  error
	}
	heard := make(chan words, 1)
	go func() {
		defer said.Close()
		text, err := io.ReadAll(io.LimitReader(said, maxReason))
		heard <- words{text, err}
	}()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%w; its log is %s", context.Cause(ctx), p.Log())
	case w := <-heard:
		switch {
		case w.err != nil:
			return w.err
		case string(w.text) == ready:
			return nil
		}
		why := cmp.Or(plaintext.Clean(strings.TrimSpace(string(w.text))), "it exited")
		return fmt.Errorf("gauze up did not start: %s; its log is %s", why, p.Log())
	}
}

// Ready tells the process that called Start that this one listens, or why it does not. It closes
// stdout, which is not used afterwards.
func Ready(err error) {
	text := ready
	if err != nil {
		text = err.Error()
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the client may be gone by now
	io.WriteString(os.Stdout, text)
	os.Stdout.Close()
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stdout = null
	}
}

// DetachIfAsked starts this command line again and exits, if Start has started this process: the new
// process then has no parent that a client knows.
func DetachIfAsked() {
	if os.Getenv(detachVariable) == "" {
		return
	}
	program, err := os.Executable()
	if err == nil {
		cmd := exec.Command(program, os.Args[1:]...)
		cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, detached()
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, detachVariable+"=") })
		err = startDetached(cmd)
	}
	if err != nil {
		fmt.Print(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runDetached runs a process that only starts another.
func runDetached(cmd *exec.Cmd) error {
	if err := startDetached(cmd); err != nil {
		return err
	}
	var status *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &status) { // it says why on its stdout
		return err
	}
	return nil
}
