package kernel

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// server is the side of the server: its messages, its losses (lost.go) and its generations (generation.go).
type server struct {
	s        *Session
	rootsEnd int64           // of the last roots/list_changed on this connection
	tasks    map[string]bool // raw progress tokens of tasks, valid beyond the answer
	late     map[uint64]bool // cancelled or timed out: an answer may still come
	notices  notices
}

// Message handles one message from the server. It is called from the connection's own goroutine,
// and never after its Down.
func (v *server) Message(conn *upstream.Conn, m *wire.Message) {
	if v.s.config.Disown != nil {
		m = v.s.config.Disown(m)
	}
	switch m.Kind {
	case wire.Response:
		v.response(conn, m)
	case wire.Request:
		v.s.dialogue.questionFromServer(conn, m)
	case wire.Notification:
		v.noticeFromServer(conn, m)
	}
}

// Rest writes what was collected for the client: there is nothing more to read at the moment.
func (v *server) Rest(*upstream.Conn) {
	v.s.out.Lock()
	v.s.out.flush()
	v.s.out.Unlock()
}

// response is the last step of a call. The stages are asked about it before anything is decided: a call
// that was cancelled, lost or timed out meanwhile is not answered.
func (v *server) response(conn *upstream.Conn, m *wire.Message) {
	valid := (m.Result == nil) != (m.Error == nil)
	var ruling Ruling
	var said Response
	var asked *Call
	if valid {
		said = readResponse(m)
		if v.s.panel.wants(m, said.Failed) {
			asked = v.toolCall(conn, m.ID)
		}
		if asked != nil {
			asked.part.asking.Lock()
			asked.part.response = said
			ruling = v.s.panel.responding(asked, &asked.part.response)
			asked.part.asking.Unlock()
		}
	}
	var c *Call
	kept, since := false, time.Time{}
	v.s.updateAndTell(func() {
		if c = v.awaiting(conn, m.ID); c == nil {
			v.unexpected(conn, m)
			return
		}
		v.s.dialogue.keepQuestions(c)
		since = c.sent
		if kept = c == asked && v.keep(c, m, &ruling); kept {
			return
		}
		v.s.table.move(c, done)
		if c.own == nil && valid {
			c.part.response = said
			v.noteAnswered(conn, c, m)
		}
	}, func() {
		switch {
		case kept:
			now := conn.LastHeard()
			v.s.up.Record(conn.Generation, health.Answered, now.Sub(since), now)
		case c != nil:
			v.tellAnswer(conn, c, m, &ruling, valid)
		}
	})
	ruling.drop()
}

// toolCall returns the tool call of the client that a response belongs to, for stages to look at; nil: it
// belongs to none.
func (v *server) toolCall(conn *upstream.Conn, id []byte) *Call {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if c := v.awaiting(conn, id); c != nil && c.IsTool() {
		c.part.shared = true
		return c
	}
	return nil
}

// keep sends a call again, or lets a stage hold its response. It reports whether it does. The caller holds
// the lock.
func (v *server) keep(c *Call, m *wire.Message, r *Ruling) bool {
	if c.conn != v.s.link.conn || r.hold == nil && !r.again {
		return false
	}
	if r.again {
		return v.resend(c)
	}
	if c.past.failed.IsZero() {
		c.past.failed = c.conn.LastHeard()
	}
	v.s.quarantine.clear(c)
	h := &Held{stage: r.stage, conn: c.conn, message: keep(m), response: &c.part.response}
	c.part.response.Message = &h.message
	v.s.hold(c, h, r)
	c.conn.Answered(false)
	return true
}

// resend sends a call that reads again, immediately. It reports whether it does.
func (v *server) resend(c *Call) bool {
	if !v.s.classNow(c).Reads() || c.InDialogue() || v.s.leaving.closing {
		return false
	}
	if c.past.failed.IsZero() {
		c.past.failed = c.conn.LastHeard()
	}
	v.s.table.move(c, queued)
	v.s.transmit(c, v.s.link.conn)
	v.s.later(v.s.link.conn.Flush)
	return true
}

