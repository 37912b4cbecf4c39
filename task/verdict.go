package task

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/llm"
)

// Action is what a task does about a server, see [Evaluate].
type Action string

const (
	ActionContinue        Action = "continue"         // go on: with this server, or without it
	ActionRetryConnection Action = "retry_connection" // restart or reconnect the server, then repeat the step
	ActionStopTask        Action = "stop_task"        // give up and report what was done
)

// Need is how many of the remaining steps of a task use a server.
type Need string

const (
	NeedUnknown Need = ""     // it is not known
	NeedAll     Need = "all"  // every remaining step uses the server
	NeedSome    Need = "some" // some of them do
	NeedNone    Need = "none" // none of them does
)

// Work is what a server is used for. The zero value of each field means that it is not known.
type Work struct {
	Goal          string    // what the task is for, in words. Only a model reads it.
	Done, Total   int       // Done and Total count steps.
	Deadline      time.Time // when the task must be complete
	Needs         Need      // how many of the remaining steps use the server
	OthersHealthy bool      // the other servers of the task work

	Completed []string        // what is done, in words, oldest first. Only a model reads it.
	Remaining []RemainingStep // what is left, in order
}

// RemainingStep is a step of a task that is not done yet.
type RemainingStep struct {
	Name        string // what the step does. Only a model reads it.
	NeedsServer bool   // it uses the server
	Required    bool   // the task stops if the step cannot be done
}

// Situation is what is known about a server and the task that uses it. [Observe] returns it
// without the Task. Only Health.State is required; its zero value is [health.Dead].
type Situation struct {
	Server string          // the name of the server
	Health health.Snapshot // its state and what led to it
	Busy   bool            // the server is working on a call
	// Reconnecting means that an attempt to reconnect is in progress.
	Reconnecting bool

	Failures      []health.Failure // the last failures, oldest first
	Reconnects    int              // counts the attempts to reconnect since the last response
	Automatic     int              // counts those of them that Gauze made by itself. A model may choose MaxReconnects more.
	MaxReconnects int              // limits Reconnects. Default 5.
	NextTry       time.Time        // the earliest time of the next attempt

	// Cause is the diagnosis, or what happened if there is none. Whether its code is of a permanent cause is known to Gauze.
	Cause fault.Cause
	// CauseConfidence is how certain Cause is, from 0 to 1. Default 0.7, which is likely.
	CauseConfidence float64
	// Permanent means that only a change can end the failure, whatever Cause is.
	Permanent bool

	Task Work // what the server is used for
}

// Verdict is a decision about a server, with its reason.
type Verdict struct {
	Action     Action  // what the task does
	Reason     string  // why, in one sentence
	Confidence float64 // from 0 to 1
	ByModel    bool    // a model decided, within the bounds of the rules

	Asked    bool          // a model was asked
	Model    string        // the name of the model that answered
	Usage    llm.Usage     // what the answer cost
	Took     time.Duration // how long the answer took
	Rejected string        // why the rules decided although a model was asked
}

// Evaluate decides what a task does about a server that may be failing: continue, reconnect or
// stop.
//
// Rules decide without a model. With one, they bound its choice: it is asked if the server is
// unresponsive or dead, and a restart did not help. A server that works never stops a task, and nothing
// does before a restart was tried, unless the cause is certain to be permanent. No attempt to reconnect
// is made for such a cause after the first, past MaxReconnects or past the deadline, and a task that
// needs a server which is gone does not go on. If the model fails, takes longer than a minute or answers
// outside of these bounds, the rules decide. The question contains no secret that Gauze recognizes.
//
// model may be nil. Evaluate returns an error only if s is invalid. It returns when ctx is
// done, with the verdict of the rules.
func Evaluate(ctx context.Context, s Situation, model llm.Model) (Verdict, error) {
	v, err := verdict.Evaluate(ctx, internalSituation(s, time.Now()), model)
	if err != nil {
		return Verdict{}, err
	}
	return publicVerdict(v), nil
}

// Observed is a server that is running: a [*gauze.Transport] or a [*gauze.Wrap].
type Observed interface {
	Health() health.Snapshot
	Failures() []health.Failure
	Outage() *health.Outage
}

