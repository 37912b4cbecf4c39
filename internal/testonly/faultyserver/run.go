package faultyserver

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
)

// EnvMain is the environment variable that turns a re-executed binary into the server.
const EnvMain = "GAUZE_FAULTY_SERVER"

// RunIfAsked turns this process into the server if EnvMain is set; then it does not return. Call it
// first in main or TestMain. It unsets the variable so that children of the server do not become
// servers.
func RunIfAsked() {
	if os.Getenv(EnvMain) == "" {
		return
	}
	os.Unsetenv(EnvMain)
	os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// EnvAlone names a binary that contains only the server, to be started instead of the current one.
const EnvAlone = "GAUZE_FAULTY_SERVER_ALONE"

// Command returns how to start the server from the current binary: its path, its arguments and its
// additional environment.
func Command(flags ...string) (path string, args []string, env []string) {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0] // the caller's exec will report the error
	}
	if alone := os.Getenv(EnvAlone); alone != "" {
		path = alone
	}
	return path, slices.Clone(flags), append([]string{EnvMain + "=1"}, raceEnv()...)
}

// Exit codes of the server itself; faults choose their own.
const (
	exitClean    = 0
	exitBroken   = 1 // a file could not be opened
	exitUsage    = 2
	exitLifetime = 99 // -lifetime has passed: a test forgot its server
)

// Main runs the server with these flags and returns its exit code. Some faults end the whole
// process instead of returning, so run it in a separate process.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && helpers[args[0]] != nil {
		if err := helpers[args[0]](args[1:]); err != nil {
			fmt.Fprintln(stderr, "faultyserver:", err)
			return exitBroken
		}
		return exitClean
	}
	cfg, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitClean
	}
	if err != nil {
		fmt.Fprintln(stderr, "faultyserver:", err)
		return exitUsage
	}
	if cfg.gate != "" {
		if err := WaitAtGate(cfg.gate); err != nil {
			fmt.Fprintln(stderr, "faultyserver: -gate:", err)
			return exitBroken
		}
	}
	s, err := newServer(cfg, args, stdin, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "faultyserver:", err)
		return exitBroken
	}
	return s.serve()
}
