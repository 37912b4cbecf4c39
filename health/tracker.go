package health

import (
	"sync/atomic"
	"time"
)

// Tracker tracks the state of one server across its generations, which count from 1. Its owner calls
// all methods under a lock of its own, except State, which may be called at any time. A Tracker has no
// clock: the time is an argument.
type Tracker struct {
	config Config
	state  atomic.Int32 // a State; atomic because every call reads it without the owner's lock

	connected bool
	misses    int // NoAnswer in a row
	failed    int // NoAnswer or Broken in a row, in this generation
	hits      int // Answered in a row
	slow      int // slow Answered in a row
	fast      int // Answered in a row, none of them slow
	renewed   bool
	rested    bool // it is not connected because nothing needed it

	seen     Snapshot
	failures []Failure
}

// New returns a Tracker for a server that is not connected yet.
func New(config Config) *Tracker { return &Tracker{config: config.withDefaults()} }

// State returns the current state without taking a lock.
func (t *Tracker) State() State { return State(t.state.Load()) }

// Snapshot returns the current state with its counters.
func (t *Tracker) Snapshot() Snapshot {
	s := t.seen
	s.State = t.State()
	return s
}

// Connected records that a generation is ready for calls, and reports whether the state changed. The
// first generation is healthy immediately. A later one is degraded until it has answered: what ended
// the previous one may end this one as well. An earlier generation is ignored.
func (t *Tracker) Connected(gen int, at time.Time) (changed bool) {
	if gen <= t.seen.Generation {
		return false
	}
	first, renewed, rested := t.seen.Generation == 0, t.renewed, t.rested
	t.renewed, t.rested = false, false
	t.seen.Generation, t.seen.NextTry = gen, time.Time{}
	t.connected = true
	t.forget()
	if first || rested {
		return t.become(Healthy, at)
	}
	t.seen.Restarts++
	if renewed {
		return t.become(Healthy, at)
	}
	return t.become(Degraded, at)
}

// Renew records that the current generation was ended to replace it, which says nothing about the
// next one: it is healthy immediately.
func (t *Tracker) Renew() { t.renewed = true }

// Rested records that the server was stopped, or not started yet, because nothing needs it, and reports
// whether the state changed. That is neither a failure nor a restart: the server is healthy until its next start
// fails.
func (t *Tracker) Rested(at time.Time) (changed bool) {
	t.connected, t.rested = false, true
	t.forget()
	return t.become(Healthy, at)
}

// Closed records that the current generation has ended, and reports whether the state changed. Any
// other generation is ignored.
func (t *Tracker) Closed(gen int, at time.Time) (changed bool) {
	if gen != t.seen.Generation || !t.connected {
		return false
	}
	t.connected = false
	t.seen.Closures++
	t.forget()
	return t.become(Dead, at)
}

// Record records the outcome of a call or probe of a generation, and reports whether the state
// changed. latency is used for Answered only.
func (t *Tracker) Record(gen int, o Outcome, latency time.Duration, at time.Time) (changed bool) {
	if o == Excluded {
		return false
	}
	if gen != t.seen.Generation || !t.connected {
		t.seen.Late++
		return false
	}
	switch o {
	case Answered:
		return t.hit(t.config.Slow > 0 && latency > t.config.Slow, at)
	case NoAnswer:
		t.misses++
		return t.miss(Failure{At: at, Kind: TimedOut, Detail: "it did not respond in time"})
	case Broken:
		// Any output shows that the server is alive, so it ends a run of missing responses.
		t.misses = 0
		return t.miss(Failure{At: at, Kind: Protocol, Detail: "it did not send a valid response"})
	}
	return false
}

func (t *Tracker) hit(slow bool, at time.Time) (changed bool) {
	t.seen.Answered++
	t.seen.LastSuccess = at
	t.seen.ConsecutiveFailures, t.failed, t.misses = 0, 0, 0
	t.hits++
	if slow {
		t.slow++
		t.fast = 0
	} else {
		t.slow = 0
		t.fast++
	}
	switch state := t.State(); {
	case state != Healthy && t.fast >= t.config.Up:
		t.seen.Recoveries++
		return t.become(Healthy, at)
	case state == Unresponsive && t.hits >= t.config.Up:
		return t.become(Degraded, at) // it answers again, but slowly
	case state == Healthy && t.slow >= t.config.Down:
		return t.become(Degraded, at)
	}
	return false
}

func (t *Tracker) miss(f Failure) (changed bool) {
	t.Failed(f)
	t.seen.Missed++
	t.failed++
	t.hits, t.slow, t.fast = 0, 0, 0
	switch state := t.State(); {
	case state != Unresponsive && t.misses >= t.config.Down:
		return t.become(Unresponsive, f.At)
	case state == Healthy && t.failed >= t.config.Down:
		return t.become(Degraded, f.At)
	}
	return false
}

// forget resets the runs that decide about the state: outcomes of one generation do not count for the
// next.
func (t *Tracker) forget() { t.misses, t.failed, t.hits, t.slow, t.fast = 0, 0, 0, 0, 0 }

func (t *Tracker) become(s State, at time.Time) (changed bool) {
	if t.State() == s {
		return false
	}
	t.seen.Since = at
	t.state.Store(int32(s))
	return true
}
