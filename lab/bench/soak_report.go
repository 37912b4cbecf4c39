package main

import (
	"fmt"
	"io"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
)

// Limits of what wraps may keep of the calls that they forwarded.
const (
	maxHeapSlope   = 1.0 // KB of heap for 1,000 calls
	maxSoakMinutes = 10.0
	// maxJournalFactor is how much larger the journal's file may be than the events in it, with the
	// space of removed ones and what the database needs for itself.
	maxJournalFactor = 2
)

// sample is what a wrap uses when nothing is in flight.
type sample struct {
	Calls      int    `json:"calls"` // Calls is how many calls it had forwarded.
	Heap       uint64 `json:"heap"`  // Heap is in bytes, after a garbage collection.
	Goroutines int    `json:"goroutines"`
	Files      int    `json:"files"`
	Children   int    `json:"children"`
}

// soakReport is the result of the benchmark.
type soakReport struct {
	Calls    int        `json:"calls"`
	Killed   int        `json:"killed"`
	Restarts uint64     `json:"restarts"` // Restarts is what the wraps counted.
	Healed   uint64     `json:"healed"`
	Minutes  float64    `json:"minutes"`
	Wraps    [][]sample `json:"wraps"`
	Slope    float64    `json:"heap_kb_per_1000_calls"`
	Missing  int        `json:"events_missing"` // Missing are events that could not be recorded.
	Events   int        `json:"events"`
	Journal  int64      `json:"journal_bytes"` // Journal is the size of the file and its write-ahead log.
	Targets  []target   `json:"targets"`
	Pass     bool       `json:"pass"`
}

// warm leaves out the first fifth of the samples, while buffers and rings fill.
func warm(samples []sample) []sample { return samples[len(samples)/5:] }

// slope returns how much the heap of all wraps together grows, in KB for 1,000 calls: the line
// through the samples of each, with the least squares.
func slope(wraps [][]sample) float64 {
	var products, squares float64
	for _, samples := range wraps {
		samples = warm(samples)
		var calls, heap float64
		for _, s := range samples {
			calls, heap = calls+float64(s.Calls)/float64(len(samples)), heap+float64(s.Heap)/float64(len(samples))
		}
		for _, s := range samples {
			products += (float64(s.Calls) - calls) * (float64(s.Heap) - heap)
			squares += (float64(s.Calls) - calls) * (float64(s.Calls) - calls)
		}
	}
	if squares == 0 {
		return 0
	}
	return products / squares * 1000 / 1024
}

// more returns how much higher a number is at the end than at the start, for the wrap with the most.
func (rep *soakReport) more(number func(sample) int) (most int) {
	for _, samples := range rep.Wraps {
		most = max(most, number(samples[len(samples)-1])-number(samples[0]))
	}
	return most
}

func (rep *soakReport) judge() {
	limit := func(name string, seen, limit float64, unit string) {
		rep.Targets = append(rep.Targets, target{Name: name, Seen: seen, Limit: limit, Unit: unit, Pass: seen <= limit})
	}
	limit("heap growth for 1,000 calls", rep.Slope, maxHeapSlope, "KB")
	limit("more goroutines than at the start", float64(rep.more(func(s sample) int { return s.Goroutines })), 0, "")
	limit("more open files than at the start", float64(rep.more(func(s sample) int { return s.Files })), 0, "")
	limit("more children than at the start", float64(rep.more(func(s sample) int { return s.Children })), 0, "")
	limit("kills that the wraps did not count as restarts", absent(uint64(rep.Killed), rep.Restarts), 0, "")
	limit("restarts that were not healed", absent(rep.Restarts, rep.Healed), 0, "")
	limit("events that are not recorded", float64(rep.Missing), 0, "")
	limit("journal", float64(rep.Journal)/(1<<20), maxJournalFactor*journal.MaxEventBytes/(1<<20), "MB")
	limit("time", rep.Minutes, maxSoakMinutes, "min")
	rep.Pass = true
	for _, t := range rep.Targets {
		rep.Pass = rep.Pass && t.Pass
	}
}

// absent returns how far a count is from what it should be.
func absent(want, got uint64) float64 {
	return max(float64(want)-float64(got), float64(got)-float64(want))
}

func (rep *soakReport) print(w io.Writer) {
	fmt.Fprintf(w, "%d calls of %d wraps, %d servers killed, in %.1f minutes; %d events in the journal\n", rep.Calls, len(rep.Wraps), rep.Killed, rep.Minutes, rep.Events)
	for i, samples := range rep.Wraps {
		first, last := samples[0], samples[len(samples)-1]
		fmt.Fprintf(w, "wrap %d: heap %.0f KB after %d calls, %.0f KB after %d; goroutines %d, %d; files %d, %d; children %d, %d\n", i+1,
			float64(first.Heap)/1024, first.Calls, float64(last.Heap)/1024, last.Calls,
			first.Goroutines, last.Goroutines, first.Files, last.Files, first.Children, last.Children)
	}
	printTargets(w, rep.Targets)
}
