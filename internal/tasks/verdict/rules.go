package verdict

import (
	"time"

	"github.com/gauze-mcp/gauze/health"
)

// Numbers of the rules.
const (
	// defaultReconnects is how often a task tries to reconnect if nothing else is configured.
	defaultReconnects = 5
	// certainly is the confidence of a diagnosis that needs no attempt to confirm it, and likely
	// that of one that an attempt would probably confirm, as in package doctor.
	certainly = 0.85
	likely    = 0.7
	// equalFailures in a row, without a response between them, are not a coincidence, unless they took
	// less than shortPattern: what the server depends on may be starting.
	equalFailures = 3
	shortPattern  = 10 * time.Second
	// longOutage is how long a server that will return has usually returned by.
	longOutage = 10 * time.Minute
)

// ruling is what the rules say about a situation. allowed contains action, and more than that where
// more can be justified.
type ruling struct {
	action     Action
	confidence float64
	reason     string
	allowed    []Action
}

// rule is a ruling for the situations in which when holds.
type rule struct {
	when       func(*Situation) bool
	action     Action
	confidence float64
	reason     string
}

// settled lists the situations in which attempts and causes do not matter. The first that holds
// counts.
var settled = []rule{
	{func(s *Situation) bool { return s.Health == "healthy" || s.Health == "degraded" },
		Continue, 0.95, "the server responds"},
	{func(s *Situation) bool { return s.Task.Needs == NeedNone || s.Task.complete() },
		Continue, 0.95, "no remaining step of the task needs this server"},
	{func(s *Situation) bool { return s.Task.HasDeadline && s.Task.Left <= 0 },
		Stop, 0.95, "the task's deadline has passed"},
}

// obstacles lists the reasons for which another attempt is not made. The first that holds counts.
var obstacles = []rule{
	{func(s *Situation) bool { return s.Cause.Permanent && s.restarted() },
		Stop, 0.95, "the cause is permanent, and an attempt to reconnect did not help"},
	{func(s *Situation) bool { return s.Cause.Permanent && s.Cause.Confidence >= certainly && !s.Answered },
		Stop, 0.9, "the cause is permanent, so reconnecting will not help"},
	{func(s *Situation) bool { return s.restarted() && s.repeats() },
		Stop, 0.85, "the server fails in the same way every time it starts"},
	{func(s *Situation) bool { return s.Reconnects >= s.maxReconnects() },
		Stop, 0.9, "all attempts to reconnect failed"},
	{func(s *Situation) bool { return s.Task.HasDeadline && s.RetryIn >= s.Task.Left },
		Stop, 0.9, "the next attempt to reconnect would come after the task's deadline"},
}

// chances lists the situations in which an attempt may help. The first that holds counts, and the
// last always does.
var chances = []rule{
	{func(s *Situation) bool { return s.Cause.Permanent && s.Answered },
		Retry, 0.6, "the cause seems permanent, but the server worked earlier, so one more attempt is worthwhile"},
	{func(s *Situation) bool { return s.Cause.Permanent && s.Cause.Confidence < likely },
		Retry, 0.6, "the cause is not certain: one more attempt will show whether it is permanent"},
	{func(s *Situation) bool { return s.Cause.Permanent },
		Retry, 0.55, "the cause is probably permanent: one more attempt will confirm it"},
	{func(s *Situation) bool {
		return s.Reconnects+1 >= s.maxReconnects() && (!s.Answered || s.SinceSuccess > longOutage) && s.Task.Done == 0 && s.restarted()
	}, Retry, 0.55, "one attempt to reconnect is left, and no step of the task is done yet"},
	{func(*Situation) bool { return true },
		Retry, 0.8, "the failure may be temporary, and attempts to reconnect remain"},
}

// decide returns the ruling on a situation.
func decide(s *Situation) ruling {
	if r := s.first(settled); r != nil {
		return ruling{r.action, r.confidence, r.reason, []Action{r.action}}
	}
	if s.Reconnecting {
		return ruling{Continue, 0.9, "an attempt to reconnect is in progress; wait for its result", s.waiting()}
	}
	if s.busy() {
		return ruling{Continue, 0.8, "the server is working on a call; reconnecting would interrupt that call", s.waiting()}
	}
	if r := s.first(obstacles); r != nil {
		if s.Task.Needs == NeedSome && s.goesOn() {
			return ruling{Continue, 0.6, r.reason + "; the steps that do not need this server can still run", s.open()}
		}
		return ruling{r.action, r.confidence, r.reason, s.open()}
	}
	r := s.first(chances)
	if !s.restarted() {
		return ruling{r.action, r.confidence, r.reason, []Action{r.action}}
	}
	return ruling{r.action, r.confidence, r.reason, s.open()}
}

// first returns the first rule that holds, or nil.
func (s *Situation) first(rules []rule) *rule {
	for i := range rules {
		if rules[i].when(s) {
			return &rules[i]
		}
	}
	return nil
}

func (s *Situation) maxReconnects() int {
	if s.MaxReconnects == 0 {
		return defaultReconnects
	}
	return s.MaxReconnects
}

// repeats reports whether the last failures are equal over some time, without a response between them,
// and of a kind that is up to the server alone: a network changes, a program does not.
func (s *Situation) repeats() bool {
	if len(s.Failures) < equalFailures {
		return false
	}
	last := s.Failures[len(s.Failures)-equalFailures:]
	for _, f := range last {
		if f.Kind != last[0].Kind || f.Detail != last[0].Detail || f.Cause != last[0].Cause {
			return false
		}
	}
	if last[0].Ago-last[equalFailures-1].Ago < shortPattern {
		return false
	}
	switch last[0].Kind {
	case health.Exited, health.NotStarted, health.Protocol:
		return !s.Answered || s.SinceSuccess > last[0].Ago
	}
	return false
}
