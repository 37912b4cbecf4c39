package health

import (
	"sync/atomic"
	"time"
)

// Tracker follows one server through its generations. One owner calls Connected, Record and Closed (it guards them with
// its own lock); anybody may read State at any time. It keeps no clock: time is an argument. Generations count from 1.
type Tracker struct {
	config Config
	state  atomic.Int32 // State; atomic because the gate reads it on every call, without the owner's lock

	connected bool
	misses    int // NoAnswer in a row
	hits      int // Answered in a row
	slow      int // slow Answered in a row
	fast      int // Answered in a row, none of them slow

	seen Snapshot
}

// Snapshot is what a Tracker knows at one moment.
type Snapshot struct {
	State               State
	Since               time.Time // when State was last changed; zero until the first change
	Generation          int       // the latest generation that was connected; 0 before the first
	ConsecutiveFailures int       // NoAnswer or Broken in a row, in this generation
	LastSuccess         time.Time
	LastFailure         time.Time

	Restarts   uint64 // connections after the first
	Closures   uint64 // connections that ended
	Recoveries uint64 // times it became healthy again
	Answered   uint64
	Missed     uint64 // NoAnswer and Broken
	Late       uint64 // outcomes of a generation that was over; ignored
}

// New makes a Tracker of a server that is not connected yet.
func New(config Config) *Tracker { return &Tracker{config: config.withDefaults()} }

// State is the state now. It takes no lock and costs a nanosecond.
func (t *Tracker) State() State { return State(t.state.Load()) }

// Snapshot is everything known now. It is for the owner, under the owner's lock.
func (t *Tracker) Snapshot() Snapshot {
	s := t.seen
	s.State = t.State()
	return s
}

// Connected says that a generation is ready for traffic. The first is healthy at once, there is nothing against it; a
// later one is degraded until it has answered: what killed the last may kill this one. Old news changes nothing.
func (t *Tracker) Connected(gen int, at time.Time) (changed bool) {
	if gen <= t.seen.Generation {
		return false
	}
	first := t.seen.Generation == 0
	t.seen.Generation = gen
	t.connected = true
	t.forget()
	if first {
		return t.become(Healthy, at)
	}
	t.seen.Restarts++
	return t.become(Degraded, at)
}

// Closed says that a generation is over. Only the current one can close, and only once.
func (t *Tracker) Closed(gen int, at time.Time) (changed bool) {
	if gen != t.seen.Generation || !t.connected {
		return false
	}
	t.connected = false
	t.seen.Closures++
	t.forget()
	return t.become(Dead, at)
}

// Record takes the outcome of one call or probe of a generation and says whether the state changed. Latency counts
// for Answered only.
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
	case Broken:
		// Any byte is life: a broken answer fails, but it ends a silence.
		t.misses = 0
	default:
		return false
	}
	return t.miss(at)
}

func (t *Tracker) hit(slow bool, at time.Time) (changed bool) {
	t.seen.Answered++
	t.seen.LastSuccess = at
	t.seen.ConsecutiveFailures, t.misses = 0, 0
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
		return t.become(Degraded, at) // it answers again, but some of the answers were slow
	case state == Healthy && t.slow >= t.config.Down:
		return t.become(Degraded, at)
	}
	return false
}

func (t *Tracker) miss(at time.Time) (changed bool) {
	t.seen.Missed++
	t.seen.LastFailure = at
	t.seen.ConsecutiveFailures++
	t.hits, t.slow, t.fast = 0, 0, 0
	switch state := t.State(); {
	case state != Unresponsive && t.misses >= t.config.Down:
		return t.become(Unresponsive, at)
	case state == Healthy && t.seen.ConsecutiveFailures >= t.config.Down:
		return t.become(Degraded, at)
	}
	return false
}

// forget ends every run: nothing of an old generation counts in a new one.
func (t *Tracker) forget() {
	t.misses, t.hits, t.slow, t.fast = 0, 0, 0, 0
	t.seen.ConsecutiveFailures = 0
}

func (t *Tracker) become(s State, at time.Time) (changed bool) {
	if t.State() == s {
		return false
	}
	t.seen.Since = at
	t.state.Store(int32(s))
	return true
}
