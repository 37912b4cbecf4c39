package taskrun

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
)

// knownCause is the confidence of a cause that the doctor reports without saying how certain it is,
// which means that it is likely.
const knownCause = 0.7

// situation returns what is known about the server.
func (s *server) situation() task.Situation {
	s.mu.Lock()
	session, listed := s.session, s.greeted && !s.stale
	s.mu.Unlock()
	health, trouble, now := session.Upstream().Snapshot(), session.Trouble(), time.Now()
	out := task.Situation{Silent: session.Silent(), Situation: verdict.Situation{
		Server: s.name, Transport: s.transport(), Health: health.State.String(), Consecutive: health.ConsecutiveFailures, Failures: s.failures(now),
		Hide: redact.EnvironSecrets(os.Environ()).Redact,
	}}
	if at := later(s.answered, health.LastSuccess); !at.IsZero() {
		out.Answered, out.SinceSuccess = true, max(0, now.Sub(at))
	}
	if trouble != nil {
		s.detail = plainDetail(string(trouble.Code), trouble.Detail)
	}
	out.Detail = s.detail
	connected := out.Health == "healthy" || out.Health == "degraded"
	if connected && listed {
		s.since = time.Time{}
		return out
	}
	if s.since.IsZero() {
		s.since = now
	}
	out.Since = s.since
	if connected { // a new process that has not answered yet
		return out
	}
	if trouble == nil {
		out.Reconnecting = out.Health == "dead"
		return out
	}
	if trouble.Since.Before(s.since) {
		s.since = trouble.Since
		out.Since = trouble.Since
	}
	out.RetryIn = max(0, trouble.NextTry.Sub(now))
	out.Reconnecting = !trouble.NextTry.IsZero() && !trouble.NextTry.After(now)
	out.Remedy = trouble.Cause.Remedy
	out.Cause = verdict.Cause{Code: trouble.Cause.Code, Explanation: trouble.Cause.Explanation, Permanent: trouble.Permanent || doctor.Permanent(trouble.Cause.Code)}
	if trouble.Cause.Known() || trouble.Permanent {
		out.Cause.Confidence = knownCause
	}
	if trouble.Certain() {
		out.Cause.Confidence = 1
	}
	if out.Cause.Permanent || now.Sub(out.Since) >= s.patience() { // a server that is replaced fails several times in a few seconds
		out.Reconnects = max(0, trouble.Attempts-1) // the first attempt was the connection that was lost
	}
	return out
}

// transport returns how the server is reached.
func (s *server) transport() string {
	if s.options.Spec.URL != "" {
		return "http"
	}
	return "stdio"
}

// failures returns the last failures of the server, also those in sessions that were replaced.
func (s *server) failures(now time.Time) (all []verdict.Failure) {
	for _, f := range append(slices.Clip(s.past), s.session.Upstream().Failures()...) {
		all = append(all, verdict.Failure{Kind: f.Kind, Detail: f.Detail, Cause: verdict.Why(f.Cause, f.Output), Ran: f.Ran, Ago: max(0, now.Sub(f.At))})
	}
	return all
}

// maxPast is how many failures of replaced sessions are kept.
const maxPast = 16

// replace ends the session and starts a new one.
func (s *server) replace() {
	s.past = append(s.past, s.session.Upstream().Failures()...)
	s.past = s.past[max(0, len(s.past)-maxPast):]
	s.answered = later(s.answered, s.session.Upstream().Snapshot().LastSuccess)
	s.close(true)
	s.start()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func plainDetail(code, detail string) string { return redact.Passage(cmp.Or(detail, code)) }

// patience returns how long a server that is down is waited for, and each attempt to reconnect.
func (s *server) patience() time.Duration {
	return cmp.Or(s.options.Timing.Patience, 30*time.Second) // as in package proxy
}

// whilePatient returns a context that ends when the server has been down for longer than a call
// waits. The session keeps an initialize while it tries again, as a client expects; a task judges.
func (s *server) whilePatient(ctx context.Context) (context.Context, context.CancelFunc) {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	patience := s.patience()
	return until(ctx, min(patience, time.Second), func() bool {
		t := session.Trouble()
		return t != nil && time.Since(t.Since) > patience
	})
}

// until returns a context that ends when a condition holds, which is checked at intervals.
func until(ctx context.Context, interval time.Duration, holds func() bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		look := time.NewTicker(interval)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				if holds() {
					cancel()
				}
			}
		}
	}()
	return ctx, cancel
}

// reconnect waits for the next attempt of the session. A session that makes none, because its server
// hangs or its failure is permanent, is replaced.
func (s *server) reconnect(ctx context.Context) {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	trouble := session.Trouble()
	if session.Upstream().Health().String() != "dead" || trouble != nil && trouble.NextTry.IsZero() {
		s.replace()
		_ = s.greet(ctx) // the next look at the situation shows what came of it
		return
	}
	before := 0
	if trouble != nil {
		before = trouble.Generation
	}
	timer := time.NewTimer(s.patience())
	defer timer.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		now := session.Trouble()
		if session.Upstream().Health().String() != "dead" || now != nil && now.Generation != before {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
