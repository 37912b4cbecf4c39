package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/proxy"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// session is one legacy client: its own upstream, and for each of its POSTs a
// lane that the answers take.
type session struct {
	life
	id        string
	who       principal
	server    string // for people
	resumable bool

	mu       sync.Mutex // guards everything below
	hello    string     // raw id of the initialize that began it
	refused  bool       // and it was refused
	over     bool       // nothing more will be said
	version  string     // agreed on
	ready    bool       // the client has sent notifications/initialized
	due      map[string]*lane
	lanes    map[int]*lane
	listen   *lane // what belongs to no request
	lastLane int
	kept     kept
}

// lane is one sequence of messages: those about one POST, or those about no
// request. It outlives the HTTP response it is written to.
type lane struct {
	number int
	first  int // oldest index that is still there, if it was ever said
	last   int // index of the latest message, -1: none
	sent   int // latest index that was put into a response
	due    int // answers
	out    *stream
}

// mostDue requests of one session may be unanswered: more than any client asks
// at once, and a client that hangs up on all its calls ends somewhere.
const mostDue = 4096

// streamHello tells a client how long to wait before it connects again, in
// milliseconds: the connection is to ourselves, so soon.
const streamHello = "retry: 1000\n\n"

// firstPrimed is the version from which on a stream begins with an event that
// is there for its id only.
const firstPrimed = "2025-11-25"

func newSession(id string, who principal, g *Gateway) *session {
	s := &session{
		id: id, who: who, server: g.Session.Label(), resumable: g.Resumable,
		due:    map[string]*lane{},
		listen: &lane{last: -1, sent: -1},
	}
	s.lanes = map[int]*lane{0: s.listen}
	s.kept.emptied = s.emptied
	return s
}

// legacy goes on with a POST of the eras that have sessions.
func (g *Gateway) legacy(w http.ResponseWriter, r *http.Request, who principal, messages []message, batch bool) {
	calls := 0
	for i := range messages {
		if messages[i].isCall() {
			calls++
		}
	}
	if calls > 0 {
		if refused := g.ask(messages); refused != nil {
			refused.write(w)
			return
		}
		defer g.answered()
	}
	s, fresh, refused := g.sessionOf(r, who, messages, batch)
	if refused != nil {
		refused.write(w)
		return
	}
	defer g.leave(&s.life)
	if calls == 0 {
		s.hear(messages)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	l, out, how, refused := s.openLane(messages, calls)
	if refused != nil {
		refused.write(w)
		return
	}
	told := false // the client knows its session
	if fresh {
		how.header = func(h http.Header) {
			if !s.wasRefused() {
				h.Set(sessionHeader, s.id)
				told = true
			}
		}
	}
	s.hear(messages)
	// A client that hangs up does not cancel: "Disconnection MAY occur at any
	// time, and SHOULD NOT be interpreted as the client cancelling its request."
	g.pour(w, r, out, how)
	s.detach(l, out)
	if fresh && !told {
		g.dismiss(s) // nobody will ever name it
	}
}

// sessionOf finds the session a POST belongs to, or begins one.
func (g *Gateway) sessionOf(r *http.Request, who principal, messages []message, batch bool) (s *session, fresh bool, refused *refusal) {
	initialize := messages[0].Method == "initialize" && messages[0].isCall()
	ids := r.Header.Values(sessionHeader)
	switch {
	case len(ids) == 0 && initialize && !batch:
		s, refused = g.begin(who, messages[0].ID)
		return s, true, refused
	case len(ids) == 0:
		return nil, false, rpc(http.StatusBadRequest, codeInvalidRequest, messages[0].callID(),
			"there is no session: send initialize first, and then the Mcp-Session-Id of its answer with every request")
	}
	if s, refused = g.find(r, who); refused != nil {
		return nil, false, refused
	}
	for i := range messages {
		if messages[i].Method == "initialize" && messages[i].isCall() {
			refused = rpc(http.StatusBadRequest, codeInvalidRequest, messages[i].ID, "this session is initialized already")
		}
	}
	if batch && s.agreed() != "2025-03-26" {
		refused = rpc(http.StatusBadRequest, codeInvalidRequest, nil, "a batch, which this version of the protocol does not have")
	}
	if refused != nil {
		g.leave(&s.life)
		return nil, false, refused
	}
	return s, false, nil
}

// callID is the id to answer to.
func (m *message) callID() []byte {
	if m.isCall() {
		return m.ID
	}
	return nil
}

// hear hands the messages to the server.
func (s *session) hear(messages []message) {
	for i := range messages {
		m := &messages[i]
		s.proxy.FromClient(m.Raw)
		switch {
		case m.isCall():
		case m.Method == "notifications/cancelled":
			id, _ := wire.Field(m.Params, "requestId")
			s.cancelled(string(id))
		case m.Method == "notifications/initialized":
			s.initialized()
		}
	}
	s.proxy.Flush()
}

// openLane makes the lane for the answers to these messages.
func (s *session) openLane(messages []message, calls int) (*lane, *stream, manner, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, nil, manner{}, noSession()
	}
	if len(s.due)+calls > mostDue {
		return nil, nil, manner{}, busy(&fault.Fault{Code: fault.ServerBusy, Delivery: fault.Unsent, Name: s.server, At: time.Now(),
			Detail: fmt.Sprintf("%d requests of this session have no answer yet", len(s.due))}, messages[0].callID())
	}
	s.lastLane++
	l := &lane{number: s.lastLane, last: -1, sent: -1, due: calls, out: callStream()}
	how := s.manner(l)
	how.hello = streamHello
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
			return nil, nil, manner{}, rpc(http.StatusBadRequest, codeInvalidRequest, m.ID, "a request with this id has no answer yet")
		}
		s.due[string(m.ID)] = l
		if m.Method == "initialize" {
			s.hello = string(m.ID)
		}
	}
	s.lanes[l.number] = l
	if s.resumable && s.version >= firstPrimed {
		// "The server SHOULD immediately send an SSE event consisting of an
		// event ID and an empty data field in order to prime the client to
		// reconnect." It needs the headers at once.
		l.last, l.first, l.sent = 0, 1, 0
		how.at = true
		how.hello += "event: prime\nid: " + how.eventID(0) + "\ndata: \n\n"
	}
	return l, l.out, how, nil
}

