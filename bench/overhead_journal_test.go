package main

import (
	"strings"
	"testing"
)

func TestJournalIsComparedWithTheMeasurementItself(t *testing.T) {
	at := func(p50 float64) burst { return burst{latencies: []float64{p50}, p50: p50} }
	for name, test := range map[string]struct {
		again, recorded float64
		memory          int
		want            bool
	}{
		"nothing differs":             {100, 100, 5000, true},
		"slower":                      {100, 104, 5000, false},
		"slower, but so is the noise": {103, 104, 5000, true},
		"more memory":                 {100, 100, 6001, false},
	} {
		rep := journalReport{Memory: map[route]int{wrap: 5000, again: 5010, recorded: test.memory}}
		rep.Rows = compareRoutes("calls", []round{{wrap: at(100), again: at(test.again), recorded: at(test.recorded)}}, wrap, again, recorded)
		rep.judge()
		if rep.Pass != test.want {
			t.Errorf("%s: %+v", name, rep.Targets)
		}
		var out strings.Builder
		rep.print(&out)
		if !strings.Contains(out.String(), "more private memory") {
			t.Error(out.String())
		}
	}
}
