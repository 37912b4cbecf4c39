package upstream

import (
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/process"
)

// kindOfCode is how the faults of a server that is unavailable count. The evidence decides about others.
var kindOfCode = map[fault.Code]health.Kind{
	fault.CommandNotFound: health.NotStarted, fault.CommandNotExecutable: health.NotStarted, fault.CommandBadFormat: health.NotStarted,
	fault.WorkdirMissing: health.NotStarted, fault.SpawnFailed: health.NotStarted,
	fault.StartTimeout: health.TimedOut, fault.AnswerMissing: health.TimedOut,
	fault.ServerUnreachable: health.Refused, fault.HostNotFound: health.Refused, fault.TLSFailed: health.Reset,
	fault.HTTPUnavailable: health.Unavailable, fault.LoginUnavailable: health.Unavailable, fault.RateLimited: health.Throttled,
	fault.AuthRequired: health.Unauthorized, fault.AuthDenied: health.Unauthorized,
	fault.NotMCP: health.Protocol, fault.HTTPRefused: health.Protocol, fault.SessionChanged: health.Protocol,
}

// kindOf returns how a generation failed whose end is reported with a code.
func kindOf(e Evidence, code fault.Code) health.Kind {
	kind, known := kindOfCode[code]
	switch {
	case e.Gone:
		return health.Reset
	case known:
		return kind
	case e.ByUs != "" && e.ByUs != process.ClosedStdout: // an exit closes it as well, and may take long on a busy machine
		return health.TimedOut
	case e.Remote:
		return health.Reset
	case e.Spawn != nil:
		return health.NotStarted
	}
	return health.Exited
}

// failed records that a generation ended as the plan says.
func (u *Upstream) failed(e Evidence, p plan, at time.Time) {
	secrets := u.Spec.Secrets()
	f := health.Failure{At: at, Kind: kindOf(e, p.code), Detail: secrets.Passage(e.Sentence()), Output: secrets.Quote(e.Telling()), Ran: e.Ran}
	u.mu.Lock()
	u.tracker.Failed(f)
	from, to := u.news()
	generation := u.tracker.Snapshot().Generation
	u.mu.Unlock()
	u.changed(generation, from, to)
}

// retrying records why the last generation failed, as far as the doctor knows, and what happens next.
func (u *Upstream) retrying(t Trouble) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tracker.Retrying(t.Cause.Code, t.NextTry)
}

// Failures returns the last failures of the server, each with its time and cause, oldest first.
func (u *Upstream) Failures() []health.Failure {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tracker.Failures()
}

// Certain reports whether the failure is known to last until something is changed, and not only
// concluded from its repetition.
func (t *Trouble) Certain() bool {
	repeated := t.Code == fault.HostNotFound || t.Code == fault.ServerExitsEarly && t.Attempts > 1
	return t.Permanent && !repeated
}

// Soonest returns when the next attempt is due: now, if it is in progress.
func Soonest(next, now time.Time) time.Time {
	if next.IsZero() || next.After(now) {
		return next
	}
	return now
}
