package kernel

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// This file is the story of one call: its states and the moves between them, how it is queued,
// sent, sent again and answered. What a loss means is decided in decide.go.

// state says where a call is. It is in exactly one state, and only move changes it.
//
//	arrived -> queued -> sent -> done
//	              ^-------/ \-> cut -> sent    after a loss: any call, an open stream
//	arrived, queued or sent -> held -> queued, sent or done    a stage keeps it for a while
type state uint8

const (
	arrived state = iota // read from the client, or made by us; in no table yet
	queued               // it waits for a connection or for its turn
	sent                 // it is with the server
	cut                  // a stream that lost its connection and is opened again on the next one
	held                 // a stage keeps it: a person logs in, a model is asked, a pause
	done                 // answered, withdrawn, or a notification that was sent: nothing follows
)

func (s state) String() string {
	return [...]string{"arrived", "queued", "sent", "cut", "held", "done"}[s]
}

// moves lists, by state, the states a call may move to.
var moves = [...][]state{
	arrived: {queued, sent, held, done},
	queued:  {sent, held, done},
	sent:    {queued, cut, held, done},
	cut:     {sent, done},
	held:    {queued, sent, done},
	done:    nil,
}

// Call is one request on its way to the server and back, or, without an id, a notification that
// waits for the server to return. Guarded by Session.mu.
type Call struct {
	state state // changed by move alone

	// What it is.
	number  event.CallID
	client  string // who called, if the request says so
	id      []byte // the client's, raw; nil: a notification
	msg     wire.Message
	tool    string
	shape   uint64 // of the tool when it was called; 0: not known
	class   Class
	modern  bool   // the request carries its own protocol version
	task    bool   // it creates a task, which outlives its answer
	token   string // raw progress token
	seq     uint64 // order of arrival
	began   time.Time
	arrived time.Time         // the same, until it is sent with other arguments
	own     chan wire.Message // receives the answer to a request of ours; nil: the client's request
	mirrors http.Header       // arguments the client repeated in headers
	body    body

	awaitsList bool // it waits, queued, until the tools are listed: it is not checked yet

	// How it was last sent.
	conn  *upstream.Conn
	n     uint64 // our id on the connection
	end   int64  // identifies it for conn.Delivery
	order uint64 // of sending, to tell what was sent after it
	sent  time.Time
	heard time.Time     // last progress
	asked time.Duration // for how long the user was being asked meanwhile

	past     past
	progress float64 // highest value passed on
	stream   stream

	part part
}

// body is where a call has its message.
type body struct {
	room      []byte // backs msg
	arguments []byte // of a tool call, raw: a part of room
	before    string // the tool of the call that had this room before
}

// past is what happened to a call.
type past struct {
	loss    *upstream.Loss // the last one; nil: it was never lost
	lost    time.Time      // when a connection last ended with it in flight
	failed  time.Time      // when it was first lost, or rejected: without gauze it would have failed then
	waited  bool           // it arrived while the server was down
	deaths  int            // losses after which it may have run
	proven  int            // losses after which it had provably not run
	suspect bool           // a connection ended with it in flight, and it may be the reason
	retryAt time.Time      // it is not sent before; never: not on this connection
	others  uint64         // writes of other sessions when it was first sent

	unlisted bool // it was classified while the live server had not listed its tools
}

// part is how stages take part in a call.
type part struct {
	asking   sync.Mutex    // held while stages look at a response, or at the end of the call
	slots    [maxSlots]any // what they know of it
	held     *Held         // nil: no stage holds it
	shared   bool          // stages, or what they do in the background, may refer to the call after its end
	again    time.Time     // when it was last sent again because a stage wanted that
	response Response
	added    Addition
	ended    EndedCall
}

// stream is what only a subscriptions/listen has.
type stream struct {
	acked    bool // the client has its acknowledgement
	swallow  bool // it was opened again: the next acknowledgement is not news
	gap      bool // it was cut, and its listener may have missed something
	reopened int  // times in a row
}

// open reports whether the call is a stream the server has seen.
func (c *Call) open() bool { return c.class == Stream && (c.state == sent || c.state == cut) }

// repeated reports whether the next time the call is sent is a repetition.
func (c *Call) repeated() bool { return c.past.deaths+c.past.proven > 0 }

