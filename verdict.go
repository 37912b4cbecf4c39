package gauze

import (
	"context"
	"time"

	"github.com/gauze-mcp/gauze/internal/verdict"
	"github.com/gauze-mcp/gauze/llm"
)

// Action is what a task does about a server, see [EvaluateHealth].
type Action string

const (
	ActionContinue        Action = "continue"         // go on: with this server, or without it
	ActionRetryConnection Action = "retry_connection" // restart or reconnect the server, then repeat the step
	ActionStopTask        Action = "stop_task"        // give up and report what was done
)

// FailureKind is how a server failed.
type FailureKind string

const (
	FailureExit         FailureKind = "exit"         // the process exited
	FailureStart        FailureKind = "start"        // the process could not be started
	FailureTimeout      FailureKind = "timeout"      // no response in time
	FailureRefused      FailureKind = "refused"      // no connection
	FailureReset        FailureKind = "reset"        // the connection was lost
	FailureUnavailable  FailureKind = "unavailable"  // the server returned an error of its own, such as 503
	FailureThrottled    FailureKind = "throttled"    // too many requests
	FailureUnauthorized FailureKind = "unauthorized" // credentials were rejected
	FailureProtocol     FailureKind = "protocol"     // what the server sent is not MCP
)

// Failure is one failure of a server.
type Failure struct {
	Kind   FailureKind   // Kind is what happened.
	Detail string        // Detail tells failures of the same kind apart, such as an exit status.
	At     time.Time     // At is when it happened.
	Cause  string        // Cause is the code of the diagnosis, empty if there is none.
	Output string        // Output is what the server said: a line of stderr, without secrets that Gauze recognizes.
	Ran    time.Duration // Ran is how long a process that exited had run.
}

// Need is how many of the remaining steps of a task use a server.
type Need string

const (
	NeedUnknown Need = ""     // it is not known
	NeedAll     Need = "all"  // every remaining step uses the server
	NeedSome    Need = "some" // some of them do
	NeedNone    Need = "none" // none of them does
)

// Task is what a server is used for. The zero value of each field means that it is not known.
type Task struct {
	Goal          string    // Goal is what the task is for, in words. Only a model reads it.
	Done, Total   int       // Done and Total count steps.
	Deadline      time.Time // Deadline is when the task must be complete.
	Needs         Need      // Needs is how many of the remaining steps use the server.
	OthersHealthy bool      // OthersHealthy means that the other servers of the task work.

	Completed []string        // Completed is what is done, in words, oldest first. Only a model reads it.
	Remaining []RemainingStep // Remaining is what is left, in order.
}

// RemainingStep is a step of a task that is not done yet.
type RemainingStep struct {
	Name        string // Name is what the step does. Only a model reads it.
	NeedsServer bool   // NeedsServer means that it uses the server.
	Required    bool   // Required means that the task stops if the step cannot be done.
}

// Situation is what is known about a server and the task that uses it. [Wrap.Situation] and
// [Transport.Situation] return it without the Task. Only Health.State is required.
type Situation struct {
	Server string // Server is the name of the server.
	Health Health // Health is its state and what led to it.
	Busy   bool   // Busy means that the server is working on a call.
	// Reconnecting means that an attempt to reconnect is in progress.
	Reconnecting bool

	Failures      []Failure // Failures are the last failures, oldest first.
	Reconnects    int       // Reconnects counts the attempts to reconnect since the last response.
	Automatic     int       // Automatic counts those of them that Gauze made by itself. A model may choose MaxReconnects more.
	MaxReconnects int       // MaxReconnects limits Reconnects. Default 5.
	NextTry       time.Time // NextTry is the earliest time of the next attempt.

	// Cause is the diagnosis, or what happened if there is none. Whether its code is of a permanent cause is known to Gauze.
	Cause *Cause
	// CauseConfidence is how certain Cause is, from 0 to 1. Default 0.7, which is likely.
	CauseConfidence float64
	// Permanent means that only a change can end the failure, whatever Cause is.
	Permanent bool

	Task Task // Task is what the server is used for.
}

// Verdict is a decision about a server, with its reason.
type Verdict struct {
	Action     Action  // Action is what the task does.
	Reason     string  // Reason is why, in one sentence.
	Confidence float64 // Confidence is from 0 to 1.
	ByModel    bool    // ByModel means that a model decided, within the bounds of the rules.

	Asked    bool          // Asked means that a model was asked.
	Model    string        // Model is the name of the model that answered.
	Usage    llm.Usage     // Usage is what the answer cost.
	Took     time.Duration // Took is how long the answer took.
	Rejected string        // Rejected is why the rules decided although a model was asked.
}

// EvaluateHealth decides what a task does about a server that may be failing: continue, reconnect or
// stop.
//
// Rules decide without a model. With one, they bound its choice: it is asked if the server is
// unresponsive or dead, and a restart did not help. A server that works never stops a task, and nothing
// does before a restart was tried, unless the cause is certain to be permanent. No attempt to reconnect
// is made for such a cause after the first, past MaxReconnects or past the deadline, and a task that
// needs a server which is gone does not go on. If the model fails, takes longer than a minute or answers
// outside of these bounds, the rules decide. The question contains no secret that Gauze recognizes.
//
// model may be nil. EvaluateHealth returns an error only if s is invalid. It returns when ctx is
// done, with the verdict of the rules.
func EvaluateHealth(ctx context.Context, s Situation, model llm.Model) (Verdict, error) {
	v, err := verdict.Evaluate(ctx, internalSituation(s, time.Now()), model)
	if err != nil {
		return Verdict{}, err
	}
	return publicVerdict(v), nil
}

// Situation returns what is known about the server, for [EvaluateHealth].
func (w *Wrap) Situation() Situation {
	failures := convertAll(w.session.Upstream().Failures(), publicFailure)
	return situationOf(w.options.Name, w.Health(), failures, w.session.Trouble(), time.Now())
}

// Situation returns what is known about the server of the latest Connect, for [EvaluateHealth].
func (t *Transport) Situation() Situation {
	if w := t.wrap(); w != nil {
		return w.Situation()
	}
	return Situation{Server: t.Name, Health: t.Health()}
}
