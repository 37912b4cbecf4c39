package main

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	samples "github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/lab/bench/history"
	"github.com/gauze-mcp/gauze/lab/programs"
)

// smallStorm is as rough as the big one, but shorter.
func smallStorm(t *testing.T, b *binaries, gauze, era, bug string, window int) *stormResult {
	t.Helper()
	calls, kills := 3200, 64
	if bug == "" { // a bug has to be found with any seed
		calls, kills = samples.Part(calls, 2), samples.Part(kills, 2)
	}
	storms, err := configure(storm{
		calls: calls, kills: kills, quick: true, callers: 64, workEvery: 1, seed: samples.Seed(t, gauze), bug: bug, silenceTimeout: silence(bug),
	}, era, window)
	if err != nil {
		t.Fatal(err)
	}
	// On a busy machine calls are held for as long as they may be, and then sent. bench storm has the
	// limit for a quiet one.
	storms[0].unknownPerKill *= 8
	r, err := storms[0].run(b, gauze)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// silence is how long a storm waits for an answer. A storm with a bug loses some, which is what the bug is for.
func silence(bug string) time.Duration {
	if bug != "" {
		return 10 * time.Second
	}
	return patience.Limit()
}

func buildWithBugs(t *testing.T) (*binaries, string) {
	t.Helper()
	built := withBugs()
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.binaries, built.gauze
}

type bugsBuild struct {
	*binaries
	gauze string
	err   error
}

// withBugs builds once for all tests. TestMain removes what it built.
var withBugs = sync.OnceValue(func() (built bugsBuild) {
	if built.binaries, built.err = newBinaries(); built.err != nil {
		return built
	}
	removeAfterTests = built.remove
	// The server that is killed is not this binary: with the race detector it takes too long to start.
	if built.self, built.err = programs.Bench.Path(context.Background()); built.err == nil {
		built.gauze, built.err = built.binaries.gauze("seededbugs")
	}
	return built
})

func TestSmallStormKeepsEveryPromise(t *testing.T) {
	windowstest.Skip(t)
	b, gauze := buildWithBugs(t)
	for _, d := range dialects {
		t.Run(d.era, func(t *testing.T) {
			if r := smallStorm(t, b, gauze, d.era, "", 0); !r.Verdict.Pass() || r.Kills != r.KillsPlanned {
				t.Errorf("%v %q\n%s", r.Problems, r.Examples, r.lastOutput)
			}
		})
	}
}

// The checker must detect each seeded bug, for the right reason.
func TestSeededBugsAreCaught(t *testing.T) {
	windowstest.Skip(t)
	b, gauze := buildWithBugs(t)
	caughtBy := map[string][]history.Rule{
		"replay-everything": {history.Duplicated},
		"offset-by-one":     {history.Duplicated},
		"no-drain":          {history.ThrownAway},
		"no-fence":          {history.Double, history.Duplicated, history.Lost},
	}
	for _, bug := range seededBugs {
		t.Run(bug, func(t *testing.T) {
			t.Parallel() // a storm that lost an answer waits for it
			want := caughtBy[bug]
			for range 3 { // where the kills fall is up to the machine
				r := smallStorm(t, b, gauze, "legacy", bug, 4)
				t.Log(r.Kills, r.Settled, r.Problems)
				if slices.ContainsFunc(want, func(rule history.Rule) bool { return r.Broken[rule] > 0 }) {
					return
				}
			}
			t.Errorf("none of %q was detected", want)
		})
	}
}
