package event

// Kind is what happened. The values are stable.
type Kind string

// Events of the server.
const (
	Started       Kind = "started"        // a server process was started
	Ready         Kind = "ready"          // the first handshake succeeded
	Restored      Kind = "restored"       // the session was restored on a new server process or connection
	Died          Kind = "died"           // the process exited or the connection was lost
	Waiting       Kind = "waiting"        // gauze waits before the next start
	Opened        Kind = "opened"         // crash loop: restarts are paused
	GaveUp        Kind = "gave-up"        // the failure is permanent, and the server is not started again
	HealthChanged Kind = "health-changed" // the state changed from From to To
	ProbeMissed   Kind = "probe-missed"   // a liveness probe timed out
	Hung          Kind = "hung"           // the server is unresponsive and idle, and is being replaced
	Healed        Kind = "healed"         // a fix works; Detail describes it
	Treating      Kind = "treating"       // a fix is being tried; Detail describes it
	Refused       Kind = "refused"        // the server is reachable but rejects every request; Detail says why
	ListChanged   Kind = "list-changed"   // the server's tools, resources or prompts changed with a restart
	LoginRenewed  Kind = "login-renewed"  // the login to the server was renewed
	LoginEnded    Kind = "login-ended"    // the login to the server can no longer be used; Detail says why
	LoginUnsaved  Kind = "login-unsaved"  // the renewed login could not be stored, and is only in memory; Detail says why
	LoginNeeded   Kind = "login-needed"   // a person has to log in to the server; Cause says why, and how
	Judged        Kind = "judged"         // a task decided about a server that fails; To is the verdict, Detail the reason
	Stopping      Kind = "stopping"       // the server is being stopped
	Stopped       Kind = "stopped"        // the server was stopped
)

// Events of a call.
const (
	Replayed    Kind = "replayed"    // the call was sent again
	Unknown     Kind = "unknown"     // the call was answered with fault.OutcomeUnknown
	Failed      Kind = "failed"      // the call was answered with another fault
	TimedOut    Kind = "timed-out"   // the call exceeded its timeout
	Cancelled   Kind = "cancelled"   // the client cancelled the call
	Quarantined Kind = "quarantined" // the call was in flight at two consecutive crashes and is rejected for a while
	Repaired    Kind = "repaired"    // the arguments or the tool's name were repaired
	Saved       Kind = "saved"       // the call would have failed without gauze, and succeeded; Detail says how: replayed, waited, repaired or corrected
	Unverified  Kind = "unverified"  // calls of this tool cannot be validated; reported once
	Explained   Kind = "explained"   // the server rejected the arguments, and gauze added what to change
	Diagnosed   Kind = "diagnosed"   // the call failed because of the server's setup; Cause says why. Reported once for each tool and cause
	Corrected   Kind = "corrected"   // a model corrected a rejected call, and the corrected call was sent; Model says how
	Proposed    Kind = "proposed"    // a model corrected a rejected call, and the caller was shown the correction; it was not sent
	Uncorrected Kind = "uncorrected" // a model was asked to correct a rejected call, without success; Detail says why
)

// Events of messages that the client does not receive.
const (
	Stray   Kind = "stray"   // the server wrote a line to stdout that is not a message
	Dropped Kind = "dropped" // the server sent a late, duplicate or unrequested response
)
