package health

import "time"

// Bounds are the upper bounds of a Histogram's buckets in seconds: those that OpenTelemetry
// recommends for MCP, with three below them for servers on the same machine. The last bucket has no
// bound.
var Bounds = [...]float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// Histogram counts durations. Its owner guards it.
type Histogram struct {
	Counts [len(Bounds) + 1]uint64 `json:"counts"` // Counts are not cumulative.
	Sum    float64                 `json:"sum"`    // Sum is in seconds.
}

// Add counts one duration.
func (h *Histogram) Add(d time.Duration) {
	seconds, at := d.Seconds(), 0
	for at < len(Bounds) && Bounds[at] < seconds { // most calls are fast
		at++
	}
	h.Counts[at]++
	h.Sum += seconds
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(other Histogram) {
	for i, n := range other.Counts {
		h.Counts[i] += n
	}
	h.Sum += other.Sum
}

// Count returns how many durations were added.
func (h *Histogram) Count() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Quantile estimates the duration that a part q of all durations does not exceed: within its bucket
// they count as evenly distributed. It is 0 if there are none, and the last bound if it is beyond.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := q * float64(h.Count())
	below, lower := 0.0, 0.0
	for i, upper := range Bounds {
		n := float64(h.Counts[i])
		if n > 0 && below+n >= rank {
			return time.Duration((lower + (upper-lower)*max(0, rank-below)/n) * float64(time.Second))
		}
		below, lower = below+n, upper
	}
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(lower * float64(time.Second))
}
