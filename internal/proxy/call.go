package proxy

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/login"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// This file is the story of one call: its states and the moves between them, how it is queued,
// sent, sent again and answered. What a loss means is decided in decide.go.

// state says where a call is. It is in exactly one state, and only move changes it.
//
//	arrived -> queued -> sent -> done
//	              ^-------/ \-> cut -> sent    after a loss: any call, an open stream
//	arrived, queued or sent -> consulting -> queued, sent or done    rejected, and a model may correct it
//	sent -> pausing -> queued, sent or done                          failed with an error that may be over soon
type state uint8

const (
	arrived    state = iota // read from the client, or made by us; in no table yet
	queued                  // it waits for a connection or for its turn
	sent                    // it is with the server
	cut                     // a stream that lost its connection and is opened again on the next one
	consulting              // it was rejected, and its answer is held while a model is asked to correct it
	pausing                 // it failed, and its answer is held until it is sent again
	done                    // answered, withdrawn, or a notification that was sent: nothing follows
)

func (s state) String() string {
	return [...]string{"arrived", "queued", "sent", "cut", "consulting", "pausing", "done"}[s]
}

// moves lists, by state, the states a call may move to.
var moves = [...][]state{
	arrived:    {queued, sent, consulting, done},
	queued:     {sent, consulting, done},
	sent:       {queued, cut, consulting, pausing, done},
	cut:        {sent, done},
	consulting: {queued, sent, done},
	pausing:    {queued, sent, done},
	done:       nil,
}

// call is one request on its way to the server and back, or, without an id, a notification that
// waits for the server to return. Guarded by Session.mu.
type call struct {
	state state // changed by move alone

	// What it is.
	number  event.CallID
	client  string // who called, if the request says so
	trace   Trace  // nil: the call is not followed
	id      []byte // the client's, raw; nil: a notification
	msg     wire.Message
	tool    string
	shape   uint64 // of the tool when it was called; 0: not known
	class   Class
	modern  bool   // the request carries its own protocol version
	task    bool   // it creates a task, which outlives its answer
	token   string // raw progress token
	sign    uint64 // identifies method, tool and arguments
	seq     uint64 // order of arrival
	arrived time.Time
	own     chan wire.Message // receives the answer to a request of ours; nil: the client's request
	mirrors http.Header       // arguments the client repeated in headers
	room    *[]byte           // backs msg
	fitting fitting           // what was done to its arguments

	awaitsList bool // it waits, queued, until the tools are listed: it is not checked yet

	// How it was last sent.
	conn  *upstream.Conn
	n     uint64 // our id on the connection
	end   int64  // identifies it for conn.Delivery
	order uint64 // of sending, to tell what was sent after it
	sent  time.Time
	heard time.Time     // last progress
	asked time.Duration // for how long the user was being asked meanwhile

	// What happened to it.
	loss     *upstream.Loss // the last one; nil: it was never lost
	lost     time.Time      // when a connection last ended with it in flight
	failed   time.Time      // when it was first lost, or rejected: without gauze it would have failed then
	waited   bool           // it arrived while the server was down
	ended    uint64         // its place among the calls that ended
	deaths   int            // losses after which it may have run
	proven   int            // losses after which it had provably not run
	suspect  bool           // a connection ended with it in flight, and it may be the reason
	retryAt  time.Time      // it is not sent before; never: not on this connection
	others   uint64         // writes of other sessions when it was first sent
	progress float64        // highest value passed on
	stream   stream

	login    *upstream.LoginAttempt // it waits for this one; nil: for none
	needed   *login.Needed          // what it waits for
	logins   int                    // that it has waited for
	question *loginQuestion         // of ours that it answers; nil: none
	action   string                 // raw answer to it; empty: none
	doubted  bool                   // its answer said that the token is not valid
	unlisted bool                   // it was classified while the live server had not listed its tools
	note     string                 // what is added to its answer because of the login

	correction *correction // nil: no model was asked about it
	repetition *repetition // nil: it did not fail with an error that may be over soon
}

// stream is what only a subscriptions/listen has.
type stream struct {
	acked    bool // the client has its acknowledgement
	swallow  bool // it was opened again: the next acknowledgement is not news
	gap      bool // it was cut, and its listener may have missed something
	reopened int  // times in a row
}

// open reports whether the call is a stream the server has seen.
func (c *call) open() bool { return c.class == Stream && (c.state == sent || c.state == cut) }

// repeated reports whether the next time the call is sent is a repetition.
func (c *call) repeated() bool { return c.deaths+c.proven > 0 }

// waitsSince returns since when the call waits for a server that is up.
func (c *call) waitsSince() time.Time {
	if r := c.repetition; r != nil && r.again.After(c.lost) {
		return r.again
	}
	if c.lost.After(c.arrived) {
		return c.lost
	}
	return c.arrived
}

var signSeed = maphash.MakeSeed()

