package faultyserver

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
)

// EnvMain makes a re-executed binary become the server.
const EnvMain = "GAUZE_FAULTY_SERVER"

// RunIfAsked turns this process into the server if EnvMain is set, and then never returns.
// Call it first in main or TestMain. The variable is unset so that children of the server are not servers too.
func RunIfAsked() {
	if os.Getenv(EnvMain) == "" {
		return
	}
	os.Unsetenv(EnvMain)
	os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// EnvAlone names a binary of the server alone, to be started instead of the current one.
const EnvAlone = "GAUZE_FAULTY_SERVER_ALONE"

// Command says how to start the server from the current binary: its path, its arguments, and what to add to the
// environment.
func Command(flags ...string) (path string, args []string, env []string) {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0] // the caller's exec will say what is wrong with it
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
	exitLifetime = 99 // -lifetime is over: a test forgot its server
)

// Main runs the server: args are its flags; it returns the exit code. Some faults do not return at all: they end the
// whole process, so run it in a process of its own.
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
