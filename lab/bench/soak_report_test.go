package main

import (
	"math"
	"testing"
)

// line returns samples of a heap that grows by bytes with each call.
func line(bytes int) (samples []sample) {
	for n := range 100 {
		heap := uint64(1_000_000 + n*bytes*1000)
		if n%2 == 0 {
			heap += 5000 // some batch was just being written
		}
		samples = append(samples, sample{Calls: n * 1000, Heap: heap})
	}
	return samples
}

func TestSoakSlope(t *testing.T) {
	for bytes, want := range map[int]float64{0: 0, 1: 1000.0 / 1024, 10: 10_000.0 / 1024} {
		if got := slope([][]sample{line(bytes), line(bytes)}); math.Abs(got-want) > 0.01 {
			t.Errorf("%d bytes for each call: %v KB for 1,000 calls, want %v", bytes, got, want)
		}
	}
}

func TestSoakLimits(t *testing.T) {
	good := func() *soakReport {
		return &soakReport{Killed: 3, Restarts: 3, Healed: 3, Wraps: [][]sample{{{Goroutines: 9, Files: 9, Children: 1}, {Goroutines: 8, Files: 9, Children: 1}}}}
	}
	end := func(r *soakReport) *sample { return &r.Wraps[0][1] }
	for name, test := range map[string]struct {
		spoil func(*soakReport)
		pass  bool
	}{
		"good":                {func(*soakReport) {}, true},
		"heap":                {func(r *soakReport) { r.Slope = 1.1 }, false},
		"goroutines":          {func(r *soakReport) { end(r).Goroutines = 10 }, false},
		"files":               {func(r *soakReport) { end(r).Files = 10 }, false},
		"children":            {func(r *soakReport) { end(r).Children = 2 }, false},
		"a restart uncounted": {func(r *soakReport) { r.Restarts, r.Healed = 2, 2 }, false},
		"a restart unhealed":  {func(r *soakReport) { r.Healed = 2 }, false},
		"events missing":      {func(r *soakReport) { r.Missing = 1 }, false},
		"journal too large":   {func(r *soakReport) { r.Journal = 200 << 20 }, false},
		"too slow":            {func(r *soakReport) { r.Minutes = 11 }, false},
	} {
		r := good()
		test.spoil(r)
		if r.judge(); r.Pass != test.pass {
			t.Errorf("%s: pass %v", name, r.Pass)
		}
	}
}
