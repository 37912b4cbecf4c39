// Package history decides whether what clients were told agrees with what the
// server really did.
//
//	history.go  what happened, in order: calls made, answers received, servers killed
//	check.go    the rules, and the verdict
//
// It is pure: events and effects in, verdict out. Nothing here knows how the
// events came about.
package history

import "sync"

// Kind says what happened.
type Kind int

const (
	Invoke  Kind = iota // a call was made
	OK                  // the server's own answer arrived
	Fail                // an answer says that the call failed, and why
	Unknown             // an answer says that nobody knows whether the call took effect
	Foreign             // an answer arrived that is none of these
	Kill                // the server was killed
	Harm                // something else was done to the server, or to one call
)

// Event is one thing that happened; never edited.
type Event struct {
	Kind Kind
	ID   string // of the call, as the bytes on the wire

	Effect bool   // Invoke: the call leaves a mark in the ledger
	Key    string // Invoke: what makes the call unique; OK: what came back

	// Invoke: what the call sets, if it is idempotent: it may be done more than
	// once, but not after a later call set the same to something else.
	Register string

	Code   string // Fail: the name of the fault; Foreign: what arrived instead
	Unsent bool   // Fail: the answer claims that the call did not happen

	PID     int  // Kill: the process
	Settled bool // Kill: it had answered everything it had read, as far as it was concerned
}

// Effect is a mark in the ledger: the server really did it.
type Effect struct {
	Key string
	PID int // who did it
}

// Log collects events in the order they happen, from many goroutines.
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

// Events is the history so far.
func (l *Log) Events() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[:len(l.events):len(l.events)]
}