// tellAnswer passes an answer on to the client, or to the part of gauze that made the request.
func (v *server) tellAnswer(conn *upstream.Conn, c *Call, m *wire.Message, ruling *Ruling, valid bool) {
	now := conn.LastHeard() // when its last byte came, which saves reading the clock
	outcome := health.Answered
	if !valid {
		outcome = health.Broken
	}
	v.s.up.Record(conn.Generation, outcome, now.Sub(c.sent), now)
	if c.own != nil {
		c.own <- keep(m)
		return
	}
	if !valid {
		v.s.end(c, string(fault.ResponseInvalid), now)
		v.s.out.put(Told{About: c.id, Answer: true, Status: m.Status, Line: v.s.faultAnswer(c, &fault.Fault{Code: fault.ResponseInvalid,
			Delivery: fault.Answered, Detail: "a response with both a result and an error, or with neither"})})
		return
	}
	if !c.IsTool() {
		v.s.end(c, (&Response{Failed: m.Error != nil}).outcome(), now)
		if c.class == Stream {
			m = endOfStream(c, m)
		}
		v.putAnswer(c, m, nil)
		return
	}
	v.s.end(c, c.part.response.outcome(), now)
	v.passOn(c, m, &c.part.response, ruling)
}

// passOn passes the response to a tool call on, in its place if that is what a stage wants. The outlet's lock is held.
func (v *server) passOn(c *Call, m *wire.Message, r *Response, ruling *Ruling) {
	switch {
	case ruling.place == nil:
		v.putAnswer(c, m, v.s.panel.additions(c, r))
	case ruling.beside:
		v.work(ruling, func() {})
		v.putAnswer(c, m, v.s.panel.additions(c, r))
	default:
		v.work(ruling, v.inPlace(c, m, r))
	}
}

// work runs what a stage does about a response, for a limited time, and then calls ended, once or more.
func (v *server) work(r *Ruling, ended func()) {
	place, limit := r.place, r.limit
	r.unless = nil
	v.s.mu.Lock()
	v.s.work.placed++
	v.s.mu.Unlock()
	v.s.work.background.Go(func() {
		ctx, cancel := context.WithTimeout(v.s.work.life, limit)
		defer cancel()
		stop := context.AfterFunc(ctx, ended)
		place(ctx)
		stop()
		ended()
		v.s.mu.Lock()
		v.s.work.placed--
		v.s.leaving.checkEmptied()
		v.s.mu.Unlock()
	})
}

// inPlace holds the place of a response in the outlet, whose lock is held. The first call of answer puts
// the response there.
func (v *server) inPlace(c *Call, m *wire.Message, r *Response) (answer func()) {
	kept := keep(m)
	r.Message = &kept
	var held *place
	fill := func() {
		if !held.filled {
			v.s.out.fill(held, appendEdited(nil, c, &kept, v.s.panel.additions(c, r)), Told{About: c.id, Answer: true, Status: kept.Status})
			v.answered(c)
		}
	}
	held = v.s.out.hold(fill)
	return func() {
		v.s.out.Lock()
		defer v.s.out.Unlock()
		fill()
	}
}

// putAnswer puts the server's response into the outlet, whose lock is held, with what is added to it.
func (v *server) putAnswer(c *Call, m *wire.Message, edits []wire.Edit) {
	if before, after := m.AroundID(); edits == nil && v.s.out.w != nil && len(m.Raw) > longAnswer {
		v.s.out.stream(before, c.id, after, lineEnd)
	} else {
		v.s.out.buf = appendEdited(v.s.out.buf, c, m, edits)
		v.s.out.end(Told{About: c.id, Answer: true, Status: m.Status})
	}
	v.answered(c)
}

// answered reports that gauze saved a call, if it did, and gives it back: it is not to be used any more.
func (v *server) answered(c *Call) {
	if e := &c.part.ended; e.Saved != "" {
		v.s.emit(c, event.Event{Kind: event.Saved, Detail: e.Saved, Took: e.Took, Without: e.Without, Changes: e.Changes})
	}
	for _, stage := range v.s.panel.finishers {
		stage.Done(c)
	}
	v.s.spare.giveBack(c)
}

// longAnswer is from which length on a response is written from where it was read, without a copy.
const longAnswer = 1 << 20

