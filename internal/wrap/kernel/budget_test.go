package kernel

import (
	"testing"
	"time"
)

// In front of a server that answers, repetitions never run out as long as they
// are a fifth of the calls; in front of one that does not, they do.
func TestRepetitionsAreEarnedByAnswers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	b := budget{size: 10}
	for n := range 1000 {
		if !b.take(now) {
			t.Fatalf("repetition %d was refused", n+1)
		}
		for range 5 {
			b.earn()
		}
	}
	b = budget{size: 10}
	for n := range 11 {
		if got := b.take(now); got != (n < 10) {
			t.Errorf("repetition %d without an answer: %v", n+1, got)
		}
	}
}
