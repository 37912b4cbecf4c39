package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestJournalCostIsSeenIfTheNoiseAllowsIt(t *testing.T) {
	for name, test := range map[string]struct {
		cost, noise, spread float64 // percent; processes differ by spread
		memory              int
		missed              string
	}{
		"nothing differs":                 {0, 0, 5, 5000, ""},
		"slower by less than the limit":   {2, 0, 5, 5000, ""},
		"slower by more than the limit":   {5, 0, 3, 5000, "CPU time of a call"},
		"slower, which cannot be seen":    {5, 0, 40, 5000, "noise"},
		"the measurement differs as such": {0, 4, 3, 5000, "noise"},
		"more memory":                     {0, 0, 5, 6001, "more private memory"},
	} {
		random := rand.New(rand.NewPCG(3, 4))
		process := func(more float64) float64 { return 100 + more + test.spread*(random.Float64()-0.5) }
		var trios []trio
		for range 96 {
			trios = append(trios, trio{wrap: process(0), again: process(test.noise), recorded: process(test.cost)})
		}
		rep := newJournalReport()
		rep.Memory = map[route]int{wrap: 5000, again: 5010, recorded: test.memory}
		rep.compare("calls", trios)
		rep.judge()
		var missed []string
		for _, one := range rep.Targets {
			if !one.Pass {
				missed = append(missed, one.Name)
			}
		}
		if got := strings.Join(missed, ", "); (test.missed == "") != rep.Pass || rep.Pass != (got == "") || !strings.HasPrefix(got, test.missed) {
			t.Errorf("%s: missed %q: %+v", name, got, rep.Rows)
		}
		if err := rep.failure(); (err == nil) != rep.Pass || strings.Contains(fmt.Sprint(err), "does not count") != (test.missed == "noise") {
			t.Errorf("%s: %v", name, err)
		}
		var out strings.Builder
		rep.print(&out)
		if noisy := strings.Contains(out.String(), "repeat this on a quiet machine"); noisy != (test.missed == "noise") {
			t.Error(out.String())
		}
	}
}

func TestMedianInterval(t *testing.T) {
	values := make([]float64, 99)
	for i := range values {
		values[i] = float64(i - 49)
	}
	low, high := medianInterval(values)
	if low < -15 || low > -5 || high < 5 || high > 15 { // from the 40th to the 60th value
		t.Errorf("%v to %v", low, high)
	}
}
