package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// session is one legacy client: its own upstream, and a lane for the responses to each POST.
type session struct {
	life
	id        string
	who       principal
	server    string // shown to users
	resumable bool

	mu           sync.Mutex // guards everything below
	initializeID string     // raw id of the initialize request that began the session
	refused      bool       // that request was rejected
	over         bool       // no more messages follow
	version      string     // negotiated protocol version
	ready        bool       // the client has sent notifications/initialized
	due          map[string]*lane
	lanes        map[int]*lane
	listen       *lane // messages that belong to no request
	lastLane     int
	kept         kept
}

// lane is one sequence of messages: those about one POST, or those about no request. It outlives
// the HTTP response that it is written to.
type lane struct {
	number int
	first  int // oldest index that is kept, if it was ever used
	last   int // index of the latest message; -1 if there is none
	sent   int // latest index that was put into a response
	due    int // responses
	out    *stream
}

// maxUnanswered limits the unanswered requests of one session: more than any client sends, and a
// limit for one that disconnects during all its calls.
const maxUnanswered = 4096

// streamPreamble tells a client how long to wait before it reconnects, in milliseconds.
const streamPreamble = "retry: 1000\n\n"

func newSession(id string, who principal, o *Options) *session {
	s := &session{
		id: id, who: who, server: o.Session.Label(), resumable: o.Resumable,
		due:    map[string]*lane{},
		listen: &lane{last: -1, sent: -1},
	}
	s.lanes = map[int]*lane{0: s.listen}
	s.kept.emptied = s.emptied
	return s
}

// legacy handles a POST of the versions with sessions.
func (g *Gateway) legacy(w http.ResponseWriter, r *http.Request, who principal, messages []message, batch bool) {
	calls := 0
	for i := range messages {
		if messages[i].isCall() {
			calls++
		}
	}
	if calls > 0 {
		if refused := g.table.beginRequest(messages); refused != nil {
			refused.write(w)
			return
		}
		defer g.table.endRequest()
	}
	s, fresh, refused := g.sessionOf(r, who, messages, batch)
	if refused != nil {
		refused.write(w)
		return
	}
	defer g.table.leave(&s.life)
	if calls == 0 {
		s.forward(messages)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	l, out, how, refused := s.openLane(messages, calls)
	if refused != nil {
		refused.write(w)
		return
	}
	knowsSession := false // the client received its session id
	if fresh {
		how.header = func(h http.Header) {
			if !s.wasRefused() {
				h.Set(sessionHeader, s.id)
				knowsSession = true
			}
		}
	}
	s.forward(messages)
	// A client that disconnects does not cancel: "Disconnection MAY occur at any time, and SHOULD
	// NOT be interpreted as the client cancelling its request."
	g.writeStream(w, r, out, how)
	s.detach(l, out)
	if fresh && !knowsSession {
		g.table.dismiss(s) // the client does not know it
	}
}

// sessionOf returns the session that a POST belongs to, or begins one.
func (g *Gateway) sessionOf(r *http.Request, who principal, messages []message, batch bool) (s *session, fresh bool, refused *refusal) {
	initialize := messages[0].Method == "initialize" && messages[0].isCall()
	ids := r.Header.Values(sessionHeader)
	switch {
	case len(ids) == 0 && initialize && !batch:
		s, refused = g.table.begin(r, who, messages[0].ID)
		return s, true, refused
	case len(ids) == 0:
		return nil, false, rpc(http.StatusBadRequest, codeInvalidRequest, messages[0].callID(),
			"no session was started: send initialize first, then send the Mcp-Session-Id from its response with every request")
	}
	if s, refused = g.table.find(r, who); refused != nil {
		return nil, false, refused
	}
	for i := range messages {
		if messages[i].Method == "initialize" && messages[i].isCall() {
			refused = rpc(http.StatusBadRequest, codeInvalidRequest, messages[i].ID, "this session is already initialized")
		}
	}
	if batch && s.agreed() != wire.VersionWithBatches {
		refused = rpc(http.StatusBadRequest, codeInvalidRequest, nil, "this protocol version does not support batches")
	}
	if refused != nil {
		g.table.leave(&s.life)
		return nil, false, refused
	}
	return s, false, nil
}

// callID returns the id of a request, or nil.
func (m *message) callID() []byte {
	if m.isCall() {
		return m.ID
	}
	return nil
}

// forward passes the messages to the server.
func (s *session) forward(messages []message) {
	for i := range messages {
		m := &messages[i]
		s.peer.FromClient(m.Raw)
		switch {
		case m.isCall():
		case m.Method == "notifications/cancelled":
			id, _ := wire.Field(m.Params, "requestId")
			s.cancelled(string(id))
		case m.Method == "notifications/initialized":
			s.initialized()
		}
	}
	s.peer.Flush()
}

// openLane returns a lane for the responses to these messages.
func (s *session) openLane(messages []message, calls int) (*lane, *stream, streamOptions, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, nil, streamOptions{}, noSession()
	}
	if len(s.due)+calls > maxUnanswered {
		return nil, nil, streamOptions{}, busy(&fault.Fault{Code: fault.ServerBusy, Delivery: fault.Unsent, Name: s.server, At: time.Now(),
			Detail: fmt.Sprintf("%d earlier requests in this session are still unanswered", len(s.due))}, messages[0].callID())
	}
	s.lastLane++
	l := &lane{number: s.lastLane, last: -1, sent: -1, due: calls, out: callStream()}
	how := s.streamOptions(l)
	how.preamble = streamPreamble
	for i := range messages {
		m := &messages[i]
		if !m.isCall() {
			continue
		}
		if s.due[string(m.ID)] != nil {
			for done := range messages[:i] {
				if s.due[string(messages[done].ID)] == l {
					delete(s.due, string(messages[done].ID))
				}
			}
			return nil, nil, streamOptions{}, rpc(http.StatusBadRequest, codeInvalidRequest, m.ID, "a request with this id is still unanswered")
		}
		s.due[string(m.ID)] = l
		if m.Method == "initialize" {
			s.initializeID = string(m.ID)
		}
	}
	s.lanes[l.number] = l
	if s.resumable && s.version >= wire.NewestLegacy { // the first in which a stream begins with an event that only has an id
		// "The server SHOULD immediately send an SSE event consisting of an event ID and an empty
		// data field in order to prime the client to reconnect." So the headers are sent
		// immediately.
		l.last, l.first, l.sent = 0, 1, 0
		how.at = true
		how.preamble += "event: prime\nid: " + how.eventID(0) + "\ndata: \n\n"
	}
	return l, l.out, how, nil
}

