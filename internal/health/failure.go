package health

import (
	"slices"
	"time"
)

// Failure is one failure of a server: a connection that ended, a start that failed, or a call or probe
// without a usable response.
type Failure struct {
	At     time.Time
	Kind   string        // Kind is one of Kinds.
	Detail string        // Detail tells failures of one kind apart, in one line. Secrets are masked.
	Cause  string        // Cause is the code of the doctor's cause; empty: it is not known.
	Output string        // Output is the line of stderr that tells most. Secrets are masked.
	Ran    time.Duration // Ran is how long a process that exited had run.
}

// Kinds of failures.
const (
	Exited       = "exit"         // the process exited
	NotStarted   = "start"        // the process could not be started
	TimedOut     = "timeout"      // no response in time
	Refused      = "refused"      // no connection
	Reset        = "reset"        // the connection was lost
	Unavailable  = "unavailable"  // the server returned an error of its own, such as 503
	Throttled    = "throttled"    // too many requests
	Unauthorized = "unauthorized" // credentials were rejected
	Protocol     = "protocol"     // what it sent is not MCP
)

// Kinds lists all kinds.
var Kinds = []string{Exited, NotStarted, TimedOut, Refused, Reset, Unavailable, Throttled, Unauthorized, Protocol}

// maxFailures is how many failures are kept: more than attempts before a pause.
const maxFailures = 16

// Failed records a connection that ended or a start that failed.
func (t *Tracker) Failed(f Failure) {
	t.seen.LastFailure, t.seen.LastCause = f.At, f.Detail
	t.seen.ConsecutiveFailures++
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
