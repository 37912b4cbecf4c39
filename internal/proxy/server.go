package proxy

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/health"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Message takes one message of the server's. It is called from the
// connection's own goroutine, and never after its Down.
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

// Rest: nothing more to read at the moment, so what was collected goes out.
func (s *Session) Rest(*upstream.Conn) {
	s.out.Lock()
	s.out.flush()
	s.out.Unlock()
}

// response is the last step of a call.
func (s *Session) response(conn *upstream.Conn, m *wire.Message) {
	s.out.Lock()
	s.mu.Lock()
	c := s.awaiting(conn, m.ID)
	if c == nil {
		s.unexpected(conn, m)
		s.mu.Unlock()
		s.out.Unlock()
		return
	}
	s.keepQuestions(c)
	s.retire(c)
	valid := (m.Result == nil) != (m.Error == nil)
	if c.own == nil && valid {
		conn.Answered(c.class == Start || c.msg.Method == "server/discover")
		s.counters.Answered++
		s.budget.earn()
		if c.task && c.token != "" && len(s.tasks) < mostTasks {
			s.tasks[c.token] = true
		}
		delete(s.quarantine.last, c.sign) // a success in between clears the call
		delete(s.quarantine.barred, c.sign)
		if m.Result != nil && s.remembers(c) {
			s.learn(c, m.Result)
		}
	}
	held := len(s.held)
	s.release()
	deferred := s.takeDeferred()
	s.mu.Unlock()

	now := conn.LastHeard() // of its last byte: no need to look at the clock again
	outcome := health.Answered
	if !valid {
		outcome = health.Broken
	}
	s.up.Record(conn.Generation, outcome, now.Sub(c.sent), now)
	switch {
	case c.own != nil:
		c.own <- keep(m)
	case valid:
		if c.class == Stream {
			m = endOfStream(c, m)
		}
		s.out.buf = s.appendAnswer(s.out.buf, c, m)
	default:
		s.out.buf = append(append(s.out.buf, s.verdict(c, &fault.Fault{Code: fault.ResponseInvalid, Delivery: fault.Answered,
			Detail: "a response with both a result and an error, or with neither"})...), '\n')
	}
	if c.own == nil {
		s.out.end(Told{About: c.id, Answer: true, Status: m.Status})
	}
	s.out.Unlock()
	if valid {
		s.discard(c)
	}
	for _, f := range deferred {
		f()
	}
	if held > 0 {
		s.Flush()
	}
}

// mostTasks bounds what we remember of tasks.
const mostTasks = 10_000

// remembers spares the usual tool call a second look at its params.
func (s *Session) remembers(c *call) bool {
	return c.msg.Method != "tools/call" || c.modern && !s.memory.modern
}

// awaiting finds the call a response belongs to: strictly by our own id, and
// only on the connection it was sent on.
func (s *Session) awaiting(conn *upstream.Conn, id []byte) *call {
	n, _ := parseID(id)
	c := s.flight[n]
	if c == nil {
		c = s.opened[n]
	}
	if upstream.Seeded("no-fence") && c == nil {
		return s.ghost(id)
	}
	if c == nil || c.conn != conn || c.over {
		return nil
	}
	return c
}

// unexpected drops an answer nobody waits for, and counts it.
func (s *Session) unexpected(conn *upstream.Conn, m *wire.Message) {
	detail := "an answer to a request that was never made"
	if n, ours := parseID(m.ID); ours && s.late[n] {
		delete(s.late, n)
		s.counters.Late++
		detail = "an answer that came too late"
	} else {
		s.counters.Foreign++
		if m.Error != nil && (m.ID == nil || string(m.ID) == "null") {
			detail = "an error without an id: " + string(m.Error[:min(len(m.Error), 200)])
		}
	}
	s.Events.Emit(event.Event{Kind: event.Dropped, Server: s.Name, Generation: conn.Generation, Detail: detail})
}

