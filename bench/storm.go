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

// maxUnknownPerKill is what a kill may cost: by the number of unsafe calls that --window lets in
// flight, 0 for the default that a user has.
var maxUnknownPerKill = map[int]float64{0: 1.5, 1: 1.5, 4: 4}

// seededBugs are the safeguards the wrap knows how to break, built with the tag seededbugs.
var seededBugs = []string{"replay-everything", "no-drain", "no-fence", "offset-by-one"}

// runStorm runs the storm in every era and window asked for.
func runStorm(args []string) error {
	flags := flag.NewFlagSet("storm", flag.ContinueOnError)
	base := storm{workEvery: 16, quiet: 90 * time.Second}
	flags.IntVar(&base.calls, "calls", 100_000, "calls, half of them with an effect")
	flags.IntVar(&base.kills, "kills", 1000, "how often the server is killed meanwhile")
	flags.BoolVar(&base.quick, "quick", false, "kill every fourth server as soon as it answers")
	flags.IntVar(&base.callers, "callers", 64, "callers at a time")
	flags.Uint64Var(&base.seed, "seed", 1, "of the moments of the kills")
	flags.StringVar(&base.bug, "bug", "", "break one safeguard of the wrap: "+strings.Join(seededBugs, ", "))
	era := flags.String("era", "both", "legacy, modern or both")
	flags.BoolVar(&base.fast, "fast", false, "kill every server before it has answered a call; reported as it is, without limits")
	window := flags.Int("window", 0, "pass --window to gauze (0: as a user runs it, without a flag)")
	gauze := flags.String("gauze", "", "use this binary instead of building one")
	jsonTo := flags.String("json", "", "write the result as JSON to this file, - for after the table")
	overHTTP := flags.Bool("http", false, "the server is behind a URL, and fails as such servers do")
	faults := flags.Int("faults", 5000, "with -http: how much goes wrong meanwhile")
	way := flags.String("way", "both", "with -http: run (stdio to HTTP), serve (HTTP to HTTP) or both")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *overHTTP {
		web := webStorm{calls: base.calls, faults: *faults, callers: base.callers, seed: base.seed, bug: base.bug,
			quiet: base.quiet, window: *window, large: 12 << 20}
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
			return errors.New("a promise was broken")
		}
	}
	return nil
}

// tagsFor is what the wrap has to be built with to have the bug.
func tagsFor(bug string) string {
	if bug == "" {
		return ""
	}
	return "seededbugs"
}

// configure spreads the settings over eras.
func configure(base storm, era string, window int) ([]storm, error) {
	var storms []storm
	for i := range dialects {
		if era != "both" && era != dialects[i].era {
			continue
		}
		s := base
		s.dialect, s.window = &dialects[i], window
		// A window without a limit of its own may cost as much as it lets in.
		s.unknownPerKill = cmp.Or(maxUnknownPerKill[window], float64(window))
		storms = append(storms, s)
	}
	if storms == nil {
		return nil, fmt.Errorf("-era %q: allowed are legacy, modern, both", era)
	}
	if base.bug != "" && !slices.Contains(seededBugs, base.bug) {
		return nil, fmt.Errorf("-bug %q: allowed are %s", base.bug, strings.Join(seededBugs, ", "))
	}
	if base.calls <= base.kills || base.callers < 1 {
		return nil, errors.New("there must be a caller, and more calls than kills")
	}
	return storms, nil
}
