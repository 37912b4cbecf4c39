// Package verdict decides what a task does about a failing server: continue, reconnect or stop.
//
// Rules decide without a model. They also bound the choice of one: a model is asked wherever they
// allow more than one action, which they do once a restart did not help, and an answer outside of
// these, an invalid, uncertain, late or failed one leaves the decision to the rules. The package does
// no I/O except through the model.
//
//	verdict.go  Situation, Verdict, Evaluate
//	rules.go    the rules: ordered tables of mechanisms with reasons
//	bounds.go   what a model may choose
//	ask.go      the question to a model, and the check of its answer
//	facts.go    a Situation as JSON, for tools and tables
package verdict

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/llm"
)

// Action is what a task does about a server.
type Action string

const (
	Continue Action = "continue"         // go on: with this server, or without it
	Retry    Action = "retry_connection" // restart or reconnect the server, then repeat the step
	Stop     Action = "stop_task"        // give up and report what was done
)

// Actions lists all actions.
var Actions = []Action{Continue, Retry, Stop}

// ParseAction returns the action of this name. There is no "restart": an unknown action that is
// accepted silently is one that nothing performs.
func ParseAction(name string) (Action, error) {
	if a := Action(name); slices.Contains(Actions, a) {
		return a, nil
	}
	return "", fmt.Errorf("unknown action %q: must be %s, %s or %s (which restarts the server if it is a process)", redact.Quote(name), Continue, Stop, Retry)
}

// Situation is what is known about a server and the task that uses it. The zero value of each field
// means that it is not known.
type Situation struct {
	Server       string
	Transport    string // stdio or http
	Health       string // healthy, degraded, unresponsive or dead
	Busy         bool   // the server is working: it uses CPU or reports progress
	Reconnecting bool   // an attempt to reconnect is in progress

	Failures      []Failure // oldest first
	Consecutive   int       // number of failures since the last response
	Reconnects    int       // number of attempts since the last response
	Automatic     int       // those of them that no verdict asked for
	MaxReconnects int       // budget for Reconnects; 0 for the default of 5
	RetryIn       time.Duration
	Answered      bool // the server has responded before
	SinceSuccess  time.Duration

	Cause Cause
	Task  Task

	// Hide removes secrets from text that is shown to a model. nil removes what looks like one.
	Hide func(string) string
}

// Failure is one failure of the server.
type Failure struct {
	Kind   health.Kind
	Detail string        // such as an exit status; foreign text
	Cause  string        // the code of a diagnosis, or what the server said; foreign text
	Ran    time.Duration // how long the process had run; 0 if that is not known
	Ago    time.Duration
}

// Why returns the cause of a failure from the code of a diagnosis and what the server said, each of
// which may be empty.
func Why(code, said string) string {
	if code == "" || said == "" {
		return code + said
	}
	return code + ": " + said
}

// Cause is the doctor's diagnosis.
type Cause struct {
	Code        string
	Explanation string // may quote foreign text
	Confidence  float64
	Permanent   bool // only a change can end it, see doctor.Permanent
}

// Need is how many of the remaining steps of a task use the server.
type Need string

const (
	NeedUnknown Need = ""
	NeedAll     Need = "all"
	NeedSome    Need = "some"
	NeedNone    Need = "none"
)

// Task is what the server is used for.
type Task struct {
	Goal          string
	Done, Total   int // steps
	HasDeadline   bool
	Left          time.Duration // time to the deadline; negative if it has passed
	Needs         Need
	OthersHealthy bool // the other servers of the task work

	Completed []string // what is done, oldest first; may be incomplete
	Remaining []Step   // what is left, in order; may be incomplete
}

// Step is a remaining step of a task.
type Step struct {
	Name     string
	Needs    bool // it uses the server
	Required bool // the task stops if it cannot be done
}

// complete reports whether all steps are done.
func (t Task) complete() bool { return t.Total > 0 && t.Done >= t.Total }

// Verdict is a decision with its reason.
type Verdict struct {
	Action     Action
	Reason     string
	Confidence float64 // 0 to 1
	By         string  // ByRules or ByModel

	// Consulted is the question to a model; nil if none was asked.
	Consulted *Consultation
}

// Who decided.
const (
	ByRules = "rules"
	ByModel = "model"
)

// Consultation is one question to a model and what came of it.
type Consultation struct {
	Model    string
	Usage    llm.Usage
	Took     time.Duration
	Answer   string // the action that the model chose; empty if it gave none
	Rejected string // why the rules decided in spite of the answer; empty if they did not

	failed bool // the model did not answer
}

// Silent reports whether the model gave no answer at all.
func (c *Consultation) Silent() bool { return c != nil && c.failed }

// Evaluate returns the verdict on a situation. model may be nil. An error means that the situation
// is invalid; a model that fails is not an error.
func Evaluate(ctx context.Context, s Situation, model llm.Model) (Verdict, error) {
	if err := s.check(); err != nil {
		return Verdict{}, err
	}
	r := decide(&s)
	v := Verdict{Action: r.action, Reason: r.reason, Confidence: r.confidence, By: ByRules}
	if model == nil || len(r.allowed) < 2 {
		return v, nil
	}
	return ask(ctx, s, r, v, model), nil
}

// check returns an error if the situation contradicts itself or uses unknown words.
func (s *Situation) check() error {
	switch {
	case !slices.Contains([]string{"", "stdio", "http"}, s.Transport):
		return fmt.Errorf("invalid transport %q: must be stdio or http", redact.Quote(s.Transport))
	case !slices.Contains(states, s.Health):
		return fmt.Errorf("invalid health %q: must be healthy, degraded, unresponsive or dead", redact.Quote(s.Health))
	case !slices.Contains([]Need{NeedUnknown, NeedAll, NeedSome, NeedNone}, s.Task.Needs):
		return fmt.Errorf("invalid needs %q: must be all, some or none", redact.Quote(string(s.Task.Needs)))
	case min(s.Reconnects, s.Automatic, s.MaxReconnects, s.Consecutive, s.Task.Done, s.Task.Total) < 0, min(s.RetryIn, s.SinceSuccess) < 0:
		return fmt.Errorf("invalid situation: counts and durations must not be negative")
	case s.Cause.Confidence < 0 || s.Cause.Confidence > 1:
		return fmt.Errorf("invalid cause confidence %v: must be between 0 and 1", s.Cause.Confidence)
	}
	for _, f := range s.Failures {
		if !slices.Contains(health.Kinds, f.Kind) {
			return fmt.Errorf("invalid failure %q: must be one of %v", redact.Quote(string(f.Kind)), health.Kinds)
		}
	}
	return nil
}

var states = []string{"healthy", "degraded", "unresponsive", "dead"}
