package verdict

// The bounds are what a model may choose. A server that works, that no step needs, or that is being
// reconnected is not a question, and neither is the first restart: nothing stops a task before it was
// tried, except a cause that is permanent for certain.

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

// whileBusy returns the actions that can be justified about a server that works on a call. It may be
// restarted only if it was before: then it is known that the call can last as long again.
func (s *Situation) whileBusy() []Action {
	if s.restarted() && s.mayReturn() {
		return []Action{Continue, Retry}
	}
	return []Action{Continue}
}

// restarted reports whether a restart was tried.
func (s *Situation) restarted() bool { return s.Reconnects > 0 }

// busy reports whether the server works on a call and answers nothing else meanwhile.
func (s *Situation) busy() bool { return s.Busy && s.Health == "unresponsive" }

// mayReturn reports whether another attempt is left, in time, and not useless for certain.
func (s *Situation) mayReturn() bool {
	gone := s.Cause.Permanent && s.Cause.Confidence >= certainly
	late := s.Task.HasDeadline && s.RetryIn >= s.Task.Left
	return !gone && !late && s.Reconnects < s.maxReconnects()
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
