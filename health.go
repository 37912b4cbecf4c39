package gauze

import "time"

// State is how a server is doing, judged by its recent responses.
type State string

const (
	StateDead         State = "dead"         // not connected; calls wait
	StateUnresponsive State = "unresponsive" // several probes or calls in a row got no response
	StateDegraded     State = "degraded"     // connected, but slow, failing or only just restored
	StateHealthy      State = "healthy"      // connected, and recent calls were answered
)

// Health is a snapshot of a server's state and of what led to it.
type Health struct {
	State               State     // State is the current state.
	Since               time.Time // Since is when State last changed. It is zero before the first connection.
	Generation          int       // Generation counts the server's processes or connections, from 1.
	ConsecutiveFailures int       // ConsecutiveFailures counts failures since the last response, failed starts included.
	LastSuccess         time.Time // LastSuccess is when a call or probe was last answered.
	LastFailure         time.Time // LastFailure is when a call, a probe, a connection or a start last failed.
	LastCause           string    // LastCause is what the last failure was, in one line.
	NextTry             time.Time // NextTry is when the next attempt to connect is due. It is zero if none is.

	Restarts   uint64 // Restarts counts connections after the first.
	Closures   uint64 // Closures counts connections that ended.
	Recoveries uint64 // Recoveries counts how often the server became healthy again.
	Answered   uint64 // Answered counts responses.
	Missed     uint64 // Missed counts calls and probes without a usable response.
	Late       uint64 // Late counts outcomes of an earlier generation, which do not affect State.
}

// Counters counts what happened to the calls of a session.
type Counters struct {
	Calls     uint64 // Calls counts requests from the client.
	Answered  uint64 // Answered counts requests that the server answered.
	Failed    uint64 // Failed counts requests that were answered with a Fault.
	Unknown   uint64 // Unknown counts the faults with CodeOutcomeUnknown.
	Replayed  uint64 // Replayed counts requests that were sent again.
	Late      uint64 // Late counts responses that arrived after the request was cancelled or timed out.
	Foreign   uint64 // Foreign counts responses to requests that were never sent.
	Stray     uint64 // Stray counts lines on stdout that are not messages.
	FromCache uint64 // FromCache counts lists that were answered from the cache while the server was down.
	Repaired  uint64 // Repaired counts calls whose arguments or tool name were repaired.

	Corrected   uint64 // Corrected counts rejected calls that were sent again with a model's arguments.
	Proposed    uint64 // Proposed counts rejected calls whose correction was shown to the caller and not sent.
	Uncorrected uint64 // Uncorrected counts rejected calls that a model was asked about without success.

	ModelInputTokens  uint64  // ModelInputTokens counts the tokens of questions to models.
	ModelOutputTokens uint64  // ModelOutputTokens counts the tokens of their answers.
	ModelCost         float64 // ModelCost is what they cost in US dollars, 0 if prices are not configured.
}

// Recovery is one restart of a server.
type Recovery struct {
	Took  time.Duration // Took is the time from the loss of the server to the restored session.
	Start time.Duration // Start is the part of Took that the server needed to start.
}