// questionFromServer passes a request of the server's on under an id of our
// own: two processes count from the same number.
func (s *Session) questionFromServer(conn *upstream.Conn, m *wire.Message) {
	s.out.Lock()
	defer s.out.Unlock()
	s.mu.Lock()
	if s.memory.modern {
		// 2026-07-28 knows no server-to-client requests.
		s.mu.Unlock()
		conn.Queue(append(reply(m.ID, "error", []byte(`{"code":-32601,"message":"this client does not take requests"}`)), '\n'))
		conn.Flush()
		s.Events.Emit(event.Event{Kind: event.Dropped, Server: s.Name, Generation: conn.Generation, Method: m.Method,
			Detail: "a request from a server whose protocol has none"})
		return
	}
	if len(s.questions) >= mostQuestions {
		s.mu.Unlock()
		conn.Queue(append(reply(m.ID, "error", []byte(`{"code":-32603,"message":"the client has not answered a thousand earlier requests"}`)), '\n'))
		conn.Flush()
		return
	}
	id := s.questionID(conn.Generation)
	about := s.about(conn, m)
	if !s.userAsked(conn) {
		s.askedAt = time.Now()
	}
	s.questions[string(id)] = &question{id: bytes.Clone(m.ID), conn: conn, about: bytes.Clone(about), call: s.askedFor(conn, m)}
	s.mu.Unlock()
	s.out.buf = m.AppendWithID(s.out.buf, id)
	s.out.end(Told{About: about, Question: true})
}

// mostQuestions bounds a server that asks a client that does not answer.
const mostQuestions = 1000

// userAsked reports whether a question of this server's is with the client: it
// may take as long as the user takes, and the server may wait for nothing else.
func (s *Session) userAsked(conn *upstream.Conn) bool {
	for _, q := range s.questions {
		if q.conn == conn {
			return true
		}
	}
	return false
}

// askedFor is the call a question certainly belongs to: the one on whose stream
// it came, or the only tool call in flight. Servers ask for the roots by
// themselves.
func (s *Session) askedFor(conn *upstream.Conn, m *wire.Message) (only *call) {
	if m.Via != nil {
		if c := s.awaiting(conn, m.Via); c != nil && c.own == nil {
			return c
		}
	}
	if conn.Remote() || m.Method == "roots/list" {
		return nil
	}
	for _, c := range s.flight {
		if c.conn != conn || c.own != nil {
			continue
		}
		if only != nil || c.msg.Method != "tools/call" {
			return nil
		}
		only = c
	}
	return only
}

// settleQuestion forgets a question. If it was the last one, the clocks of the
// calls in flight go on where they stopped.
func (s *Session) settleQuestion(id string, q *question) {
	delete(s.questions, id)
	if s.userAsked(q.conn) {
		return
	}
	now := time.Now()
	for _, c := range s.flight {
		if c.conn == q.conn {
			since := s.askedAt
			if c.sent.After(since) {
				since = c.sent
			}
			c.heard, c.asked = now, c.asked+now.Sub(since)
		}
	}
}

// keepQuestions leaves the questions of a call that the server answered: it may
// have others in mind with them.
func (s *Session) keepQuestions(c *call) {
	for _, q := range s.questions {
		if q.call == c {
			q.call = nil
		}
	}
}

// withdrawFor takes back what was asked because of a call that is over without
// an answer of the server's: the client closes its dialog, and the server, which
// may wait for nothing else, goes on.
func (s *Session) withdrawFor(c *call) {
	for id, q := range s.questions {
		if q.call != c {
			continue
		}
		s.settleQuestion(id, q)
		s.later(func() {
			q.conn.Queue(reply(q.id, "error", []byte(`{"code":-32000,"message":"the request this was asked for is over"}`)), lineEnd)
			q.conn.Flush()
			s.out.send(withdrawal(id, q, "the request this was asked for is over"))
		})
	}
}

// withdrawal tells the client that nobody waits for its answer any more.
func withdrawal(id string, q *question, reason string) Told {
	return Told{About: q.about, Line: []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id +
		`,"reason":"` + reason + `"}}`)}
}

// withdrawQuestions takes back what a dead server asked: nobody will read the
// answer.
func (s *Session) withdrawQuestions(conn *upstream.Conn) (all []Told) {
	for id, q := range s.questions {
		if q.conn == conn {
			delete(s.questions, id)
			all = append(all, withdrawal(id, q, "the server that asked has stopped"))
		}
	}
	return all
}