// noteAnswered records what a valid answer to the client says about the call and the server.
func (v *server) noteAnswered(conn *upstream.Conn, c *Call, m *wire.Message) {
	handshake := c.class == Start || c.msg.Method == "server/discover"
	conn.Answered(handshake)
	if handshake && m.Result != nil {
		conn.Greeted()
	}
	v.s.counters.Answered++
	v.s.budget.earn()
	if c.task && c.token != "" && len(v.tasks) < maxTasks {
		v.tasks[c.token] = true
	}
	v.s.sleep.noteTask(c, m)
	v.s.quarantine.clear(c)
	if m.Result != nil && v.remembers(c) {
		v.s.learn(c, m.Result)
		v.s.likeness.portray(c, m.Result)
	}
	if m.Error != nil {
		v.s.likeness.portrayLegacy(c, m.Error)
		v.s.likeness.portrayModern(c, m.Error)
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
func (v *server) remembers(c *Call) bool {
	return c.msg.Method != "tools/call" || c.modern && !v.s.memory.modern
}

// awaiting returns the call a response belongs to: strictly by our own id, and only on the
// connection it was sent on.
func (v *server) awaiting(conn *upstream.Conn, id []byte) *Call {
	n, _ := parseID(id)
	c := v.s.table.flight[n]
	if c == nil {
		c = v.s.table.opened[n]
	}
	if upstream.Seeded("no-fence") && c == nil {
		return v.s.ghost(id)
	}
	if c == nil || c.conn != conn {
		return nil
	}
	return c
}

// unexpected counts a response that no call waits for.
func (v *server) unexpected(conn *upstream.Conn, m *wire.Message) {
	detail := "a response to a request that was never sent"
	if n, ours := parseID(m.ID); ours && v.late[n] {
		delete(v.late, n)
		v.s.counters.Late++
		detail = "a response that arrived too late"
	} else {
		v.s.counters.Foreign++
		if m.Error != nil && (m.ID == nil || string(m.ID) == "null") {
			detail = "an error without an id: " + string(m.Error[:min(len(m.Error), 200)])
		}
	}
	v.s.emit(nil, event.Event{Kind: event.Dropped, Generation: conn.Generation, Detail: detail})
}

// TooLong handles a message above the size limit, which may be the answer to a call.
func (v *server) TooLong(conn *upstream.Conn, long *wire.TooLong) {
	detail := fmt.Sprintf("%d bytes; the limit is %d", long.Length, v.s.config.Limits.MaxMessage)
	if !v.spoilt(conn, idOfAnswer(long.Head, long.Tail), fault.ResponseTooLarge, "an answer of "+detail) {
		v.Stray(conn, []byte("(a line of "+detail+")"))
	}
}

// Stray handles a line on stdout that is not a message. If it was meant as an answer, no better one
// will come: the call ends now, not at its deadline.
func (v *server) Stray(conn *upstream.Conn, line []byte) {
	v.spoilt(conn, idOfAnswer(line, line[max(0, len(line)-1024):]), fault.ResponseInvalid, "a line that is not a valid message")
	v.s.countOne(func(n *Counters) { n.Stray++ })
	v.s.emit(nil, event.Event{Kind: event.Stray, Generation: conn.Generation,
		Detail: strayText(v.s.config.Words, line)})
}

// strayText returns the beginning of a line that is not a message, without secrets.
func strayText(w Words, line []byte) string {
	const maxBytes = 200
	if len(line) > maxBytes {
		return w.Quote(w.RedactPart(string(line[:maxBytes])))
	}
	return w.Quote(w.Redact(string(line)))
}

// spoilt fails the call whose answer cannot be passed on. It reports whether there is such a call.
func (v *server) spoilt(conn *upstream.Conn, id []byte, code fault.Code, detail string) bool {
	var c *Call
	v.s.update(func() {
		if c = v.awaiting(conn, id); c != nil {
			v.s.fail(c, &fault.Fault{Code: code, Delivery: fault.Answered, Detail: detail})
		}
	})
	if c == nil {
		return false
	}
	v.s.up.Record(conn.Generation, health.Broken, 0, time.Now())
	return true
}

// idOfAnswer returns the id of a broken answer by its ends: near the start, or at the very end,
// where the TypeScript SDK puts it. It returns nil for log lines, such as one that quotes a
// message. Without "jsonrpc", a line is an answer if it has an id and a result, which is an object.
func idOfAnswer(head, tail []byte) []byte {
	if !answerHead.Match(head) {
		return nil
	}
	version := []byte(`"jsonrpc"`)
	m, _, _ := wire.Scan(head)
	switch {
	case !bytes.Contains(head, version) && !bytes.Contains(tail, version):
		if m.Method != "" || !bytes.HasPrefix(m.Result, []byte{'{'}) && !bytes.HasPrefix(m.Error, []byte{'{'}) {
			return nil
		}
		return m.ID
	case m.ID != nil:
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