// waitsSince returns since when the call waits for a server that is up.
func (c *Call) waitsSince() time.Time {
	if c.part.again.After(c.past.lost) && c.part.again.After(c.arrived) {
		return c.part.again
	}
	if c.past.lost.After(c.arrived) {
		return c.past.lost
	}
	return c.arrived
}

var signSeed = maphash.MakeSeed()

// newCall returns a call with a copy of a message from the client, which is in the reader's buffer.
func (s *Session) newCall(m *wire.Message) *Call {
	c := s.spare.take()
	c.began = time.Now()
	c.arrived = c.began
	c.msg, c.body.room = m.Keep(c.body.room)
	c.id = c.msg.ID
	return c
}

// table has the calls by their state. Only move changes it.
type table struct {
	s           *Session
	calls       callsByID        // not done
	tokens      tokens           // the same, by raw progress token
	queue       []*Call          // queued, in the order in which they go
	queuedBytes int              // in queue, and in calls that wait while they are held
	flight      map[uint64]*Call // sent, by our id; without streams
	opened      map[uint64]*Call // sent streams, by our id
	keeps       keeps            // calls in the state held
	freed       bool             // a call left: one that is queued may go
	roomy       sync.Cond        // on the session's lock: queuedBytes is small again, or the session ends
	illegal     uint64           // moves that a call's state does not allow; 0 unless gauze has a bug
}

// move changes the state of a call, and with it every table that follows from the state. To move a
// call to done is to answer it, so a call has one answer. A move that is not in moves changes
// nothing and returns false.
func (t *table) move(c *Call, to state) bool {
	from := c.state
	if !slices.Contains(moves[from], to) {
		t.illegal++
		if t.s.check != nil {
			panic(fmt.Sprintf("%s: from %v to %v", c.msg.Method, from, to))
		}
		return false
	}
	c.state = to
	switch from {
	case arrived:
		if to != done {
			t.register(c)
		}
	case queued:
		t.dequeue(c)
	case sent:
		delete(t.sentTable(c), c.n)
		t.s.order.vacate(c)
	case held:
		if c.part.held.waits() {
			t.queuedBytes -= queuedSize(c)
			t.roomy.Broadcast()
		}
		t.keeps.remove(c.part.held)
		c.part.held.end()
		c.part.held = nil
	}
	switch to {
	case queued:
		t.s.sleep.wake()
		t.queue = append(t.queue, c)
		t.queuedBytes += queuedSize(c)
		if c.awaitsList {
			t.s.listing.waiting++
		}
	case sent:
		t.sentTable(c)[c.n] = c
		t.s.order.occupy(c)
	case held:
		if c.part.held.waits() {
			t.queuedBytes += queuedSize(c)
		}
		t.keeps.add(c.part.held)
	case done:
		if from != arrived {
			t.forget(c)
		}
	}
	if t.s.sleep.idle > 0 {
		t.s.sleep.note(c)
	}
	t.freed = t.freed || from == sent || (from == queued || from == held) && to == done
	return true
}

// register adds a call to the tables by the client's names for it.
func (t *table) register(c *Call) {
	if c.own != nil || c.id == nil {
		return
	}
	t.calls.add(c)
	t.tokens.add(c)
}

// forget removes a call that is done.
func (t *table) forget(c *Call) {
	t.s.dialogue.withdrawFor(c)
	if c.class == Stream {
		t.s.server.notices.forget(c.id)
	}
	if c.own == nil && c.id != nil {
		t.calls.remove(c.id)
	}
	t.tokens.remove(c)
	t.s.leaving.checkEmptied()
}

// sentTable is the table of what is with the server that the call belongs to.
func (t *table) sentTable(c *Call) map[uint64]*Call {
	if c.class == Stream {
		return t.opened
	}
	return t.flight
}

// callOverhead is what a queued message takes beyond its bytes.
const callOverhead = 1 << 10

func queuedSize(c *Call) int { return len(c.msg.Raw) + callOverhead }

// dequeue removes a call from the queue. It is usually the first.
func (t *table) dequeue(c *Call) {
	if at := slices.Index(t.queue, c); at == 0 {
		t.queue[0], t.queue = nil, t.queue[1:]
	} else {
		t.queue = slices.Delete(t.queue, at, at+1)
	}
	if t.queuedBytes -= queuedSize(c); t.queuedBytes <= t.s.config.Limits.MaxQueued {
		t.roomy.Broadcast()
	}
	if c.awaitsList {
		t.s.listing.waiting--
	}
}

