package health_test

import (
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/health"
)

func TestHistogramEstimatesQuantilesWithinABucket(t *testing.T) {
	var h health.Histogram
	if got := h.Quantile(0.95); got != 0 {
		t.Errorf("an empty histogram has a p95 of %v", got)
	}
	for range 90 {
		h.Add(3 * time.Millisecond) // between 2 and 5 ms
	}
	for range 10 {
		h.Add(150 * time.Millisecond) // between 100 and 200 ms
	}
	if got := h.Quantile(0.5); got < 2*time.Millisecond || got > 5*time.Millisecond {
		t.Errorf("p50 is %v", got)
	}
	if got := h.Quantile(0.95); got < 100*time.Millisecond || got > 200*time.Millisecond {
		t.Errorf("p95 is %v", got)
	}
	var sum health.Histogram
	sum.Merge(h)
	sum.Merge(h)
	if sum.Count() != 200 || sum.Sum < 3.53 || sum.Sum > 3.55 {
		t.Errorf("the sum of two has %d durations of %v seconds", sum.Count(), sum.Sum)
	}
	h = health.Histogram{}
	h.Add(time.Hour)
	if got := h.Quantile(0.95); got != 5*time.Minute {
		t.Errorf("p95 beyond the last bound is %v", got)
	}
}

func TestADurationThatEqualsABoundIsWithinIt(t *testing.T) {
	var h health.Histogram
	h.Add(time.Millisecond)
	if h.Counts[0] != 1 {
		t.Errorf("%v", h.Counts)
	}
}
