package main

import (
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	hundred := func() (all []int) {
		for i := range 100 {
			all = append(all, 99-i)
		}
		return all
	}
	for q, want := range map[float64]int{0: 0, 0.5: 50, 0.99: 99, 1: 99} {
		if got := quantile(hundred(), q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if got := median([]float64(nil)); got != 0 {
		t.Errorf("the median of nothing is %v, want 0", got)
	}
}

// One round in which the machine was busy must not move the ratios.
func TestSummaryComparesWithinARound(t *testing.T) {
	us := func(n int) []time.Duration { return []time.Duration{time.Duration(n) * time.Microsecond} }
	one := func(slow int) round {
		return round{
			direct: newBurst(us(100*slow), time.Duration(100*slow)*time.Microsecond),
			pump:   newBurst(us(110*slow), time.Duration(110*slow)*time.Microsecond),
			wrap:   newBurst(us(120*slow), time.Duration(125*slow)*time.Microsecond),
		}
	}
	got := summarize(cell{}, []round{one(1), one(50), one(1)}, direct).Routes[wrap]
	if got.P50Ratio != 1.2 || got.ThroughputRatio != 0.8 || got.OverPump != 10 {
		t.Errorf("ratio %v, throughput %v, over the pump %v; want 1.2, 0.8, 10", got.P50Ratio, got.ThroughputRatio, got.OverPump)
	}
}
