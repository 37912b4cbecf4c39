package faultyserver

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// settings holds the values of the flags: how the server behaves and which faults are armed.
type settings struct {
	era       string
	versions  []string
	ledger    string
	state     string
	serial    bool
	lax       bool
	readExact bool
	pageSize  int
	resources int
	lifetime  time.Duration
	gate      string
	faults    map[string]*armed
}

var eras = []string{"both", "legacy", "modern"}

const modernVersion = "2026-07-28"

// knownVersions lists the protocol versions, newest first.
var knownVersions = []string{modernVersion, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

func parseFlags(args []string, stderr io.Writer) (*settings, error) {
	cfg := &settings{faults: map[string]*armed{}}
	set := flag.NewFlagSet("faultyserver", flag.ContinueOnError)
	set.SetOutput(io.Discard) // errors are returned and printed once by Main
	set.Usage = func() {}
	set.StringVar(&cfg.era, "era", "both", "supported eras of the protocol: "+strings.Join(eras, ", "))
	versions := set.String("versions", "", "supported protocol versions, comma-separated, newest first; default: all versions of the era")
	set.StringVar(&cfg.ledger, "ledger", "", "record each effect in this file")
	set.StringVar(&cfg.state, "state", "", "count generations and faults in this file, across restarts")
	set.BoolVar(&cfg.serial, "serial", false, "finish each request before reading the next message, so that nothing can be cancelled and ask gets no response")
	set.BoolVar(&cfg.readExact, "read-exact", false, "never read past the end of a message, so that unread messages stay in the pipe")
	set.BoolVar(&cfg.lax, "lax", false, "serve legacy requests sent before initialize")
	set.IntVar(&cfg.pageSize, "page-size", 0, "items per page of every list; 0: one page")
	set.IntVar(&cfg.resources, "resources", 3, "number of resources, mem://0 and up, all subscribable")
	set.StringVar(&cfg.gate, "gate", "", "wait at start until the gate at this address opens")
	set.DurationVar(&cfg.lifetime, "lifetime", 10*time.Minute, "exit with status 99 after this time, so that no forgotten server keeps running; 0: never")
	for i := range faults {
		f := &faults[i]
		a := &armed{fault: f, skip: f.skip}
		cfg.faults[f.name] = a
		set.Var(a, f.name, f.about)
	}
	if err := set.Parse(args); err != nil {
		if err == flag.ErrHelp {
			printHelp(set, stderr)
		}
		return nil, err
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: only flags are accepted, as -name or -name=value (see -help)", set.Arg(0))
	}
	if !slices.Contains(eras, cfg.era) {
		return nil, fmt.Errorf("invalid -era %q: must be one of %s", cfg.era, strings.Join(eras, ", "))
	}
	if cfg.pageSize < 0 || cfg.resources < 0 || cfg.lifetime < 0 {
		return nil, fmt.Errorf("-page-size, -resources and -lifetime must not be negative")
	}
	for _, a := range cfg.faults {
		if a.on && a.fault.atStart && a.limited() && cfg.state == "" {
			return nil, fmt.Errorf("-%s counts starts of the server (count or skip), so it requires -state FILE", a.fault.name)
		}
	}
	if *versions != "" {
		cfg.versions = strings.Split(*versions, ",")
		return cfg, nil
	}
	for _, v := range knownVersions {
		if cfg.era == "both" || (cfg.era == "modern") == (v >= modernVersion) {
			cfg.versions = append(cfg.versions, v)
		}
	}
	return cfg, nil
}

func printHelp(set *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, "An MCP stdio server with named faults.\n\nSettings:\n")
	isFault := map[string]bool{}
	for _, f := range faults {
		isFault[f.name] = true
	}
	set.VisitAll(func(f *flag.Flag) {
		if !isFault[f.Name] {
			fmt.Fprintf(w, "  -%-21s %s\n", f.Name, f.Usage)
		}
	})
	fmt.Fprint(w, faultGrammar)
	for _, f := range faults {
		fmt.Fprintf(w, "  -%-21s %s%s\n", f.name, f.about, f.allowed())
	}
	fmt.Fprint(w, "\nTools:\n")
	for _, t := range tools {
		fmt.Fprintf(w, "  %-16s %-10s %s (%s)\n", t.name, t.hint, t.about, t.takes)
	}
}