// streamOptions returns how a response of this lane is written.
func (s *session) streamOptions(l *lane) (how streamOptions) {
	if s.resumable {
		prefix := strconv.Itoa(l.number) + "_"
		how.eventID = func(index int) string { return prefix + strconv.Itoa(index) }
	}
	return how
}

// parseEventID parses what manner writes.
func parseEventID(text string) (number, index int, ok bool) {
	first, second, found := strings.Cut(text, "_")
	number, err := strconv.Atoi(first)
	index, err2 := strconv.Atoi(second)
	return number, index, found && err == nil && err2 == nil && number >= 0 && index >= 0
}

// tell receives the messages for the client. It must not block.
func (s *session) tell(t proxy.Told) {
	it := item{line: wire.OneLine(bytes.Clone(t.Line)), answer: t.Answer, due: t.Answer || t.Question, status: passedOn(t.Status, false)}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.due[string(t.About)]
	switch {
	case it.answer && l == nil:
		return // canceled meanwhile
	case it.answer:
		delete(s.due, string(t.About))
		l.due--
		if s.initializeID != "" && s.initializeID == string(t.About) {
			s.negotiated(t.Line)
		}
	case l == nil, l.out == nil && !s.resumable:
		// It is about no request, or its client cannot receive it there.
		l = s.listen
	}
	it.last = l != s.listen && l.due == 0
	s.say(l, it)
	if it.last {
		s.finish(l)
	}
}

// negotiated handles the response to initialize.
func (s *session) negotiated(line []byte) {
	s.initializeID = ""
	m, _, err := wire.Scan(line)
	if err != nil || m.Error != nil {
		s.refused = true
		return
	}
	version, _ := wire.Field(m.Result, "protocolVersion")
	s.version, _ = wire.Text(version)
}

// say puts an item into the response of the lane, if it has one, and keeps it if the client may
// still ask for it.
func (s *session) say(l *lane, it item) {
	l.last++
	it.index = l.last
	if l.out != nil && !l.out.put(it) {
		l.out = nil // the client does not read; its handler does the rest
	}
	if l.out != nil {
		l.sent = it.index
	}
	if s.resumable || l == s.listen && l.out == nil {
		s.kept.add(l, it, time.Now())
		return
	}
	l.first = l.last + 1
}

// finish ends a lane that has all its responses.
func (s *session) finish(l *lane) {
	if l.out != nil {
		l.out.end()
	}
	if !s.resumable || l.last < l.first { // nothing of it is kept
		delete(s.lanes, l.number)
	}
}

// cancelled records that the client canceled a request, so that no response will come.
func (s *session) cancelled(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.due[id]
	if l == nil || id == s.initializeID {
		return
	}
	delete(s.due, id)
	if l.due--; l.due == 0 {
		s.finish(l)
	}
}

// detach removes the response from a lane, which continues without it.
func (s *session) detach(l *lane, out *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.out == out {
		l.out = nil
	}
}

// attach gives a lane a new response, which begins with the messages after index.
func (s *session) attach(number, index int, resume bool) (*lane, *stream, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[number]
	stored := l != nil && l.first <= index+1 && index <= l.last
	switch {
	case s.over:
		return nil, nil, noSession()
	case resume && !stored:
		// Not 404, which would be about the session.
		return nil, nil, plain(http.StatusBadRequest, "the events after this one are no longer stored")
	case !resume && l.out != nil:
		return nil, nil, plain(http.StatusConflict, "this session already has a listening stream")
	case !resume:
		index = l.sent
	case l.out != nil:
		// A client that resumes knows that its old connection is broken; the gateway may not have
		// noticed yet.
		l.out.abandon()
	}
	if l.out = callStream(); l == s.listen {
		l.out = newStream()
	}
	for _, it := range s.kept.after(l, index) {
		l.out.put(it)
	}
	l.sent = l.last
	if !s.resumable {
		s.kept.forget(l)
		l.first = l.last + 1
	}
	if l != s.listen && l.due == 0 {
		l.out.end()
	}
	return l, l.out, nil
}

// endListeners ends the stream of a client that only listens.
func (s *session) endListeners() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listen.out != nil {
		s.listen.out.end()
	}
}

// closed records that no more messages follow.
func (s *session) closed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, l := range s.lanes {
		if l.out != nil && l.due == 0 { // pending requests still get their responses
			l.out.end()
		}
	}
}

// expire drops old messages that no client asked for.
func (s *session) expire(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.expire(now)
}

// emptied removes a finished lane of which nothing is kept any more.
func (s *session) emptied(l *lane) {
	if l != s.listen && l.due == 0 {
		delete(s.lanes, l.number)
	}
}

func (s *session) wasRefused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

func (s *session) agreed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

func (s *session) initialized() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
}

func (s *session) isInitialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

// busy reports whether a response is pending.
func (s *session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.due) > 0
}
