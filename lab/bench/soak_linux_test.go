package main

import (
	"path/filepath"
	"testing"
)

// The benchmark in small: every kill is counted and healed, and nothing is left of it.
func TestSoakLeavesNothingBehind(t *testing.T) {
	b, err := newBinaries()
	if err != nil {
		t.Fatal(err)
	}
	defer b.remove()
	gauze, err := b.gauze("heapreport")
	if err != nil {
		t.Fatal(err)
	}
	s := soak{calls: 400, restarts: 2 * minSamples, wraps: 2, callers: 2, gauze: gauze, self: b.self, dir: b.dir, state: filepath.Join(b.dir, "state")}
	rep, err := s.run()
	if err != nil {
		t.Fatal(err)
	}
	rep.Slope = 0 // of so few calls it is noise
	rep.judge()
	for _, target := range rep.Targets {
		if !target.Pass {
			t.Errorf("%s: %v, limit %v", target.Name, target.Seen, target.Limit)
		}
	}
	if rep.Calls != 400 || rep.Killed != 20 || rep.Healed != 20 || rep.Events == 0 || rep.Journal == 0 {
		t.Errorf("%+v", rep)
	}
}
