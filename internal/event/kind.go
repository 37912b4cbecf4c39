package event

// Kind says what happened, in one stable word.
type Kind string

// The life of the server.
const (
	Started       Kind = "started"        // a process was started
	Ready         Kind = "ready"          // the first handshake succeeded
	Restored      Kind = "restored"       // a later generation has its session back
	Died          Kind = "died"           // the process ended or the connection broke
	Waiting       Kind = "waiting"        // a pause before the next start
	Opened        Kind = "opened"         // crash loop: restarts are paused
	GaveUp        Kind = "gave-up"        // permanent: no more starts
	HealthChanged Kind = "health-changed" // From and To say how
	ProbeMissed   Kind = "probe-missed"
	Hung          Kind = "hung"     // no sign of life and no work: it is being replaced
	Healed        Kind = "healed"   // it is started or reached in another way now; Detail says how
	Treating      Kind = "treating" // another way to start or reach it is being tried; Detail says which
	Refused       Kind = "refused"  // it is there, but takes no request of ours; Detail says why
	ListChanged   Kind = "list-changed"
	Stopping      Kind = "stopping"
	Stopped       Kind = "stopped"
)

// The life of a call.
const (
	Served      Kind = "served" // answered; one per call, so only emitted where somebody asked for it
	Replayed    Kind = "replayed"
	Unknown     Kind = "unknown" // answered with outcome-unknown
	Failed      Kind = "failed"  // answered with another fault of ours
	TimedOut    Kind = "timed-out"
	Cancelled   Kind = "cancelled"
	Quarantined Kind = "quarantined"
	Repaired    Kind = "repaired"   // its arguments were changed, or its tool's name
	Unverified  Kind = "unverified" // calls of this tool pass unchecked; said once
	Explained   Kind = "explained"  // the server rejected its arguments, and what to change was added
)

// What a server sent and nobody got.
const (
	Stray   Kind = "stray"   // a line on stdout that is no message
	Dropped Kind = "dropped" // a late, duplicate or foreign answer
)