// newCall returns a call with a copy of a message from the client, which is in the reader's buffer.
func (s *Session) newCall(m *wire.Message) *call {
	c := &call{room: s.buffers.take(), arrived: time.Now(), progress: math.Inf(-1)}
	c.msg, *c.room = m.Keep(*c.room)
	c.id = c.msg.ID
	return c
}

// discard gives the buffer back. Nothing may refer to the message any more.
func (s *Session) discard(c *call) {
	if c.room != nil && c.class != Stream {
		s.buffers.giveBack(c.room)
	}
	c.room = nil
}

// move changes the state of a call, and with it every table that follows from the state. To move a
// call to done is to answer it, so a call has one answer. A move that is not in moves changes
// nothing and returns false.
func (s *Session) move(c *call, to state) bool {
	from := c.state
	if !slices.Contains(moves[from], to) {
		s.illegalMoves++
		if s.check != nil {
			panic(fmt.Sprintf("%s: from %v to %v", c.msg.Method, from, to))
		}
		return false
	}
	c.state = to
	switch from {
	case arrived:
		if to != done {
			s.register(c)
		}
	case queued:
		s.dequeue(c)
	case sent:
		delete(s.sentTable(c), c.n)
		s.vacate(c)
	case consulting:
		s.consulting--
		if c.correction != nil {
			c.correction.end()
		}
	case pausing:
		s.pausing--
	}
	switch to {
	case queued:
		s.queue = append(s.queue, c)
		s.queuedBytes += queuedSize(c)
		if c.awaitsList {
			s.listing.waiting++
		}
	case sent:
		s.sentTable(c)[c.n] = c
		s.occupy(c)
	case consulting:
		s.consulting++
	case pausing:
		s.pausing++
	case done:
		if from != arrived {
			s.forget(c)
		}
	}
	s.freed = s.freed || from == sent || from == queued && to == done
	return true
}

// register adds a call to the tables by the client's names for it.
func (s *Session) register(c *call) {
	if c.own != nil || c.id == nil {
		return
	}
	s.calls[string(c.id)] = c
	if c.token != "" {
		s.tokens[c.token] = c
	}
}

// forget removes a call that is done.
func (s *Session) forget(c *call) {
	s.withdrawFor(c)
	if c.class == Stream {
		s.notices.forget(c.id)
	}
	if c.own == nil && c.id != nil {
		delete(s.calls, string(c.id))
	}
	if c.token != "" && s.tokens[c.token] == c {
		delete(s.tokens, c.token)
	}
	s.checkEmptied()
}

// sentTable is the table of what is with the server that the call belongs to.
func (s *Session) sentTable(c *call) map[uint64]*call {
	if c.class == Stream {
		return s.opened
	}
	return s.flight
}

// callOverhead is what a queued message takes beyond its bytes.
const callOverhead = 1 << 10

func queuedSize(c *call) int { return len(c.msg.Raw) + callOverhead }

// dequeue removes a call from the queue. It is usually the first.
func (s *Session) dequeue(c *call) {
	if at := slices.Index(s.queue, c); at == 0 {
		s.queue[0], s.queue = nil, s.queue[1:]
	} else {
		s.queue = slices.Delete(s.queue, at, at+1)
	}
	if s.queuedBytes -= queuedSize(c); s.queuedBytes <= s.maxQueued {
		s.roomy.Broadcast()
	}
	if c.awaitsList {
		s.listing.waiting--
	}
}

// reword replaces the message of a queued call with the one that was checked, and ends its wait for the
// list of the tools.
func (s *Session) reword(c, checked *call) {
	s.queuedBytes += queuedSize(checked) - queuedSize(c)
	c.msg, c.room, c.id, c.mirrors = checked.msg, checked.room, checked.id, checked.mirrors
	c.tool, c.class, c.sign, c.fitting = checked.tool, checked.class, checked.sign, checked.fitting
	c.awaitsList = false
	s.listing.waiting--
}

// dispatch sends a call that has arrived, or queues it.
func (s *Session) dispatch(c *call) {
	s.arrivals++
	c.seq = s.arrivals
	c.waited = s.conn == nil && s.away
	if s.conn == nil || s.isBehind(s.queue, c) || !s.admits(c) {
		s.move(c, queued)
		return
	}
	s.transmit(c, s.conn)
}

// release sends the queued calls that may go now, in their order.
func (s *Session) release() {
	conn := s.conn
	if conn == nil || len(s.queue) == 0 {
		return
	}
	waiting := len(s.queue)
	for i := 0; i < len(s.queue); {
		c := s.queue[i]
		if s.isBehind(s.queue[:i], c) || !s.admits(c) {
			i++
			continue
		}
		s.transmit(c, conn) // takes it out of the queue
		if c.class == Start {
			s.greet(conn)
		}
	}
	if len(s.queue) < waiting {
		s.later(conn.Flush)
	}
}

