package main

import (
	"crypto/sha256"
	"slices"
	"time"
)

// usual is what calibrate takes on an idle machine of the kind that the limits of tests were chosen on.
const usual = 100 * time.Millisecond

// calibrate keeps one core busy for a moment.
func calibrate() time.Duration {
	began := time.Now()
	block := make([]byte, 1<<20)
	for range 20 {
		sum := sha256.Sum256(block)
		copy(block, sum[:])
	}
	return time.Since(began)
}

// measurePace returns how many times slower than usual this machine is now, as a power of two: tests
// read it, and a result stays cached as long as it is the same.
func measurePace() int {
	var took []time.Duration
	for range 5 {
		took = append(took, calibrate())
	}
	slices.Sort(took)
	return paceOf(took[len(took)/2], usual)
}

// paceOf rounds to a power of two. Up to one and a half times the usual time is usual.
func paceOf(took, usual time.Duration) int {
	pace := 1
	for float64(took) > 1.5*float64(usual)*float64(pace) && pace < 64 {
		pace *= 2
	}
	return pace
}
