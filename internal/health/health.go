// Package health turns outcomes into one of four states: the circuit breaker, and the only one there is.
//
//	health.go    State, Outcome, Config: the words and the numbers
//	tracker.go   Tracker: outcomes of one generation in, state out
package health

import "time"

// State is what the gate reads before every call. The order is from worst to best.
type State int

const (
	Dead         State = iota // no process, no connection, or given up on: the gate holds calls
	Unresponsive              // connected, but several probes or calls in a row got no answer
	Degraded                  // connected; slow, failing, or just recovered: the gate passes, and says so
	Healthy                   // connected, the recent score is clean: the gate passes
)

func (s State) String() string {
	switch s {
	case Dead:
		return "dead"
	case Unresponsive:
		return "unresponsive"
	case Degraded:
		return "degraded"
	case Healthy:
		return "healthy"
	}
	return "invalid"
}

// Outcome is how one call or probe ended, as far as it tells of the server.
type Outcome int

const (
	// Excluded says nothing of the server: the client cancelled, the tool itself reported an error, or our own probe
	// failed. It is the zero value, so that an outcome nobody judged changes nothing.
	Excluded Outcome = iota
	Answered         // a proper answer came
	NoAnswer         // nothing came within the time: a miss
	Broken           // something came, and it was no proper answer: the server lives, but fails
)

func (o Outcome) String() string {
	switch o {
	case Excluded:
		return "excluded"
	case Answered:
		return "answered"
	case NoAnswer:
		return "no-answer"
	case Broken:
		return "broken"
	}
	return "invalid"
}

// Config holds the numbers; the zero value of each means its default.
type Config struct {
	Down int           // misses in a row that take the server down a state; 3: one is chance, two may be a pause of a collector
	Up   int           // answers in a row that bring it back; 2: fewer than Down, for a server that answers should be used
	Slow time.Duration // an answer that takes longer is slow; 30 s, half the call deadline; less than 0: never
}

func (c Config) withDefaults() Config {
	if c.Down <= 0 {
		c.Down = 3
	}
	if c.Up <= 0 {
		c.Up = 2
	}
	if c.Slow == 0 {
		c.Slow = 30 * time.Second
	}
	return c
}
