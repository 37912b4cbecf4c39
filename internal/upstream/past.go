package upstream

import (
	"maps"
	"time"

	"github.com/gauze-mcp/gauze/internal/health"
)

// Reasons for which a connection ends. The set is closed: metrics use them as labels.
const (
	ReasonExit        = "exit"         // the process exited
	ReasonSignal      = "signal"       // a signal ended the process, and gauze did not send it
	ReasonHung        = "hung"         // gauze ended a server that did not respond
	ReasonConnection  = "connection"   // the server at a URL is not reachable
	ReasonSession     = "session"      // the server at a URL no longer knows the session
	ReasonRefused     = "refused"      // the server at a URL rejects every request
	ReasonLogin       = "login"        // a person has to log in to the server at a URL
	ReasonStartFailed = "start-failed" // the server sent no message, or the session could not be restored
	ReasonRestart     = "restart"      // the user asked for a restart
	ReasonStopped     = "stopped"      // the client left
)

// reasonTexts are the reasons in words.
var reasonTexts = map[string]string{
	ReasonExit: "it exited", ReasonSignal: "it was killed", ReasonHung: "it hung", ReasonConnection: "not reachable", ReasonSession: "session lost",
	ReasonRefused: "rejects requests", ReasonLogin: "login required", ReasonStartFailed: "did not start", ReasonRestart: "you restarted it", ReasonStopped: "stopped",
}

// ReasonText returns a reason in words that follow the number of restarts.
func ReasonText(reason string) string { return reasonTexts[reason] }

// Reason returns why a connection ended. ready reports whether it was published.
func (e Evidence) Reason(ready bool) string {
	switch {
	case e.ByUs == ClientLeft:
		return ReasonStopped
	case e.ByUs == UserRestart:
		return ReasonRestart
	case e.Refused != nil:
		return ReasonRefused
	case e.Gone:
		return ReasonSession
	case e.Remote && e.Spawn != nil:
		return ReasonConnection
	case !ready || e.Stage < Spoke:
		return ReasonStartFailed
	case e.ByUs != "":
		return ReasonHung
	case e.Signal != "":
		return ReasonSignal
	}
	return ReasonExit
}

// Past is what happened to the connections of an Upstream.
type Past struct {
	Closures   map[string]uint64 // Closures counts ended connections by reason.
	Recovery   health.Histogram  // Recovery is how long the server was away.
	LastReason string            // LastReason is why the last connection ended, other than because the client left.
	LastDeath  time.Time         // LastDeath is when.
}

func (p *Past) add(reason string, at time.Time) {
	if p.Closures == nil {
		p.Closures = map[string]uint64{}
	}
	p.Closures[reason]++
	if reason != ReasonStopped {
		p.LastReason, p.LastDeath = reason, at
	}
}

// Past returns what happened so far.
func (u *Upstream) Past() Past {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.past
	p.Closures = maps.Clone(p.Closures)
	return p
}
