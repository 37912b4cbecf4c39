package proxy

import (
	"bytes"
	"context"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/repair"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// CallDoctor determines whether a tool call failed because of the server's setup, such as a
// database that is down or a key that is rejected.
type CallDoctor interface {
	// Suspects reports whether Examine may find a cause. It must be fast: it delays the response.
	Suspects(launch.Spec, upstream.FailedCall) bool
	// Examine returns the cause, unknown if it is not likely.
	Examine(context.Context, launch.Spec, upstream.FailedCall) fault.Cause
	// Ailing returns the tool whose last call Examine found a cause for, in any session, or "".
	Ailing(launch.Spec) (tool string)
	// Succeeded is called when a call of an ailing tool succeeds.
	Succeeded(spec launch.Spec, tool string)
}

const (
	// maxExamined limits the failed calls that are examined at the same time.
	maxExamined = 4
	// maxAiling limits the tools whose failures are remembered.
	maxAiling = 1000
	// maxFailureLen is the length of the longest failure that is examined.
	maxFailureLen = 16 << 10
	// maxClaimedLen is the same for a result that claims success.
	maxClaimedLen = 400
)

// remember marks the tool that failed in an earlier session: its next success is news.
func (s *Session) remember() {
	if s.Calls == nil {
		return
	}
	if tool := s.Calls.Ailing(s.Spec); tool != "" {
		s.ailing[tool] = "" // the same cause is reported again in this session
		s.ails.Store(true)
	}
}

// examineCall looks for the cause of a failed tool call, away from the connection's goroutine. It
// returns true if the response follows once the cause is known, or once examineTimeout is over, in
// its place before later messages. The outlet's lock is held.
func (s *Session) examineCall(c *call, m *wire.Message, said response) (deferred bool) {
	if s.Calls == nil || c.msg.Method != "tools/call" {
		return false
	}
	failed, ok := failedCall(c, m, said)
	if !ok {
		if s.ails.Load() {
			s.noteSucceeded(c.tool)
		}
		return false
	}
	if len(failed.Text) > maxFailureLen || !s.Calls.Suspects(s.Spec, failed) || !s.beginExamination() {
		return false
	}
	mode := s.Tools[c.tool].repairMode(s.Repair)
	deferred = !failed.Claimed && repair.Mode(mode) != repair.ModeOff
	s.examineLater(c, m, said, failed, deferred)
	return deferred
}

// examineLater looks for the cause of a failed call. If deferred is set, it answers the call with
// it; otherwise it only reports it. A result that claims success is never changed.
func (s *Session) examineLater(c *call, m *wire.Message, said response, failed upstream.FailedCall, deferred bool) {
	failed.Arguments = bytes.Clone(failed.Arguments) // c is discarded with its response
	conn, sent, number, client := c.conn, c.sent, c.number, c.client
	failed.Stderr = func() string { return conn.StderrSince(sent) }
	answer := func(fault.Cause) {}
	if deferred {
		answer = s.deferAnswer(c, m, said)
	}
	s.background.Go(func() {
		ctx, cancel := context.WithTimeout(s.life, s.examineTimeout)
		defer cancel()
		defer context.AfterFunc(ctx, func() { answer(fault.Cause{}) })()
		why := s.Calls.Examine(ctx, s.Spec, failed)
		answer(why)
		s.endExamination(number, client, failed.Tool, why)
	})
}

// deferAnswer holds the place of a response in the outlet, whose lock is held. The first call of
// answer puts the response there, with the cause of the failure if it is known.
func (s *Session) deferAnswer(c *call, m *wire.Message, said response) (answer func(fault.Cause)) {
	kept := keep(m)
	var held *place
	fill := func(why fault.Cause) {
		if !held.filled {
			s.out.fill(held, s.appendAnswer(nil, c, &kept, said, why), Told{About: c.id, Answer: true, Status: kept.Status})
			s.discard(c)
		}
	}
	held = s.out.hold(func() { fill(fault.Cause{}) })
	return func(why fault.Cause) {
		s.out.Lock()
		defer s.out.Unlock()
		fill(why)
	}
}

// failedCall returns the call as failed in the server's words, and whether it failed.
func failedCall(c *call, m *wire.Message, said response) (f upstream.FailedCall, failed bool) {
	f = upstream.FailedCall{Tool: c.tool, Code: said.Code, Text: said.all}
	if !said.failed {
		if len(m.Result) > maxClaimedLen || !bytes.Contains(m.Result, []byte("401")) {
			return f, false
		}
		content, _ := wire.Field(m.Result, "content")
		if f.Text, f.Claimed = textOf(content); f.Text == "" || !f.Claimed {
			return f, false
		}
	}
	f.Arguments, _ = wire.Field(c.msg.Params, "arguments")
	return f, true
}

// beginExamination reports whether one more failed call may be examined.
func (s *Session) beginExamination() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.examined >= maxExamined || s.ended {
		return false
	}
	s.examined++
	return true
}

// endExamination reports a cause, once for each tool until a call of the tool succeeds.
func (s *Session) endExamination(number event.CallID, client, tool string, why fault.Cause) {
	s.mu.Lock()
	s.examined--
	s.checkEmptied()
	news := why.Known() && s.ailing[tool] != why.Code
	if news && len(s.ailing) < maxAiling {
		s.ailing[tool] = why.Code
		s.ails.Store(true)
	}
	s.mu.Unlock()
	if news {
		s.emit(nil, event.Event{Kind: event.Diagnosed, Call: number, Client: client, Method: "tools/call", Tool: tool, Cause: why})
	}
}

// noteSucceeded forgets the failure of a tool.
func (s *Session) noteSucceeded(tool string) {
	s.mu.Lock()
	_, ailed := s.ailing[tool]
	delete(s.ailing, tool)
	s.ails.Store(len(s.ailing) > 0)
	s.mu.Unlock()
	if ailed {
		s.background.Go(func() { s.Calls.Succeeded(s.Spec, tool) })
	}
}

// causeForModel words why a call failed for the model.
func (s *Session) causeForModel(why fault.Cause) string {
	secrets := s.secrets.Load()
	why.Explanation, why.Remedy = secrets.Redact(why.Explanation), secrets.Redact(why.Remedy)
	shown := why.Shown()
	return fault.ModelMark + "] Likely cause: " + shown.Explanation + " Different arguments are unlikely to help. Tell the user: " + shown.Remedy
}