// reword replaces the message of a queued call with the one that was checked, and ends its wait for the
// list of the tools.
func (t *table) reword(c, checked *Call) {
	t.queuedBytes += queuedSize(checked) - queuedSize(c)
	c.msg, c.body, c.id, c.mirrors = checked.msg, checked.body, checked.id, checked.mirrors
	c.tool, c.class, c.part.slots = checked.tool, checked.class, checked.part.slots
	c.awaitsList = false
	t.s.listing.waiting--
}

// dispatch sends a call that has arrived, or queues it.
func (s *Session) dispatch(c *Call) {
	s.ids.arrivals++
	c.seq = s.ids.arrivals
	c.past.waited = s.link.conn == nil && s.link.away
	if s.link.conn == nil || s.order.isBehind(s.table.queue, c) || !s.order.admits(c) {
		s.table.move(c, queued)
		return
	}
	s.transmit(c, s.link.conn)
}

// release sends the queued calls that may go now, in their order.
func (s *Session) release() {
	conn := s.link.conn
	if conn == nil || len(s.table.queue) == 0 {
		return
	}
	waiting := len(s.table.queue)
	for i := 0; i < len(s.table.queue); {
		c := s.table.queue[i]
		if s.order.isBehind(s.table.queue[:i], c) || !s.order.admits(c) {
			i++
			continue
		}
		s.transmit(c, conn) // takes it out of the queue
		if c.class == Start {
			s.restorer.greet(conn)
		}
	}
	if len(s.table.queue) < waiting {
		s.later(conn.Flush)
	}
}