func (s *Session) noticeFromServer(conn *upstream.Conn, m *wire.Message) {
	s.out.Lock()
	defer s.out.Unlock()
	s.mu.Lock()
	if m = s.forListener(conn, m); m == nil {
		s.mu.Unlock()
		return
	}
	pass := true
	var old, value []byte
	about := s.about(conn, m)
	switch m.Method {
	case "notifications/progress":
		pass = s.progress(m)
	case "notifications/cancelled":
		old, _ = wire.Field(m.Params, "requestId")
		if stream := s.subscription(conn, old); stream != nil {
			s.retire(stream) // how a modern server ends a stream
			about, value = stream.id, stream.id
		} else if value, about = s.withdrawn(conn, old); value == nil {
			pass = false
		}
	case "notifications/subscriptions/acknowledged":
		pass = !s.swallowed(m)
		s.hintAfterGap(subscriptionOf(m.Params))
	case "notifications/tools/list_changed":
		s.catalog.change(s.sends)
		pass = s.notices.pass(m, time.Now())
	case "notifications/prompts/list_changed", "notifications/resources/list_changed":
		pass = s.notices.pass(m, time.Now())
	}
	if !pass {
		s.rouse() // what is held back is due later
	}
	s.mu.Unlock()
	switch {
	case !pass:
		return
	case value != nil:
		s.out.buf = m.AppendWithParam(s.out.buf, old, value)
	default:
		s.out.buf = append(append(s.out.buf, m.Raw...), '\n')
	}
	s.out.end(Told{About: about})
}

// withdrawn ends a request that the server cancelled. It returns our id of that
// request, and the client's request it was about.
func (s *Session) withdrawn(conn *upstream.Conn, id []byte) (ours, about []byte) {
	for ours, q := range s.questions {
		if q.conn == conn && bytes.Equal(q.id, id) {
			s.settleQuestion(ours, q)
			return []byte(ours), q.about
		}
	}
	return nil, nil
}

// about finds the client's request that a request or notification of the
// server's belongs to, for clients that have a stream for each (HTTP). Its
// progress token or its stream may say so; over stdio nothing says which call
// made the server ask or log, but it is nearly always the latest.
func (s *Session) about(conn *upstream.Conn, m *wire.Message) []byte {
	if s.out.tell == nil {
		return nil
	}
	if id := subscriptionOf(m.Params); id != nil {
		return id
	}
	if m.Via != nil {
		if c := s.awaiting(conn, m.Via); c != nil && c.own == nil {
			return c.id
		}
	}
	switch m.Method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
		"notifications/resources/updated":
		return nil // about no request
	case "notifications/progress":
		token, _ := wire.Field(m.Params, "progressToken")
		if c := s.tokens[tokenKey(token)]; c != nil {
			return c.id
		}
		return nil
	}
	if conn.Remote() {
		return nil // it came on no request's stream
	}
	var latest *call
	for _, c := range s.flight {
		if c.conn == conn && c.own == nil && (latest == nil || c.order > latest.order) {
			latest = c
		}
	}
	if latest == nil {
		return nil
	}
	return latest.id
}

// noticeAbout is the stream a notification names by itself.
func noticeAbout(line []byte) []byte {
	m, _, err := wire.Scan(line)
	if err != nil {
		return nil
	}
	return subscriptionOf(m.Params)
}

// progress extends the deadline of its call. It is passed on if the call is
// still open and the value goes up: after a repetition the server counts anew.
func (s *Session) progress(m *wire.Message) bool {
	var values [2][]byte
	if wire.Fields(m.Params, values[:], "progressToken", "progress") != nil {
		return false
	}
	c := s.tokens[tokenKey(values[0])]
	if c == nil || c.conn == nil {
		return s.tasks[tokenKey(values[0])] // a task reports beyond its call's answer
	}
	c.heard = time.Now()
	value, err := strconv.ParseFloat(string(values[1]), 64)
	if err != nil {
		return true // not ours to judge
	}
	if c.began && value <= c.progress && c.deaths > 0 {
		return false
	}
	c.began, c.progress = true, value
	return true
}

