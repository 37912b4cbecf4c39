package verdict

import "time"

// Facts is a Situation as JSON. Durations are in seconds.
type Facts struct {
	Health        string        `json:"health,omitempty" jsonschema:"healthy, degraded, unresponsive or dead"`
	Busy          bool          `json:"busy,omitempty"`
	Reconnecting  bool          `json:"reconnecting,omitempty"`
	Failures      []FailureFact `json:"failures,omitempty" jsonschema:"oldest first"`
	Consecutive   int           `json:"consecutive_failures,omitempty" jsonschema:"since the last response"`
	Reconnects    int           `json:"reconnects,omitempty" jsonschema:"attempts to reconnect so far"`
	MaxReconnects int           `json:"max_reconnects,omitempty" jsonschema:"default 5"`
	RetryIn       float64       `json:"retry_in_seconds,omitempty" jsonschema:"earliest next attempt"`
	LastSuccess   *float64      `json:"last_success_seconds,omitempty" jsonschema:"since the last response; omit if there was none"`
	Cause         string        `json:"cause,omitempty" jsonschema:"code of a diagnosis"`
	Confidence    float64       `json:"cause_confidence,omitempty"`
	Goal          string        `json:"goal,omitempty"`
	Done          int           `json:"steps_done,omitempty"`
	Total         int           `json:"steps_total,omitempty"`
	Deadline      *float64      `json:"deadline_seconds,omitempty" jsonschema:"seconds left; negative: passed"`
	Needs         string        `json:"needs,omitempty" jsonschema:"remaining steps that need the server: all, some or none"`
	OthersHealthy bool          `json:"others_healthy,omitempty" jsonschema:"the task's other servers work"`
}

// FailureFact is a Failure as JSON.
type FailureFact struct {
	Kind   string  `json:"kind" jsonschema:"exit, start, timeout, refused, reset, unavailable, throttled, unauthorized or protocol"`
	Detail string  `json:"detail,omitempty"`
	Ago    float64 `json:"ago_seconds,omitempty"`
}

// Situation returns the facts as a Situation. permanent reports whether a cause is permanent.
func (f Facts) Situation(permanent func(code string) bool) Situation {
	s := Situation{
		Health: f.Health, Busy: f.Busy, Reconnecting: f.Reconnecting, Consecutive: f.Consecutive,
		Reconnects: f.Reconnects, MaxReconnects: f.MaxReconnects, RetryIn: seconds(f.RetryIn),
		Cause: Cause{Code: f.Cause, Confidence: f.Confidence, Permanent: permanent(f.Cause)},
		Task:  Task{Goal: f.Goal, Done: f.Done, Total: f.Total, Needs: Need(f.Needs), OthersHealthy: f.OthersHealthy},
	}
	if f.LastSuccess != nil {
		s.Answered, s.SinceSuccess = true, seconds(*f.LastSuccess)
	}
	if f.Deadline != nil {
		s.Task.HasDeadline, s.Task.Left = true, seconds(*f.Deadline)
	}
	for _, one := range f.Failures {
		s.Failures = append(s.Failures, Failure{Kind(one.Kind), one.Detail, seconds(one.Ago)})
	}
	return s
}

// maxSeconds is longer than any task, and fits a Duration.
const maxSeconds = 1e9

func seconds(n float64) time.Duration {
	return time.Duration(max(-maxSeconds, min(n, maxSeconds)) * float64(time.Second))
}
