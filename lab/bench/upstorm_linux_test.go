package main

import (
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	samples "github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// stormOfUp runs a storm against gauze up in small.
func stormOfUp(t *testing.T, s *upStorm) *upResult {
	t.Helper()
	b, gauze := buildWithBugs(t)
	s.gauze, s.workEvery, s.seed, s.silenceTimeout = gauze, 1, samples.Seed(t, gauze), patience.Limit()
	r, err := s.run(b)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls, %d unknown, %d kills, %d reloads in %.1f s", r.Calls, r.Unknown, r.Kills, r.Reloads, r.Seconds)
	return r
}

// A storm against gauze up loses nothing, does nothing twice, and ends no client's session: while its servers are killed
// and its file changes, and while it is killed itself.
func TestSmallStormOfGauzeUp(t *testing.T) {
	for name, s := range map[string]*upStorm{
		"servers are killed": {servers: 5, guests: 2, web: 1, connects: 1, callers: 4, calls: 600, kills: 12, reloads: 5},
		"gauze up is killed": {servers: 2, connects: 2, callers: 4, calls: 300, upKills: 3},
	} {
		t.Run(name, func(t *testing.T) {
			if r := stormOfUp(t, s); !r.Pass {
				t.Errorf("%q %q", r.Problems, r.Examples)
			}
		})
	}
}

// A gauze that repeats calls that it must not repeat is detected.
func TestSeededBugIsCaughtInGauzeUp(t *testing.T) {
	r := stormOfUp(t, &upStorm{servers: 2, connects: 1, callers: 4, calls: 400, kills: 20, bug: "replay-everything"})
	if r.Broken[history.Duplicated] == 0 {
		t.Errorf("%d kills, but the bug was not detected: %q", r.Kills, r.Problems)
	}
}

// No message of a principal reaches another one.
func TestPrincipalsDoNotMeet(t *testing.T) {
	b, gauze := buildWithBugs(t)
	x := &crosstalk{sessions: 2}
	x.gauze, x.calls, x.callers, x.silenceTimeout = gauze, 300, 4, patience.Limit()
	if err := x.run(b); err != nil {
		t.Fatal(err)
	}
	if len(x.leaks)+len(x.missing) > 0 {
		t.Errorf("%q %q", x.leaks, x.missing)
	}
	for _, kind := range []string{"answer", "progress", "question", "log", "update"} {
		if x.kinds[kind] == 0 {
			t.Errorf("no %s: %v", kind, x.kinds)
		}
	}
}
