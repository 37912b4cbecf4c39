//go:build linux

package main

import (
	"maps"
	"os/exec"
	"slices"
	"testing"

	samples "github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// Every check of the official suite has the same result directly and through gauze.
func TestOfficialSuite(t *testing.T) {
	t.Parallel()
	realparts.NeedConformance(t)
	gauze, err := programs.Gauze.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	suite, err := programs.Conformance.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	legs := legsToRun(samples.Seed(t, gauze, suite))
	for _, version := range slices.Sorted(maps.Keys(legs)) {
		t.Run(version, func(t *testing.T) {
			// On a machine with many other tests a client of the suite may give up: what differs once is
			// looked at again.
			for again := range 2 {
				said, err := exec.CommandContext(t.Context(), suite, "-gauze", gauze, "-only", legs[version], "-v").CombinedOutput()
				t.Logf("%s", said)
				switch {
				case err == nil:
					return
				case again > 0:
					t.Error(err)
				}
			}
		})
	}
}

// legsToRun returns the legs of each version to run. By default each kind is run in one version, and each
// version has some: in the one that the seed chooses, gauze is between the suite and go-sdk's server, which
// share their direct run; in the other, it is between a client and the suite, and the suite tests our own
// server.
func legsToRun(seed uint64) map[string]string {
	versions := []string{"2025-11-25", "2026-07-28"}
	if programs.Everything() {
		return map[string]string{versions[0]: versions[0], versions[1]: versions[1]}
	}
	only := map[string]string{}
	for _, l := range allLegs {
		chosen := seed % 2
		if l.kind == client || l.kind == agents {
			chosen = 1 - chosen
		}
		if l.version != versions[chosen] {
			continue
		}
		if only[l.version] != "" {
			only[l.version] += ","
		}
		only[l.version] += l.String()
	}
	return only
}

// The sample has each kind once and both versions, whichever seed it has.
func TestTheSampleHasEveryKind(t *testing.T) {
	t.Setenv(samples.EnvAll, "")
	kinds := map[kind]bool{}
	for _, l := range allLegs {
		kinds[l.kind] = true
	}
	for seed := range uint64(2) {
		got, n := map[kind]bool{}, 0
		for version, only := range legsToRun(seed) {
			for _, l := range chooseLegs(only) {
				if got[l.kind] = true; l.version != version {
					t.Errorf("seed %d: %s is not of %s", seed, l, version)
				}
				n++
			}
		}
		if len(got) != len(kinds) || n != len(kinds) || len(legsToRun(seed)) != 2 {
			t.Errorf("seed %d: %v", seed, legsToRun(seed))
		}
	}
}
