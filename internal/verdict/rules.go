package verdict

import "time"

// Numbers of the rules.
const (
	// defaultReconnects is how often a task tries to reconnect if nothing else is configured.
	defaultReconnects = 5
	// certainly is the confidence of a diagnosis that needs no attempt to confirm it, and likely
	// that of one that an attempt would probably confirm, as in package doctor.
	certainly = 0.85
	likely    = 0.7
	// equalFailures in a row, without a response between them, are not a coincidence.
	equalFailures = 3
	// longOutage is how long a server that will return has usually returned by.
	longOutage = 10 * time.Minute
)

// ruling is what the rules say about a situation. allowed contains action, and more than that where
// both can be justified.
type ruling struct {
	action     Action
	allowed    []Action
	confidence float64
	reason     string
}

// rule is a ruling for the situations in which when holds.
type rule struct {
	when func(*Situation) bool
	ruling
}

func only(a Action, confidence float64, reason string) ruling {
	return ruling{a, []Action{a}, confidence, reason}
}

// settled lists the situations in which attempts and causes do not matter. The first that holds
// counts.
var settled = []rule{
	{func(s *Situation) bool { return s.Health == "healthy" || s.Health == "degraded" },
		only(Continue, 0.95, "the server responds")},
	{func(s *Situation) bool { return s.Task.Needs == NeedNone || s.Task.complete() },
		only(Continue, 0.95, "no remaining step of the task needs this server")},
	{func(s *Situation) bool { return s.Task.HasDeadline && s.Task.Left <= 0 },
		only(Stop, 0.95, "the deadline of the task has passed")},
	{func(s *Situation) bool { return s.Reconnecting },
		only(Continue, 0.9, "an attempt to reconnect is in progress; wait for its result")},
	{func(s *Situation) bool { return s.Busy && s.Health == "unresponsive" },
		only(Continue, 0.8, "the server is working on a call; reconnecting would end that call")},
}

// obstacles lists the reasons for which another attempt cannot help. The first that holds counts.
var obstacles = []struct {
	when       func(*Situation) bool
	confidence float64
	reason     string
}{
	{func(s *Situation) bool { return s.Cause.Permanent && s.Reconnects > 0 }, 0.95,
		"the cause is permanent, and an attempt to reconnect did not help"},
	{func(s *Situation) bool { return s.Cause.Permanent && s.Cause.Confidence >= certainly && !s.Answered }, 0.9,
		"the cause is permanent: only a change can fix it"},
	{(*Situation).repeats, 0.85,
		"the server fails in the same way at every start"},
	{func(s *Situation) bool { return s.Reconnects >= s.maxReconnects() }, 0.9,
		"all attempts to reconnect failed"},
	{func(s *Situation) bool { return s.Task.HasDeadline && s.RetryIn >= s.Task.Left }, 0.9,
		"the next attempt to reconnect would be after the deadline of the task"},
}

// chances lists the situations in which an attempt may help. The first that holds counts, and the
// last always does.
var chances = []rule{
	{func(s *Situation) bool { return s.Cause.Permanent && s.Answered },
		only(Retry, 0.6, "the cause seems permanent, but the server worked before: one attempt shows whether it is")},
	{func(s *Situation) bool { return s.Cause.Permanent && s.Cause.Confidence < likely },
		only(Retry, 0.6, "the cause is only possible: one attempt shows whether it is permanent")},
	{func(s *Situation) bool { return s.Cause.Permanent },
		ruling{Retry, []Action{Retry, Stop}, 0.55, "the cause is probably permanent: one attempt shows whether it is"}},
	{func(s *Situation) bool {
		return s.Reconnects+1 >= s.maxReconnects() && (!s.Answered || s.SinceSuccess > longOutage) && s.Task.Done == 0 && s.Reconnects > 0
	}, ruling{Retry, []Action{Retry, Stop}, 0.55, "one attempt to reconnect is left, and no step of the task is done yet"}},
	{func(*Situation) bool { return true },
		only(Retry, 0.8, "the failure can be temporary, and attempts to reconnect are left")},
}

// decide returns the ruling on a situation.
func decide(s *Situation) ruling {
	for _, r := range settled {
		if r.when(s) {
			return r.ruling
		}
	}
	for _, o := range obstacles {
		switch {
		case !o.when(s):
		case s.Task.Needs == NeedSome && s.Task.OthersHealthy:
			r := only(Continue, 0.6, o.reason+"; other servers can do the steps that do not need it")
			if s.Task.Goal != "" { // a model can read from it whether a partial result is of use
				r.allowed = []Action{Continue, Stop}
			}
			return r
		default:
			return only(Stop, o.confidence, o.reason)
		}
	}
	for _, r := range chances {
		if r.when(s) {
			return r.ruling
		}
	}
	panic("verdict: the last chance always holds")
}

func (s *Situation) maxReconnects() int {
	if s.MaxReconnects == 0 {
		return defaultReconnects
	}
	return s.MaxReconnects
}

// repeats reports whether the last failures are equal, without a response between them, and of a
// kind that is up to the server alone: a network changes, a program does not.
func (s *Situation) repeats() bool {
	if len(s.Failures) < equalFailures {
		return false
	}
	last := s.Failures[len(s.Failures)-equalFailures:]
	for _, f := range last {
		if f.Kind != last[0].Kind || f.Detail != last[0].Detail {
			return false
		}
	}
	switch last[0].Kind {
	case Exited, NotStarted, Protocol:
		return !s.Answered || s.SinceSuccess > last[0].Ago
	}
	return false
}
