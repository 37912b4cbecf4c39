package main

import (
	"testing"

	samples "github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/lab/bench/history"
	"github.com/gauze-mcp/gauze/lab/programs"
)

// smallWebStorms returns storms that are as rough as the big ones, but shorter.
func smallWebStorms(t *testing.T, gauze, era, bug string) []webStorm {
	t.Helper()
	storms, err := configureWeb(webStorm{
		calls: 600, faults: 90, callers: 32, spare: 12, // in a short storm with any seed, many faults may meet
		large: 1 << 20, seed: samples.Seed(t, gauze), bug: bug, silenceTimeout: 2 * silence(bug),
	}, era, "both")
	if err != nil {
		t.Fatal(err)
	}
	return storms
}

func TestSmallWebStormKeepsEveryPromise(t *testing.T) {
	windowstest.Skip(t)
	b, gauze := buildWithBugs(t)
	seed := samples.Seed(t, gauze)
	storms := smallWebStorms(t, gauze, "both", "")
	if len(storms) != 6 {
		t.Fatalf("%d storms: choose other ones by default", len(storms))
	}
	for n, s := range storms {
		// The dialects over gauze run, and then the same over gauze serve. By default each dialect goes one of these ways, the
		// next the other way.
		if way, dialect := n/3, n%3; !programs.Everything() && uint64(way) != (uint64(dialect)+seed)%2 {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			r, err := s.run(b, gauze)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Pass {
				t.Errorf("%v %q\n%s", r.Problems, r.Examples, r.lastOutput)
			}
		})
	}
}

// Servers that act, and then answer as if they had not, are not asked twice.
func TestEachModeOfTheWebStorm(t *testing.T) {
	windowstest.Skip(t)
	b, gauze := buildWithBugs(t)
	for n, mode := range modeNames() {
		storms, err := configureWeb(webStorm{calls: 300, faults: 30, callers: 8, spare: 12, large: 1 << 20, seed: samples.Seed(t, gauze), mode: mode, silenceTimeout: 2 * silence("")}, "both", "both")
		if err != nil {
			t.Fatal(err)
		}
		if !programs.Everything() { // one of them, and each mode in another
			storms = storms[(samples.Seed(t, gauze)+uint64(n))%uint64(len(storms)):][:1]
		}
		for _, s := range storms {
			t.Run(s.String(), func(t *testing.T) {
				r, err := s.run(b, gauze)
				if err != nil {
					t.Fatal(err)
				}
				if !r.Pass {
					t.Errorf("%v %q\n%s", r.Problems, r.Examples, r.lastOutput)
				}
			})
		}
	}
}

// A gauze that repeats calls it must not repeat is detected on either way.
func TestSeededBugIsCaughtOverHTTP(t *testing.T) {
	windowstest.Skip(t)
	b, gauze := buildWithBugs(t)
	for _, s := range smallWebStorms(t, gauze, "modern", "replay-everything") {
		t.Run(s.String(), func(t *testing.T) {
			r, err := s.run(b, gauze)
			if err != nil {
				t.Fatal(err)
			}
			if r.Broken[history.Duplicated] == 0 {
				t.Errorf("%d faults, but the bug was not detected: %q", r.Faults, r.Problems)
			}
			t.Log(r.Problems)
		})
	}
}
