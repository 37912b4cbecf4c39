package kernel

import "time"

// budget is a token bucket: repetitions must not become a storm of their own.
type budget struct {
	size float64 // 0: no limit
	left float64
	at   time.Time
}

const (
	defaultBudget = 256 // more than the calls anyone keeps in flight
	budgetRefill  = 8   // a second
	budgetEarned  = 0.2 // with every call that is answered
)

// earn returns a part of a repetition for a call that was answered: while a server works, there are
// few repetitions for many calls.
func (b *budget) earn() {
	if !b.at.IsZero() {
		b.left = min(b.size, b.left+budgetEarned)
	}
}

// has reports whether a repetition is left.
func (b *budget) has(now time.Time) bool {
	if b.at.IsZero() {
		b.left = b.size
	} else {
		b.left = min(b.size, b.left+now.Sub(b.at).Seconds()*budgetRefill)
	}
	b.at = now
	return b.size <= 0 || b.left >= 1
}

// take uses a repetition, if one is left.
func (b *budget) take(now time.Time) bool {
	if !b.has(now) {
		return false
	}
	b.left--
	return true
}
