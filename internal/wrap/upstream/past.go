package upstream

import (
	"maps"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/health"
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
	ReasonRestart     = "restart"      // the user asked for a restart, or changed the server
	ReasonIdle        = "idle"         // nothing used the server; the next call starts it
	ReasonStopped     = "stopped"      // the client left
)

// reasonTexts are the reasons in words.
var reasonTexts = map[string]string{
	ReasonExit: "it exited", ReasonSignal: "it was killed", ReasonHung: "it hung", ReasonConnection: "not reachable", ReasonSession: "session lost",
	ReasonRefused: "rejects requests", ReasonLogin: "login required", ReasonStartFailed: "did not start", ReasonRestart: "you restarted it", ReasonIdle: "not in use", ReasonStopped: "stopped",
}

// NeverRead is why a call is sent again that was still in the pipe to a server that ended.
const NeverRead = "the server never read it"

// ReasonText returns a reason in words that follow the number of restarts.
func ReasonText(reason string) string { return reasonTexts[reason] }

// reasonOf returns why a connection ended. ready reports whether it was published.
func reasonOf(e Evidence, ready bool) string {
	switch {
	case e.ByUs == ClientLeft:
		return ReasonStopped
	case e.ByUs == UserRestart, e.ByUs == NewCommand:
		return ReasonRestart
	case e.ByUs == NotNeeded:
		return ReasonIdle
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
	Closures   map[string]uint64 // ended connections by reason
	Recovery   health.Histogram  // how long the server was away
	LastReason string            // why the last connection ended, other than because the client left or nothing used it
	LastDeath  time.Time         // when
}

const maxRecoveries = 10_000

// outages records when the server was away.
type outages struct {
	past       Past
	died       time.Time // when the last generation ended; zero if none has, or if gauze stopped it on purpose
	recoveries []health.Recovery
}

// began records that a connection ended at a time, and why.
func (o *outages) began(reason string, at time.Time) {
	if o.past.Closures == nil {
		o.past.Closures = map[string]uint64{}
	}
	o.past.Closures[reason]++
	if reason != ReasonStopped && reason != ReasonIdle {
		o.past.LastReason, o.past.LastDeath = reason, at
	}
	if o.died = at; reason == ReasonRestart || reason == ReasonIdle {
		o.died = time.Time{} // what follows is not a recovery
	}
}

// recovered records that the server is there again. Its first message came after start.
func (o *outages) recovered(now time.Time, start time.Duration) {
	if o.died.IsZero() {
		return
	}
	o.past.Recovery.Add(now.Sub(o.died))
	if len(o.recoveries) < maxRecoveries {
		o.recoveries = append(o.recoveries, health.Recovery{Took: now.Sub(o.died), Start: start})
	}
}

// Past returns what happened so far.
func (u *Upstream) Past() Past {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.outages.past
	p.Closures = maps.Clone(p.Closures)
	return p
}

// Recoveries returns the recoveries so far.
func (u *Upstream) Recoveries() []health.Recovery {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.outages.recoveries)
}
