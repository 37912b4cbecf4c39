package health

import "time"

// Snapshot is a server's state at one time, and what led to it.
type Snapshot struct {
	State               State     // the current state
	Since               time.Time // when State last changed; zero before the first connection
	Generation          int       // counts the server's processes or connections, from 1; 0 before the first
	ConsecutiveFailures int       // failures since the last response, of any generation, failed starts included
	LastSuccess         time.Time // when a call or probe was last answered
	LastFailure         time.Time // when a call, a probe, a connection or a start last failed
	LastCause           string    // what the last failure was, in one line
	NextTry             time.Time // when the next attempt to connect is due; zero: it is connected, or none is

	Asleep bool // the server is not running because nothing needs it; the next call starts it

	Restarts   uint64 // connections after the first, other than those that ended a sleep
	Closures   uint64 // connections that ended, other than because nothing needed them
	Recoveries uint64 // how often the server became healthy again
	Answered   uint64 // responses
	Missed     uint64 // calls and probes without a usable response
	Late       uint64 // outcomes of an earlier generation, which do not affect State
}

// Recovery is one restart of a server.
type Recovery struct {
	Took  time.Duration // from the loss of the server to the restored session
	Start time.Duration // part of Took from the launch of the server to its first message
}
