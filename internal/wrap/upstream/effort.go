package upstream

import (
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream/process"
)

// effort records when the processes of a server last used CPU.
type effort struct {
	look func() process.Vitals

	mu     sync.Mutex
	used   time.Duration // CPU time at seen
	seen   time.Time     // the start of the server if they have used none
	looked time.Time
}

// last checks the processes, at most once per every, and returns when they were last working: using
// more than a hundredth of the time, because an idle server still runs its timers.
func (e *effort) last(now time.Time, every time.Duration) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Sub(e.looked) < every {
		return e.seen
	}
	e.looked = now
	vitals := e.look()
	e.used = min(e.used, vitals.CPU) // the time of a process that exited is missing from the sum
	if vitals.CPU > e.used+process.CPUTick+now.Sub(e.seen)/100 {
		e.used, e.seen = vitals.CPU, now
	}
	return e.seen
}
