package kernel

import (
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// holdUntil returns until when a call is held while the server is down. It waits for the restart that follows
// the loss of a server, however long that takes, within its patience. Once a restart has failed, it is held
// only as long as a restart is likely to take: since the loss, or since the attempt that is in progress. How
// long the start of a server that was asleep may take is up to the restart rules.
func (l *likeness) holdUntil(c *Call, now time.Time) time.Time {
	if l.s.sleep.starting() {
		return never
	}
	until := c.waitsSince().Add(l.s.config.Timing.Patience)
	if l.s.link.trouble == nil || c.class == Start { // endStarts ends the wait for a session
		return until
	}
	if likely := likelyBack(l.s.link.trouble, now, l.s.config.Timing.Patience); likely.Before(until) {
		return likely
	}
	return until
}

// likelyBack returns by when a server that is down is back if the next restart succeeds. A server at a URL is
// restarted by others, who may take all of the patience.
func likelyBack(t *upstream.Trouble, now time.Time, patience time.Duration) time.Time {
	switch {
	case t.Likely == 0:
		return t.Since.Add(patience)
	case t.Attempts < 2 && !t.Open, t.NextTry.IsZero() && !t.Open:
		return now.Add(patience) // the first restart, or a different way to start it is being tried
	case !t.NextTry.IsZero() && !t.NextTry.After(now):
		return t.NextTry.Add(t.Likely) // it is in progress
	}
	return t.Since.Add(t.Likely)
}

// hopeless reports whether the server will not be started or reached again while the call may wait.
func (l *likeness) hopeless(c *Call) bool {
	t := l.s.link.trouble
	switch {
	case t == nil:
		return false
	case t.Permanent || t.Open && t.NextTry.IsZero():
		return true
	case c.class == Start && !t.Open:
		return false
	}
	now := time.Now()
	until := l.holdUntil(c, now)
	return now.After(until) || t.NextTry.After(until)
}
