// Package health derives one of four states from the outcomes of calls and probes. It is the circuit
// breaker of gauze. A program reads a [Snapshot], the last [Failure] values and an [Outage] from a
// gauze.Transport; a [Tracker] is what derives the state.
package health

// The files of this package:
//
//	health.go      State, Outcome and Config
//	snapshot.go    Snapshot and Recovery: what is known about a server at one time
//	tracker.go     Tracker, which turns the outcomes of one generation into a state
//	failure.go     Failure: the last ones are kept, with time and cause
//	outage.go      Outage: why a server is unavailable
//	histogram.go   Histogram, which counts durations

import "time"

// State is how a server is doing, judged by its recent responses. The order is from worst to best.
type State int

// How a server is doing.
const (
	Dead         State = iota // not connected: calls wait
	Unresponsive              // several probes or calls in a row got no response
	Degraded                  // connected, but slow, failing or only just restored: calls pass
	Healthy                   // connected, and recent calls were answered: calls pass
)

// String returns the state as one word.
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

// Outcome is how a call or probe ended, as far as that says something about the server.
type Outcome int

// How a call or probe ended.
const (
	// Excluded says nothing about the server: the client cancelled the call, the tool reported an
	// error, or gauze itself failed. As the zero value it changes nothing.
	Excluded Outcome = iota
	Answered         // the server sent a valid response
	NoAnswer         // the server did not respond in time
	Broken           // the response was not valid: the server is alive, but fails
)

// String returns the outcome as one word.
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

// Config configures a Tracker. The zero value of each field is its default.
type Config struct {
	// Down is how many missing responses in a row make a server unresponsive, and how many failures
	// or slow responses in a row make it degraded. Default 3: one is chance, and two may be a pause
	// of a garbage collector.
	Down int
	// Up is how many responses in a row improve the state. Default 2, fewer than Down, because a
	// server that answers should be used.
	Up int
	// Slow is how long a response may take before it counts as slow. Default 30s; negative disables
	// it.
	Slow time.Duration
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