// inTurn orders the queue for a new connection: what was sent before goes first, because a write
// that comes later must not be undone by its repetition.
func inTurn(a, b *call) int {
	if a.repeated() != b.repeated() {
		if a.repeated() {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.seq, b.seq)
}

// transmit puts the call on the connection under an id of our own. It does not flush.
func (s *Session) transmit(c *call, conn *upstream.Conn) {
	if s.overtaken(c) {
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
	s.noteSent(c)
	before, id, after := c.msg.Raw, []byte(nil), []byte(nil)
	if c.id == nil {
		s.move(c, done)
	} else {
		c.n = s.nextID()
		s.move(c, sent)
		before, after = c.msg.AroundID()
		id = AppendID(s.idBuffer[:0], c.n)
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
		s.rootsEnd = c.end
	}
}

// reportRepetition emits the event of a call that is sent again.
func (s *Session) reportRepetition(c *call, conn *upstream.Conn) {
	s.counters.Replayed++
	if c.msg.Method == "tools/call" {
		s.tally.replayed++
	}
	detail := "it is safe to repeat"
	switch {
	case c.loss.Session:
		detail = "the server did not recognize the session"
	case c.loss.Delivery == fault.Unsent && conn.Remote():
		detail = "it did not run"
	case c.loss.Delivery == fault.Unsent:
		detail = "the server never read it"
	}
	s.emit(c, event.Event{Kind: event.Replayed, Generation: conn.Generation, Detail: detail})
}

// mirrored returns the headers that repeat arguments of a tool: those the client sent, or those the
// tool's schema asks for.
func (s *Session) mirrored(c *call) http.Header {
	if c.mirrors != nil || !c.modern {
		return c.mirrors
	}
	arguments, _ := wire.Field(c.msg.Params, "arguments")
	made := http.Header{}
	for _, m := range s.catalog.tools[c.tool].mirrors {
		if value, ok := wire.HeaderValue(m.Value(arguments)); ok {
			made.Set("Mcp-Param-"+m.Header, value)
		}
	}
	return made
}

var lineEnd = []byte{'\n'}

// maxLate bounds what we remember of calls whose answer may still come; it only tells a late answer
// from one to a request that was never made.
const maxLate = 10_000

// expectLate notes that an answer to a call that is about to end may still come, and is dropped.
func (s *Session) expectLate(c *call) {
	if c.state == sent && c.conn == s.conn && len(s.late) < maxLate {
		s.late[c.n] = true
	}
}

// abandon ends a call that gets no answer: it was cancelled, or is a probe nothing waits for.
func (s *Session) abandon(c *call) {
	if c.state != done {
		s.expectLate(c)
		s.move(c, done)
	}
}

// fail ends a call with a fault, which is its answer.
func (s *Session) fail(c *call, f *fault.Fault) {
	if !s.move(c, done) {
		return
	}
	if f != nil {
		s.noteEnd(c, string(f.Code), time.Now())
	}
	s.later(func() {
		switch {
		case c.own != nil:
			close(c.own)
		case c.id != nil:
			s.out.send(answer(c.id, s.faultAnswer(c, f)))
		}
	})
}

// faultAnswer reports the fault and returns it as the answer to the call: a tool result where a
// model will read it, an error everywhere else. The caller does not hold the lock.
func (s *Session) faultAnswer(c *call, f *fault.Fault) []byte {
	f.Server, f.Name, f.Method, f.Tool, f.At = s.Name, s.label, c.msg.Method, c.tool, time.Now()
	f.Secrets = *s.secrets.Load()
	f.Safe = c.class != Unsafe
	if f.Message == "" && f.Code != fault.Stopping {
		now := s.up.Snapshot()
		f.State, f.Closures, f.Recoveries = now.State.String(), now.Closures, now.Recoveries
		if f.Code == fault.ServerStarting {
			f.State = StateStarting
		}
	}
	s.reportCorrected(c, failedAgain)
	kind := event.Failed
	switch f.Code {
	case fault.OutcomeUnknown:
		kind = event.Unknown
	case fault.CallTimeout:
		kind = event.TimedOut
	case fault.CallQuarantined:
		kind = event.Quarantined
	}
	s.emit(c, event.Event{Kind: kind, Code: f.Code, Detail: s.secrets.Load().Redact(f.Detail), Took: f.At.Sub(c.arrived)})
	s.count(func(n *Counters) {
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
	if c.msg.Method == "tools/call" && f.Code != fault.AnswerMissing && f.Code != fault.ToolUnknown {
		return reply(c.id, "result", c.repetition.withHistory(c.correction.withHistory(f.ToolResult(c.modern))))
	}
	return reply(c.id, "error", f.RPCError())
}

// reply builds a response of our own.
func reply(id []byte, key string, value []byte) []byte {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	line = append(line, `,"`+key+`":`...)
	return append(append(line, value...), '}')
}
