package proxy

import (
	"bytes"
	"fmt"
	"regexp"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Message handles one message from the server. It is called from the connection's own goroutine,
// and never after its Down.
func (s *Session) Message(conn *upstream.Conn, m *wire.Message) {
	m = disown(m)
	switch m.Kind {
	case wire.Response:
		s.response(conn, m)
	case wire.Request:
		s.questionFromServer(conn, m)
	case wire.Notification:
		s.noticeFromServer(conn, m)
	}
}

// Rest writes what was collected for the client: there is nothing more to read at the moment.
func (s *Session) Rest(*upstream.Conn) {
	s.out.Lock()
	s.out.flush()
	s.out.Unlock()
}

// response is the last step of a call.
func (s *Session) response(conn *upstream.Conn, m *wire.Message) {
	valid := (m.Result == nil) != (m.Error == nil)
	var c *call
	var said response
	if valid {
		said = readResponse(m)
	}
	held, again, since := false, false, time.Time{}
	s.updateAndTell(func() {
		if c = s.awaiting(conn, m.ID); c == nil {
			s.unexpected(conn, m)
			return
		}
		s.keepQuestions(c)
		since = c.sent
		if again = valid && s.repeatRenewed(c, m, said); again {
			return
		}
		if held = s.holdTransient(c, m, said) || s.holdRejection(c, m, said); held {
			conn.Answered(false)
			return
		}
		s.move(c, done)
		s.noteEnd(c, outcomeOf(said, valid), conn.LastHeard())
		if c.own == nil && valid {
			s.noteAnswered(conn, c, m)
		}
	}, func() {
		switch {
		case held, again:
			now := conn.LastHeard()
			s.up.Record(conn.Generation, health.Answered, now.Sub(since), now)
		case c != nil:
			s.tellAnswer(conn, c, m, said, valid)
		}
	})
}

// tellAnswer passes an answer on to the client, or to the part of gauze that made the request.
func (s *Session) tellAnswer(conn *upstream.Conn, c *call, m *wire.Message, said response, valid bool) {
	now := conn.LastHeard() // when its last byte came, which saves reading the clock
	outcome := health.Answered
	if !valid {
		outcome = health.Broken
	}
	s.up.Record(conn.Generation, outcome, now.Sub(c.sent), now)
	if c.own != nil {
		c.own <- keep(m)
		return
	}
	if !valid {
		s.out.put(Told{About: c.id, Answer: true, Status: m.Status, Line: s.faultAnswer(c, &fault.Fault{Code: fault.ResponseInvalid,
			Delivery: fault.Answered, Detail: "a response with both a result and an error, or with neither"})})
		return
	}
	if c.class == Stream {
		m = endOfStream(c, m)
	}
	if !c.fitting.Checked() && c.repetition == nil && (s.Calls == nil || c.msg.Method != "tools/call") {
		said = response{} // it changes nothing about other calls
	}
	if said.failed {
		s.reportCorrected(c, failedAgain)
	} else {
		s.reportCorrected(c, succeeded)
	}
	if s.examineCall(c, m, said) {
		return
	}
	s.putAnswer(c, m, said, fault.Cause{})
}

// putAnswer puts the server's response into the outlet, whose lock is held, with the cause of a
// failure if it is known.
func (s *Session) putAnswer(c *call, m *wire.Message, said response, why fault.Cause) {
	edits := s.additions(c, m, said, why)
	if before, after := m.AroundID(); edits == nil && s.out.w != nil && len(m.Raw) > longAnswer {
		s.out.stream(before, c.id, after, lineEnd)
	} else {
		s.out.buf = appendEdited(s.out.buf, c, m, edits)
		s.out.end(Told{About: c.id, Answer: true, Status: m.Status})
	}
	s.discard(c)
}

// longAnswer is from which length on a response is written from where it was read, without a copy.
const longAnswer = 1 << 20

// noteAnswered records what a valid answer to the client says about the call and the server.
func (s *Session) noteAnswered(conn *upstream.Conn, c *call, m *wire.Message) {
	conn.Answered(c.class == Start || c.msg.Method == "server/discover")
	s.counters.Answered++
	s.needed = nil
	s.budget.earn()
	if c.task && c.token != "" && len(s.tasks) < maxTasks {
		s.tasks[c.token] = true
	}
	s.quarantine.clear(c.sign)
	if m.Result != nil && s.remembers(c) {
		s.learn(c, m.Result)
		s.portray(c, m.Result)
	}
	if m.Error != nil {
		s.portrayLegacy(c)
	}
}

// keep copies a message from the server.
func keep(m *wire.Message) wire.Message {
	kept, _ := m.Keep(nil)
	return kept
}

// maxTasks bounds how many progress tokens of tasks are remembered.
const maxTasks = 10_000

// remembers reports whether learn has something to learn from the call: most tool calls are skipped.
func (s *Session) remembers(c *call) bool {
	return c.msg.Method != "tools/call" || c.modern && !s.memory.modern
}

// awaiting returns the call a response belongs to: strictly by our own id, and only on the
// connection it was sent on.
func (s *Session) awaiting(conn *upstream.Conn, id []byte) *call {
	n, _ := parseID(id)
	c := s.flight[n]
	if c == nil {
		c = s.opened[n]
	}
	if upstream.Seeded("no-fence") && c == nil {
		return s.ghost(id)
	}
	if c == nil || c.conn != conn {
		return nil
	}
	return c
}

// unexpected counts a response that no call waits for.
func (s *Session) unexpected(conn *upstream.Conn, m *wire.Message) {
	detail := "a response to a request that was never sent"
	if n, ours := parseID(m.ID); ours && s.late[n] {
		delete(s.late, n)
		s.counters.Late++
		detail = "a response that arrived too late"
	} else {
		s.counters.Foreign++
		if m.Error != nil && (m.ID == nil || string(m.ID) == "null") {
			detail = "an error without an id: " + string(m.Error[:min(len(m.Error), 200)])
		}
	}
	s.emit(nil, event.Event{Kind: event.Dropped, Generation: conn.Generation, Detail: detail})
}

// TooLong handles a message above the size limit, which may be the answer to a call.
func (s *Session) TooLong(conn *upstream.Conn, long *wire.TooLong) {
	detail := fmt.Sprintf("%d bytes; the limit is %d", long.Length, s.MaxMessage)
	if !s.spoilt(conn, idOfAnswer(long.Head, long.Tail), fault.ResponseTooLarge, detail) {
		s.Stray(conn, []byte("(a line of "+detail+")"))
	}
}

// Stray handles a line on stdout that is not a message. If it was meant as an answer, no better one
// will come: the call ends now, not at its deadline.
func (s *Session) Stray(conn *upstream.Conn, line []byte) {
	s.spoilt(conn, idOfAnswer(line, line[max(0, len(line)-1024):]), fault.ResponseInvalid, "a line that is not a valid message")
	s.count(func(n *Counters) { n.Stray++ })
	s.emit(nil, event.Event{Kind: event.Stray, Generation: conn.Generation,
		Detail: redact.Quote(string(line[:min(len(line), 200)]))})
}

// spoilt fails the call whose answer cannot be passed on. It reports whether there is such a call.
func (s *Session) spoilt(conn *upstream.Conn, id []byte, code fault.Code, detail string) bool {
	var c *call
	s.update(func() {
		if c = s.awaiting(conn, id); c != nil {
			s.fail(c, &fault.Fault{Code: code, Delivery: fault.Answered, Detail: detail})
		}
	})
	if c == nil {
		return false
	}
	s.up.Record(conn.Generation, health.Broken, 0, time.Now())
	return true
}

// idOfAnswer returns the id of a broken answer by its ends: near the start, or at the very end,
// where the TypeScript SDK puts it. It returns nil for log lines, such as one that quotes a
// message.
func idOfAnswer(head, tail []byte) []byte {
	if version := []byte(`"jsonrpc"`); !answerHead.Match(head) || !bytes.Contains(head, version) && !bytes.Contains(tail, version) {
		return nil
	}
	if m, _, _ := wire.Scan(head); m.ID != nil {
		return m.ID
	}
	if id := answerTail.FindSubmatch(tail); id != nil {
		return id[1]
	}
	return nil
}

var (
	answerHead = regexp.MustCompile(`^\s*\{\s*(("jsonrpc"\s*:\s*"2\.0"|"id"\s*:\s*` + idPattern + `)\s*,\s*){0,2}"(result|error)"\s*:`)
	answerTail = regexp.MustCompile(`"id"\s*:\s*(` + idPattern + `)\s*(,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)