// Observe returns what is known about a server, for [Evaluate]. name is what it is called.
func Observe(name string, server Observed) Situation {
	return situationOf(name, server.Health(), server.Failures(), server.Outage(), time.Now())
}

// knownCause is the confidence of a cause that is given without one.
const knownCause = 0.7

// internalSituation returns a situation as the rules read it at a point in time.
func internalSituation(s Situation, now time.Time) verdict.Situation {
	since := func(at time.Time) time.Duration { return max(0, now.Sub(at)) }
	in := verdict.Situation{
		Server: s.Server, Health: s.Health.State.String(), Busy: s.Busy, Reconnecting: s.Reconnecting, Consecutive: s.Health.ConsecutiveFailures,
		Reconnects: s.Reconnects, Automatic: s.Automatic, MaxReconnects: s.MaxReconnects,
		Cause: verdict.Cause{Permanent: s.Permanent, Confidence: s.CauseConfidence},
		Task:  verdict.Task{Goal: s.Task.Goal, Done: s.Task.Done, Total: s.Task.Total, Needs: verdict.Need(s.Task.Needs), OthersHealthy: s.Task.OthersHealthy, Completed: s.Task.Completed},
		Hide:  redact.EnvironSecrets(os.Environ()).Redact,
	}
	if c := s.Cause; c.Code != "" || c.Known() || len(c.Changes) > 0 {
		in.Cause.Code, in.Cause.Explanation, in.Cause.Permanent = c.Code, c.Explanation, s.Permanent || doctor.Permanent(c.Code)
		in.Cause.Confidence = cmp.Or(s.CauseConfidence, knownCause)
	} else if s.Permanent {
		in.Cause.Confidence = cmp.Or(s.CauseConfidence, 1)
	}
	if at := s.Health.LastSuccess; !at.IsZero() {
		in.Answered, in.SinceSuccess = true, since(at)
	}
	if at := s.Task.Deadline; !at.IsZero() {
		in.Task.HasDeadline, in.Task.Left = true, at.Sub(now)
	}
	if s.NextTry.After(now) {
		in.RetryIn = s.NextTry.Sub(now)
	}
	for _, f := range s.Failures {
		in.Failures = append(in.Failures, verdict.Failure{Kind: f.Kind, Detail: f.Detail, Cause: verdict.Why(f.Cause, f.Output), Ran: f.Ran, Ago: since(f.At)})
	}
	for _, r := range s.Task.Remaining {
		in.Task.Remaining = append(in.Task.Remaining, verdict.Step{Name: r.Name, Needs: r.NeedsServer, Required: r.Required})
	}
	return in
}

func publicVerdict(v verdict.Verdict) Verdict {
	out := Verdict{Action: Action(v.Action), Reason: v.Reason, Confidence: v.Confidence, ByModel: v.By == verdict.ByModel}
	if c := v.Consulted; c != nil {
		out.Asked, out.Model, out.Usage, out.Took, out.Rejected = true, c.Model, c.Usage, c.Took, c.Rejected
	}
	return out
}

// situationOf returns the situation of a running server. down is nil unless the server is unavailable.
func situationOf(name string, h health.Snapshot, failures []health.Failure, down *health.Outage, now time.Time) Situation {
	s := Situation{Server: name, Health: h, Failures: failures}
	if down == nil {
		return s
	}
	s.Reconnects = max(0, down.Attempts-1) // the first attempt was the connection that was lost
	if down.Code == fault.CrashLoop {      // it connected each time, and failed again
		s.Reconnects = max(s.Reconnects, len(failures)-1)
	}
	s.Automatic = s.Reconnects
	s.NextTry, s.Permanent, s.Cause = h.NextTry, down.Permanent, down.Cause
	if !s.Cause.Known() && len(s.Cause.Changes) == 0 {
		s.Cause = fault.Cause{Code: string(down.Code), Explanation: down.Detail}
	}
	s.Reconnecting = !down.NextTry.IsZero() && !down.NextTry.After(now)
	if down.Certain {
		s.CauseConfidence = 1 // gauze does not try again either
	} else if down.Permanent {
		s.CauseConfidence = knownCause
	}
	return s
}
