package verdict

import (
	"time"

	"github.com/gauze-mcp/gauze/health"
)

// Facts is a Situation as JSON. Durations are in seconds.
type Facts struct {
	Health        string        `json:"health,omitempty" jsonschema:"healthy, degraded, unresponsive or dead"`
	Transport     string        `json:"transport,omitempty" jsonschema:"stdio or http"`
	Busy          bool          `json:"busy,omitempty" jsonschema:"it works on a call"`
	Reconnecting  bool          `json:"reconnecting,omitempty" jsonschema:"an attempt is in progress"`
	Failures      []FailureFact `json:"failures,omitempty" jsonschema:"oldest first"`
	Consecutive   int           `json:"consecutive_failures,omitempty" jsonschema:"since the last response"`
	Reconnects    int           `json:"reconnects,omitempty" jsonschema:"attempts so far"`
	MaxReconnects int           `json:"max_reconnects,omitempty" jsonschema:"default 5"`
	RetryIn       float64       `json:"retry_in_seconds,omitempty" jsonschema:"next attempt"`
	LastSuccess   *float64      `json:"last_success_seconds,omitempty" jsonschema:"since the last response, if any"`
	Cause         string        `json:"cause,omitempty" jsonschema:"code of a diagnosis"`
	Confidence    float64       `json:"cause_confidence,omitempty" jsonschema:"0 to 1"`
	Goal          string        `json:"goal,omitempty" jsonschema:"of the task"`
	Done          int           `json:"steps_done,omitempty" jsonschema:"of the task"`
	Total         int           `json:"steps_total,omitempty" jsonschema:"of the task"`
	Deadline      *float64      `json:"deadline_seconds,omitempty" jsonschema:"seconds left; negative: passed"`
	Needs         string        `json:"needs,omitempty" jsonschema:"remaining steps that need it: all, some or none"`
	OthersHealthy bool          `json:"others_healthy,omitempty" jsonschema:"other servers work"`
	Completed     []string      `json:"done,omitempty" jsonschema:"by the task"`
	Remaining     []StepFact    `json:"remaining,omitempty" jsonschema:"in order"`
}

// FailureFact is a Failure as JSON.
type FailureFact struct {
	Kind   string  `json:"kind" jsonschema:"exit, start, timeout, refused, reset, unavailable, throttled, unauthorized or protocol"`
	Detail string  `json:"detail,omitempty"`
	Cause  string  `json:"cause,omitempty"`
	Ran    float64 `json:"ran_seconds,omitempty"`
	Ago    float64 `json:"ago_seconds,omitempty"`
}

// StepFact is a Step as JSON.
type StepFact struct {
	Name     string `json:"step"`
	Needs    bool   `json:"needs_server,omitempty"`
	Required bool   `json:"required,omitempty"`
}

// Situation returns the facts as a Situation. permanent reports whether a cause is permanent.
func (f Facts) Situation(permanent func(code string) bool) Situation {
	s := Situation{
		Transport: f.Transport, Health: f.Health, Busy: f.Busy, Reconnecting: f.Reconnecting, Consecutive: f.Consecutive,
		Reconnects: f.Reconnects, MaxReconnects: f.MaxReconnects, RetryIn: seconds(f.RetryIn),
		Cause: Cause{Code: f.Cause, Confidence: f.Confidence, Permanent: permanent(f.Cause)},
		Task:  Task{Goal: f.Goal, Done: f.Done, Total: f.Total, Needs: Need(f.Needs), OthersHealthy: f.OthersHealthy, Completed: f.Completed},
	}
	if f.LastSuccess != nil {
		s.Answered, s.SinceSuccess = true, seconds(*f.LastSuccess)
	}
	if f.Deadline != nil {
		s.Task.HasDeadline, s.Task.Left = true, seconds(*f.Deadline)
	}
	for _, one := range f.Failures {
		s.Failures = append(s.Failures, Failure{health.Kind(one.Kind), one.Detail, one.Cause, seconds(one.Ran), seconds(one.Ago)})
	}
	for _, one := range f.Remaining {
		s.Task.Remaining = append(s.Task.Remaining, Step(one))
	}
	return s
}

// maxSeconds is longer than any task, and fits a Duration.
const maxSeconds = 1e9

func seconds(n float64) time.Duration {
	return time.Duration(max(-maxSeconds, min(n, maxSeconds)) * float64(time.Second))
}
