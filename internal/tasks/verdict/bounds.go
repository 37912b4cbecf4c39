package verdict

// The bounds are what a model may choose. A server that works or that no step needs is not a question,
// and neither is the first restart: nothing stops a task before it was tried, except a cause that is
// permanent for certain.

// open returns the actions that can be justified about a server that did not come back.
func (s *Situation) open() []Action {
	allowed := []Action{Stop}
	if s.goesOn() {
		allowed = append(allowed, Continue)
	}
	if s.mayReturn() {
		allowed = append(allowed, Retry)
	}
	return allowed
}

// waiting returns the actions that can be justified for a server that is being reconnected or works on a
// call: waiting, and if a restart did not help before, also what ends it. The attempt in progress is one
// of Reconnects.
func (s *Situation) waiting() []Action {
	switch {
	case s.Reconnecting && s.Reconnects > 1:
		return []Action{Continue, Stop}
	case !s.Reconnecting && s.restarted() && s.mayReturn():
		return []Action{Continue, Retry}
	}
	return []Action{Continue}
}

// restarted reports whether a restart was tried.
func (s *Situation) restarted() bool { return s.Reconnects > 0 }

// busy reports whether the server works on a call and answers nothing else meanwhile.
func (s *Situation) busy() bool { return s.Busy && s.Health == "unresponsive" }

// mayReturn reports whether another attempt is left, in time, and not useless for certain. The rules
// also count automatic attempts, which follow each other within seconds.
func (s *Situation) mayReturn() bool {
	gone := s.Cause.Permanent && s.Cause.Confidence >= certainly
	late := s.Task.HasDeadline && s.RetryIn >= s.Task.Left
	return !gone && !late && s.Reconnects-s.Automatic < s.maxReconnects()
}

// goesOn reports whether the task can go on without the server: other servers work, and its next step
// that needs this one may be left out.
func (s *Situation) goesOn() bool {
	if !s.Task.OthersHealthy || s.Task.Needs == NeedAll {
		return false
	}
	for _, step := range s.Task.Remaining {
		if step.Needs {
			return !step.Required
		}
	}
	return true
}
