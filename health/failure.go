package health

import (
	"slices"
	"time"
)

// Failure is one failure of a server: a connection that ended, a start that failed, or a call or probe
// without a usable response.
type Failure struct {
	At     time.Time     // when it happened
	Kind   Kind          // what happened
	Detail string        // tells failures of one kind apart, in one line; secrets are masked
	Cause  string        // code of the diagnosis; empty if there is none
	Output string        // line of stderr that tells most; secrets are masked
	Ran    time.Duration // how long a process that exited had run
}

// Kind is how a server failed.
type Kind string

// How a server failed.
const (
	Exited       Kind = "exit"         // the process exited
	NotStarted   Kind = "start"        // the process could not be started
	TimedOut     Kind = "timeout"      // no response in time
	Refused      Kind = "refused"      // no connection
	Reset        Kind = "reset"        // the connection was lost
	Unavailable  Kind = "unavailable"  // the server returned an error of its own, such as 503
	Throttled    Kind = "throttled"    // too many requests
	Unauthorized Kind = "unauthorized" // credentials were rejected
	Protocol     Kind = "protocol"     // what the server sent is not MCP
)

// Kinds lists all kinds.
var Kinds = []Kind{Exited, NotStarted, TimedOut, Refused, Reset, Unavailable, Throttled, Unauthorized, Protocol}

// maxFailures is how many failures are kept: more than attempts before a pause.
const maxFailures = 16

// Failed records a connection that ended or a start that failed.
func (t *Tracker) Failed(f Failure) {
	t.seen.LastFailure, t.seen.LastCause = f.At, f.Detail
	t.seen.ConsecutiveFailures++
	if t.rested { // so did the start that followed
		t.rested = false
		t.become(Dead, f.At)
	}
	if len(t.failures) == maxFailures {
		t.failures = slices.Delete(t.failures, 0, 1)
	}
	t.failures = append(t.failures, f)
}

// Retrying records the cause that the doctor found for the last failure, and when the next attempt is
// due; zero: none is.
func (t *Tracker) Retrying(cause string, next time.Time) {
	t.seen.NextTry = next
	if n := len(t.failures); n > 0 {
		t.failures[n-1].Cause = cause
	}
}

// Failures returns the last failures, oldest first, also those before the last response.
func (t *Tracker) Failures() []Failure { return slices.Clone(t.failures) }