// manner is how a response of this lane is written.
func (s *session) manner(l *lane) (how manner) {
	if s.resumable {
		prefix := strconv.Itoa(l.number) + "_"
		how.eventID = func(index int) string { return prefix + strconv.Itoa(index) }
	}
	return how
}

// parseEventID reads what manner writes.
func parseEventID(text string) (number, index int, ok bool) {
	first, second, found := strings.Cut(text, "_")
	number, err := strconv.Atoi(first)
	index, err2 := strconv.Atoi(second)
	return number, index, found && err == nil && err2 == nil && number >= 0 && index >= 0
}

// tell gets what is said to the client. It must not block.
func (s *session) tell(t proxy.Told) {
	it := item{line: wire.OneLine(bytes.Clone(t.Line)), answer: t.Answer, due: t.Answer || t.Question, status: passedOn(t.Status, false)}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.due[string(t.About)]
	switch {
	case it.answer && l == nil:
		return // cancelled meanwhile
	case it.answer:
		delete(s.due, string(t.About))
		l.due--
		if s.hello != "" && s.hello == string(t.About) {
			s.greeted(t.Line)
		}
	case l == nil, l.out == nil && !s.resumable:
		// About no request, or one whose client cannot be told there.
		l = s.listen
	}
	s.say(l, it)
	if l != s.listen && l.due == 0 {
		s.finish(l)
	}
}

// greeted looks at the answer to initialize.
func (s *session) greeted(line []byte) {
	s.hello = ""
	m, _, err := wire.Scan(line)
	if err != nil || m.Error != nil {
		s.refused = true
		return
	}
	version, _ := wire.Field(m.Result, "protocolVersion")
	s.version, _ = wire.Text(version)
}

// say puts an item into the lane's response, if it has one, and keeps it if
// somebody may ask for it.
func (s *session) say(l *lane, it item) {
	l.last++
	it.index = l.last
	if l.out != nil && !l.out.put(it) {
		l.out = nil // the client does not read; its handler sees to the rest
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

// finish ends a lane that has all its answers.
func (s *session) finish(l *lane) {
	if l.out != nil {
		l.out.end()
	}
	if !s.resumable || l.last < l.first { // nothing of it is kept
		delete(s.lanes, l.number)
	}
}

// cancelled: the client wants no answer any more, so none will come.
func (s *session) cancelled(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.due[id]
	if l == nil || id == s.hello {
		return
	}
	delete(s.due, id)
	if l.due--; l.due == 0 {
		s.finish(l)
	}
}

// detach: the response is gone, the lane goes on.
func (s *session) detach(l *lane, out *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.out == out {
		l.out = nil
	}
}

// attach gives a lane a new response, which begins with what was said behind
// index.
func (s *session) attach(number, index int, resume bool) (*lane, *stream, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[number]
	switch {
	case s.over:
		return nil, nil, noSession()
	case resume && (l == nil || index+1 < l.first || index > l.last):
		// Not 404: that would mean the session.
		return nil, nil, plain(http.StatusBadRequest, "what followed this event is not kept any more")
	case !resume && l.out != nil:
		return nil, nil, plain(http.StatusConflict, "this session has a listening stream already")
	case !resume:
		index = l.sent
	case l.out != nil:
		// Whoever resumes knows that its old connection is broken; we may
		// not have noticed yet.
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

// silence ends the stream of a client that only listens.
func (s *session) silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listen.out != nil {
		s.listen.out.end()
	}
}

// closed: nothing more will be said.
func (s *session) closed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, l := range s.lanes {
		if l.out != nil && l.due == 0 { // what is due is still answered
			l.out.end()
		}
	}
}

// expire forgets what nobody came back for.
func (s *session) expire(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.expire(now)
}

// emptied: nothing of a lane is kept any more.
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

// busy reports whether an answer is due.
func (s *session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.due) > 0
}