// swallowed tells the acknowledgement of a stream we opened again.
func (s *Session) swallowed(m *wire.Message) bool {
	c := s.streams[string(subscriptionOf(m.Params))]
	if c == nil {
		return false
	}
	c.acked = true
	swallow := c.swallow
	c.swallow = false
	return swallow
}

// subscriptionOf is the raw id of the stream a notification belongs to.
func subscriptionOf(params []byte) []byte {
	meta, _ := wire.Field(params, "_meta")
	id, _ := wire.Field(meta, "io.modelcontextprotocol/subscriptionId")
	return id
}

// notices keeps a flood of list_changed from the client. More than floodAfter
// of one kind within floodSpan are a flood: of the rest, one says as much as a
// thousand.
type notices struct {
	recent  map[string]*spell
	pending map[string][]byte
}

// spell counts the notices of one kind.
type spell struct {
	began time.Time
	count int
}

const (
	floodSpan  = time.Second
	floodAfter = 100
)

func newNotices() notices {
	return notices{recent: map[string]*spell{}, pending: map[string][]byte{}}
}

// pass reports whether a notice goes to the client now. If not, one of its kind
// is kept until the flood ends.
func (n *notices) pass(m *wire.Message, now time.Time) bool {
	key := m.Method + string(m.Params[:min(len(m.Params), 200)])
	recent := n.recent[key]
	if recent == nil || now.Sub(recent.began) >= floodSpan {
		if len(n.recent) > 1000 {
			clear(n.recent)
		}
		recent = &spell{began: now}
		n.recent[key] = recent
	}
	if recent.count++; recent.count <= floodAfter {
		return true
	}
	if n.pending[key] == nil {
		n.pending[key] = bytes.Clone(m.Raw)
	}
	return false
}

// overdue returns the notices that were held back long enough.
func (n *notices) overdue(now time.Time) (lines [][]byte) {
	for key, line := range n.pending {
		if recent := n.recent[key]; recent == nil || now.Sub(recent.began) >= floodSpan {
			lines = append(lines, line)
			delete(n.pending, key)
		}
	}
	return lines
}

// forget drops what is held back for a stream that is over.
func (n *notices) forget(stream []byte) {
	for key, line := range n.pending {
		m, _, _ := wire.Scan(line)
		if bytes.Equal(subscriptionOf(m.Params), stream) {
			delete(n.pending, key)
		}
	}
}

// TooLong: the answer to some call was longer than we take.
func (s *Session) TooLong(conn *upstream.Conn, long *wire.TooLong) {
	detail := fmt.Sprintf("%d bytes; the limit is %d", long.Length, wire.MaxLine)
	if !s.spoilt(conn, idOfAnswer(long.Head, long.Tail), fault.ResponseTooLarge, detail) {
		s.Stray(conn, []byte("(a line of "+detail+")"))
	}
}

// Stray: a line on stdout that is no message. If it was meant as an answer,
// no better one will come: the call ends here, not at its deadline.
func (s *Session) Stray(conn *upstream.Conn, line []byte) {
	s.spoilt(conn, idOfAnswer(line, line[max(0, len(line)-1024):]), fault.ResponseInvalid, "a line that is no valid message")
	s.count(func(n *Counters) { n.Stray++ })
	s.Events.Emit(event.Event{Kind: event.Stray, Server: s.Name, Generation: conn.Generation,
		Detail: redact.Quote(string(line[:min(len(line), 200)]))})
}

// spoilt ends the call whose answer cannot be passed on, if it is known.
func (s *Session) spoilt(conn *upstream.Conn, id []byte, code fault.Code, detail string) bool {
	s.mu.Lock()
	c := s.awaiting(conn, id)
	if c == nil {
		s.mu.Unlock()
		return false
	}
	s.retire(c)
	s.release()
	s.unlock()
	conn.Flush()
	s.up.Record(conn.Generation, health.Broken, 0, time.Now())
	s.fail(c, &fault.Fault{Code: code, Delivery: fault.Answered, Detail: detail})
	return true
}

// idOfAnswer finds the id in a broken answer by its ends: near the start, or
// at the very end, where the TypeScript SDK puts it. A log line that quotes a
// request or an answer is neither, nor is one that only has an id and a result.
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
