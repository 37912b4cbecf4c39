package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// maxUnknownPerKill limits the unknown outcomes per kill, by the value of --window. Key 0 is for
// gauze's default.
var maxUnknownPerKill = map[int]float64{0: 1.5, 1: 1.5, 4: 4}

// seededBugs lists the safeguards that a gauze built with the tag seededbugs can disable.
var seededBugs = []string{"replay-everything", "no-drain", "no-fence", "offset-by-one"}

// runStorm runs one storm for each requested era.
func runStorm(args []string) error {
	flags := flag.NewFlagSet("storm", flag.ContinueOnError)
	base := storm{workEvery: 16, silenceTimeout: 90 * time.Second}
	flags.IntVar(&base.calls, "calls", 100_000, "number of calls; half of them have an effect")
	flags.IntVar(&base.kills, "kills", 1000, "number of times the server is killed")
	flags.BoolVar(&base.quick, "quick", false, "kill every fourth server as soon as it answers")
	flags.IntVar(&base.callers, "callers", 64, "number of concurrent callers")
	flags.Uint64Var(&base.seed, "seed", 1, "seed for the kill times")
	flags.StringVar(&base.bug, "bug", "", "disable one safeguard of gauze: "+strings.Join(seededBugs, ", "))
	era := flags.String("era", "both", "legacy, modern or both")
	flags.BoolVar(&base.fast, "fast", false, "kill every server before it answers a call; report the result without applying limits")
	window := flags.Int("window", 0, "pass --window to gauze (0: do not pass it)")
	gauze := flags.String("gauze", "", "use this binary instead of building one")
	jsonTo := flags.String("json", "", "write the result as JSON to this file (-: to stdout, after the table)")
	overHTTP := flags.Bool("http", false, "use an HTTP server, with HTTP faults")
	faults := flags.Int("faults", 5000, "with -http: number of faults")
	way := flags.String("way", "both", "with -http: run (stdio to HTTP), serve (HTTP to HTTP) or both")
	mode := flags.String("mode", "", "with -http: a server that acts and then answers in one way, instead of all faults: "+strings.Join(modeNames(), ", "))
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *overHTTP {
		if _, ok := stormModes[*mode]; !ok && *mode != "" {
			return fmt.Errorf("invalid -mode %q: must be one of %s", *mode, strings.Join(modeNames(), ", "))
		}
		web := webStorm{calls: base.calls, faults: *faults, callers: base.callers, seed: base.seed, bug: base.bug,
			silenceTimeout: base.silenceTimeout, window: *window, large: 12 << 20, mode: *mode}
		return runWebStorms(web, *era, *way, *gauze, *jsonTo)
	}
	storms, err := configure(base, *era, *window)
	if err != nil {
		return err
	}

	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	if *gauze == "" {
		if *gauze, err = b.gauze(tagsFor(base.bug)); err != nil {
			return err
		}
	}
	var results []*stormResult
	for _, s := range storms {
		r, err := s.run(b, *gauze)
		if err != nil {
			return fmt.Errorf("%s: %w", s.dialect.era, err)
		}
		results = append(results, r)
	}
	printStorms(os.Stdout, results)
	if err := writeJSON(*jsonTo, results); err != nil {
		return err
	}
	for _, r := range results {
		if !r.Pass {
			return errors.New("a guarantee was violated")
		}
	}
	return nil
}

// tagsFor returns the build tags that a gauze with the bug requires.
func tagsFor(bug string) string {
	if bug == "" {
		return ""
	}
	return "seededbugs"
}

// configure returns the storm for each requested era.
func configure(base storm, era string, window int) ([]storm, error) {
	var storms []storm
	for i := range dialects {
		if era != "both" && era != dialects[i].era {
			continue
		}
		s := base
		s.dialect, s.window = &dialects[i], window
		// A window without its own limit may lose as many outcomes as it has calls in flight.
		s.unknownPerKill = cmp.Or(maxUnknownPerKill[window], float64(window))
		storms = append(storms, s)
	}
	if storms == nil {
		return nil, fmt.Errorf("invalid -era %q: must be legacy, modern or both", era)
	}
	if base.bug != "" && !slices.Contains(seededBugs, base.bug) {
		return nil, fmt.Errorf("invalid -bug %q: must be one of %s", base.bug, strings.Join(seededBugs, ", "))
	}
	if base.calls <= base.kills || base.callers < 1 {
		return nil, errors.New("-callers must be at least 1, and -calls greater than -kills")
	}
	return storms, nil
}