// inTurn orders the queue for a new connection: what was sent before goes first, because a write
// that comes later must not be undone by its repetition.
func inTurn(a, b *Call) int {
	if a.repeated() != b.repeated() {
		if a.repeated() {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.seq, b.seq)
}

// transmit puts the call on the connection under an id of our own. It does not flush.
func (s *Session) transmit(c *Call, conn *upstream.Conn) {
	if s.order.overtaken(c) {
		s.fail(c, &fault.Fault{Code: fault.OutcomeUnknown, Delivery: fault.Unknown})
		return
	}
	if c.state == queued && c.repeated() {
		s.reportRepetition(c, conn)
	}
	now := c.arrived
	if c.state != arrived {
		now = time.Now()
	}
	c.conn, c.sent, c.heard = conn, now, now
	s.order.noteSent(c)
	before, id, after := c.msg.Raw, []byte(nil), []byte(nil)
	if c.id == nil {
		s.table.move(c, done)
	} else {
		c.n = s.ids.nextID()
		s.table.move(c, sent)
		before, after = c.msg.AroundID()
		id = AppendID(s.ids.idBuffer[:0], c.n)
	}
	how := upstream.Sending{Once: c.id != nil && (c.class.writes() || s.classNow(c).writes())}
	if conn.Remote() && c.tool != "" {
		how.Header = s.mirrored(c)
	}
	var err error
	if c.end, err = conn.QueueWith(how, before, id, after, lineEnd); err != nil {
		// The connection is breaking; Down will find the call and, since nothing of it was written,
		// repeat it.
		c.end = 1 << 62
	}
	if c.id == nil && c.msg.Method == rootsChanged {
		s.server.rootsEnd = c.end
	}
}

// reportRepetition emits the event of a call that is sent again.
func (s *Session) reportRepetition(c *Call, conn *upstream.Conn) {
	s.counters.Replayed++
	detail := "it is safe to repeat"
	switch {
	case c.past.loss.Session:
		detail = "the server did not recognize the session"
	case c.past.loss.Delivery == fault.Unsent && conn.Remote():
		detail = "it did not run"
	case c.past.loss.Delivery == fault.Unsent:
		detail = upstream.NeverRead
	}
	s.emit(c, event.Event{Kind: event.Replayed, Generation: conn.Generation, Detail: detail})
}

var lineEnd = []byte{'\n'}

// maxLate bounds what we remember of calls whose answer may still come; it only tells a late answer
// from one to a request that was never made.
const maxLate = 10_000

// expectLate notes that an answer to a call that is about to end may still come, and is dropped.
func (s *Session) expectLate(c *Call) {
	if c.state == sent && c.conn == s.link.conn && len(s.server.late) < maxLate {
		s.server.late[c.n] = true
	}
}

// abandon ends a call that gets no answer: it was cancelled, or is a probe nothing waits for.
func (s *Session) abandon(c *Call) {
	if c.state != done {
		s.expectLate(c)
		s.table.move(c, done)
	}
}

// fail ends a call with a fault, which is its answer.
func (s *Session) fail(c *Call, f *fault.Fault) {
	if !s.table.move(c, done) {
		return
	}
	now := time.Now()
	s.later(func() {
		switch {
		case c.own != nil:
			close(c.own)
		case c.id != nil:
			s.end(c, string(f.Code), now)
			s.out.send(answer(c.id, s.faultAnswer(c, f)))
		}
	})
}

// reply ends a call with a result of our own, and with this outcome.
func (s *Session) reply(c *Call, result []byte, outcome string) {
	s.table.move(c, done)
	now := time.Now()
	s.later(func() {
		s.end(c, outcome, now)
		s.out.send(answer(c.id, reply(c.id, "result", result)))
	})
}

// end tells the stages that a call of the client has ended, in the reverse order. The caller does not
// hold the lock.
func (s *Session) end(c *Call, outcome string, now time.Time) {
	e := &c.part.ended
	*e = EndedCall{ID: c.number, Method: c.msg.Method, Time: c.began, Client: c.client, Tool: c.tool, Outcome: outcome, Took: max(0, now.Sub(c.began))}
	if outcome == OutcomeOK && c.tool != "" {
		e.Saved, e.Without = c.saved()
	}
	c.part.asking.Lock() // a call may end while its response is looked at
	defer c.part.asking.Unlock()
	for _, stage := range s.panel.reverse {
		stage.End(c, e)
	}
}

// saved returns what the kernel did for a call that succeeded and would have failed without it, and after
// what time it would have failed.
func (c *Call) saved() (how string, without time.Duration) {
	switch {
	case c.past.loss != nil && c.repeated():
		return SavedReplayed, c.Without()
	case c.past.loss != nil || c.past.waited:
		return SavedWaited, max(time.Millisecond, c.Without())
	}
	return "", 0
}

// Without returns after what time the call would have failed without gauze; 0: that is not known.
func (c *Call) Without() time.Duration {
	if c.past.failed.IsZero() {
		return 0
	}
	return max(time.Millisecond, c.past.failed.Sub(c.began))
}

// faultAnswer reports the fault and returns it as the answer to the call: a tool result where a
// model will read it, an error everywhere else. The caller does not hold the lock.
func (s *Session) faultAnswer(c *Call, f *fault.Fault) []byte {
	f.Server, f.Name, f.Method, f.Tool, f.At = s.config.Name, s.config.Label, c.msg.Method, c.tool, time.Now()
	f.Safe = c.class != Unsafe
	f.Hide(s.config.Words.Redact)
	if f.Message == "" && f.Code != fault.Stopping {
		now := s.up.Snapshot()
		f.State, f.Closures, f.Recoveries = now.State.String(), now.Closures, now.Recoveries
		if f.Code == fault.ServerStarting {
			f.State = StateStarting
		}
	}
	kind := event.Failed
	switch f.Code {
	case fault.OutcomeUnknown:
		kind = event.Unknown
	case fault.CallTimeout:
		kind = event.TimedOut
	case fault.CallQuarantined:
		kind = event.Quarantined
	}
	s.emit(c, event.Event{Kind: kind, Code: f.Code, Detail: s.config.Words.Redact(f.Detail), Took: f.At.Sub(c.arrived)})
	s.countOne(func(n *Counters) {
		n.Failed++
		if f.Code == fault.OutcomeUnknown {
			n.Unknown++
		}
	})
	if f.Message != "" {
		f.At = time.Time{} // the same mistake gets the same bytes
	}
	// A server that ends its response without an answer has failed the protocol, not the tool, and
	// so has a call of no tool.
	if c.msg.Method != "tools/call" || f.Code == fault.AnswerMissing || f.Code == fault.ToolUnknown {
		return reply(c.id, "error", f.RPCError())
	}
	result := f.ToolResult(c.modern)
	c.part.added = Addition{}
	s.panel.add(c, &Response{Failed: true}, &c.part.added)
	for _, text := range c.part.added.Blocks {
		result = withText(result, text)
	}
	return reply(c.id, "result", result)
}

// reply builds a response of our own.
func reply(id []byte, key string, value []byte) []byte {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	line = append(line, `,"`+key+`":`...)
	return append(append(line, value...), '}')
}
