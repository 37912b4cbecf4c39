// Package history decides whether the responses that clients received agree with what the server
// did.
//
//	history.go  what happened, in order: calls, responses, kills
//	check.go    the rules and the verdict
//
// It is pure: events and effects in, verdict out, no matter how the events came about.
package history

import "sync"

// Kind is the kind of an event.
type Kind int

const (
	Invoke   Kind = iota // A call was made.
	OK                   // The server's own response arrived.
	Fail                 // The response is a fault: the call failed.
	Unknown              // The response says that it is unknown whether the call took effect.
	Foreign              // The response is none of these.
	Kill                 // The server was killed.
	Injected             // Another fault was injected into the server or one call.
)

// Event is something that happened. It is never modified.
type Event struct {
	Kind Kind
	ID   string // of the call, as on the wire

	Effect bool   // Invoke: the call adds an entry to the ledger
	Key    string // Invoke: identifies the call; OK: what the response returned

	// Register is what an idempotent call sets. It may take effect more than once, but not after a
	// later call has set the same register. Only for Invoke.
	Register string

	Code   string // Fail: the fault code; Foreign: the response
	Unsent bool   // Fail: the response claims that the call did not run

	PID     int  // Kill: the process
	Settled bool // Kill: the server had answered everything it had read
}

// Effect is an entry in the ledger: the server did it.
type Effect struct {
	Key string
	PID int // the process that did it
}

// Log collects events in order. It is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	events []Event
}

// Add appends an event.
func (l *Log) Add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// Events returns the events so far.
func (l *Log) Events() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[:len(l.events):len(l.events)]
}
