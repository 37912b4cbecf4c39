package faultyhttp

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// EnvMain is the environment variable that turns a re-executed binary into the server.
const EnvMain = "GAUZE_FAULTY_HTTP_SERVER"

// RunIfAsked turns this process into the server if EnvMain is set; then it does not return. Call it
// first in main or TestMain.
func RunIfAsked() {
	if os.Getenv(EnvMain) == "" {
		return
	}
	os.Unsetenv(EnvMain)
	os.Exit(Main(os.Args[1:]))
}

// Command returns how to start the server from the current binary: its path, its arguments and its
// additional environment.
func Command(flags ...string) (path string, args []string, env []string) {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0] // the caller's exec will report the error
	}
	return path, slices.Clone(flags), []string{EnvMain + "=1"}
}

// Main runs the server until a signal ends it and returns the exit code. It prints its address to
// stderr.
func Main(args []string) int {
	cfg, lifetime, err := parseFlags(args, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "faultyhttp:", err)
		return 2
	}
	s := New(cfg)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	if err := s.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "faultyhttp:", err)
		return 1
	}
	fmt.Fprintln(os.Stderr, "listening on", s.URL())
	var over <-chan time.Time
	if lifetime > 0 {
		over = time.After(lifetime)
	}
	select {
	case <-ended:
		_ = s.Close()
		return 0
	case <-over:
		return 99 // a test forgot its server
	}
}

func parseFlags(args []string, stderr io.Writer) (cfg Config, lifetime time.Duration, err error) {
	set := flag.NewFlagSet("faultyhttp", flag.ContinueOnError)
	set.SetOutput(io.Discard) // errors are returned and printed once by Main
	set.Usage = func() {}
	transport := set.String("transport", "streamable", "transport: streamable, or sse (the transport of 2024-11-05)")
	era := set.String("era", "both", "supported eras of the protocol: both, legacy, modern")
	answers := set.String("answers", "sse", "form of a response: sse, json")
	set.StringVar(&cfg.Listen, "listen", "", "address; default: a free port on 127.0.0.1")
	set.BoolVar(&cfg.Stateful, "stateful", false, "legacy: use sessions with an id")
	set.BoolVar(&cfg.EventIDs, "event-ids", false, "legacy: allow streams to be resumed")
	set.StringVar(&cfg.Ledger, "ledger", "", "record each effect in this file")
	set.StringVar(&cfg.Token, "token", "", "require this bearer token")
	set.BoolVar(&cfg.Logins, "logins", false, "require a token, and issue tokens to machines")
	set.DurationVar(&lifetime, "lifetime", 10*time.Minute, "exit with status 99 after this time, so that no forgotten server keeps running; 0: never")
	if err = set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			printHelp(set, stderr)
		}
		return cfg, 0, err
	}
	cfg.Keep = -1 // the requests of a process cannot be read by a test
	var ok bool
	if cfg.Transport, ok = map[string]Transport{"streamable": Streamable, "sse": OldSSE}[*transport]; !ok {
		return cfg, 0, fmt.Errorf("invalid -transport %q: must be streamable or sse", *transport)
	}
	if cfg.Era, ok = map[string]Era{"both": Both, "legacy": Legacy, "modern": Modern}[*era]; !ok {
		return cfg, 0, fmt.Errorf("invalid -era %q: must be both, legacy or modern", *era)
	}
	if cfg.Answers, ok = map[string]Answers{"sse": SSE, "json": JSON}[*answers]; !ok {
		return cfg, 0, fmt.Errorf("invalid -answers %q: must be sse or json", *answers)
	}
	if set.NArg() > 0 {
		return cfg, 0, fmt.Errorf("unexpected argument %q: only flags are accepted", set.Arg(0))
	}
	return cfg, lifetime, nil
}

func printHelp(set *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, "An MCP server over HTTP with named faults.\n\nSettings:\n")
	set.VisitAll(func(f *flag.Flag) { fmt.Fprintf(w, "  -%-12s %s\n", f.Name, f.Usage) })
	fmt.Fprint(w, "\nFaults, for the argument fault of every tool:\n")
	for _, row := range Faults {
		if row.stage >= before {
			fmt.Fprintf(w, "  %-18s %s\n", row.Fault, row.About)
		}
	}
	fmt.Fprint(w, "\nTools:\n")
	for _, t := range tools {
		fmt.Fprintf(w, "  %-14s %-10s %s (%s)\n", t.name, t.hint, t.about, t.takes)
	}
}
