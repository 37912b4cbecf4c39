package upstream

import (
	"sync"
	"time"
)

// effort notes when the processes of a server were last seen using CPU.
type effort struct {
	mu     sync.Mutex
	used   time.Duration // CPU time when they were
	seen   time.Time     // the start of the server if they never were
	looked time.Time
}

// last looks at the processes, at most every so often, and returns when they
// were last seen working: more than a hundredth of the time, because a server
// that only waits still tends its timers.
func (e *effort) last(look func() Vitals, now time.Time, every time.Duration) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Sub(e.looked) < every {
		return e.seen
	}
	e.looked = now
	vitals := look()
	e.used = min(e.used, vitals.CPU) // the time of a process that ended is gone from the sum
	if vitals.CPU > e.used+CPUTick+now.Sub(e.seen)/100 {
		e.used, e.seen = vitals.CPU, now
	}
	return e.seen
}
