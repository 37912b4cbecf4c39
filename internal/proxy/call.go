package proxy

import (
	"hash/maphash"
	"net/http"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/upstream"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// call is one request on its way to the server and back, or, without an id,
// a notification that waits for the server to return. Guarded by Session.mu.
type call struct {
	id      []byte // the client's, raw; nil: a notification
	msg     wire.Message
	tool    string
	shape   uint64 // of the tool when it was called; 0: not known
	class   Class
	modern  bool   // the request carries its own protocol version
	token   string // raw progress token
	sign    uint64 // identifies method, tool and arguments
	seq     uint64 // order of arrival
	arrived time.Time
	own     chan wire.Message // set: the request is ours (restore, probe)
	loss    *upstream.Loss    // of a request of ours, set before own is closed
	mirrors http.Header       // what the client's own headers repeated of the arguments
	room    *[]byte           // what msg lies in
	fitting fitting           // what became of its arguments

	// While it is in flight.
	conn  *upstream.Conn
	n     uint64 // our id on the connection
	end   int64  // identifies it for conn.Delivery
	order uint64 // of sending, to tell what was sent after it
	sent  time.Time
	heard time.Time     // last progress
	slot  bool          // counts against the window
	asked time.Duration // for how long the user was being asked meanwhile

	// Over its life.
	lost     time.Time // when a server last died with it
	deaths   int       // generations that ended after they may have read it
	others   uint64    // writes of other sessions when it was first sent
	proven   int       // repetitions after proof that it was not read
	progress float64   // highest value passed on
	began    bool      // a progress was passed on
	suspect  bool      // repeated although a server died with it
	waited   bool      // it was in a queue of ours
	limited  bool      // it is held because of its tool's max-in-flight
	queued   int       // bytes it counts for in our queues
	over     bool      // answered, or cancelled by the client
	unread   bool      // the last server that had it provably did not read it
	acked    bool      // a stream whose acknowledgement the client has
	swallow  bool      // a re-opened stream: its acknowledgement is not news
	task     bool      // it creates a task, which outlives its answer

	// Over HTTP, where one request can be lost alone.
	retryAt time.Time      // not before
	refused *upstream.Conn // whose session the server did not know; nil: that was not the reason
	again   bool           // it waits to be sent again
	gap     bool           // a stream that was cut: its listener may have missed something

	reopened int // times in a row
}

// waitsSince returns since when the call waits for a server that is up.
func (c *call) waitsSince() time.Time {
	if c.lost.After(c.arrived) {
		return c.lost
	}
	return c.arrived
}

var signSeed = maphash.MakeSeed()

// rooms holds the buffers of answered calls for the next ones: a busy session
// would otherwise be mostly garbage collection. (Not a sync.Pool: requests and
// responses are handled on different processors, so each would find the other
// one's part of it empty.)
type rooms struct {
	mu   sync.Mutex
	free []*[]byte
}

const (
	keptRooms   = 64
	largestRoom = 64 << 10 // one huge message must not stay for ever
)

func (r *rooms) take() *[]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.free) - 1; last >= 0 {
		room := r.free[last]
		r.free = r.free[:last]
		return room
	}
	return new([]byte)
}

func (r *rooms) giveBack(room *[]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.free) < keptRooms && cap(*room) <= largestRoom {
		r.free = append(r.free, room)
	}
}

// newCall copies a message of the client's out of the reader's buffer.
func (s *Session) newCall(m *wire.Message) *call {
	c := &call{room: s.rooms.take(), arrived: time.Now()}
	c.msg, *c.room = m.Keep(*c.room)
	c.id = c.msg.ID
	return c
}

// discard gives the buffer back. Nothing may refer to the message any more.
func (s *Session) discard(c *call) {
	if c.room != nil && c.class != Stream {
		s.rooms.giveBack(c.room)
	}
	c.room = nil
}

// keep copies a message of the server's.
func keep(m *wire.Message) wire.Message {
	kept, _ := m.Keep(nil)
	return kept
}

// dispatch sends the call now, holds it, or lets it wait for the server.
func (s *Session) dispatch(c *call) {
	switch {
	case s.conn == nil:
		s.enqueue(&s.waiting, c)
	case s.isBehind(s.held, c) || !s.admits(c):
		s.enqueue(&s.held, c)
	default:
		s.transmit(c, s.conn)
	}
}

// transmit puts the call on the connection under an id of our own. It does
// not flush.
func (s *Session) transmit(c *call, conn *upstream.Conn) {
	s.dequeued(c)
	if s.overtaken(c) {
		s.retire(c)
		s.later(func() { s.fail(c, &fault.Fault{Code: fault.OutcomeUnknown, Delivery: fault.Unknown}) })
		return
	}
	s.rouse()
	before, id, behind := c.msg.Raw, []byte(nil), []byte(nil)
	switch {
	case c.id == nil: // a notification goes as it is
	case c.class == Stream:
		s.streams[string(c.id)] = c
		delete(s.opened, c.n) // on an earlier connection
		c.n = s.nextID()
		s.opened[c.n] = c
	default:
		c.n = s.nextID()
		s.flight[c.n] = c
	}
	if c.id != nil {
		before, behind = c.msg.AroundID()
		id = AppendID(s.idRoom[:0], c.n)
	}
	now := c.arrived
	if c.waited {
		now = time.Now()
	}
	c.conn, c.sent, c.heard = conn, now, now
	s.noteSent(c)
	if c.id != nil && c.own == nil {
		s.occupy(c)
	}
	var mirrors http.Header
	if conn.Remote() && c.tool != "" {
		mirrors = s.mirrored(c)
	}
	var err error
	if c.end, err = conn.QueueWith(mirrors, before, id, behind, lineEnd); err != nil {
		// The connection is breaking; Down will find the call and, since
		// nothing of it was written, repeat it.
		c.end = 1 << 62
	}
	if c.id == nil && c.msg.Method == rootsChanged {
		s.rootsEnd = c.end
	}
}

// mirrored are the headers that repeat arguments of a tool: those the client
// sent, or made by what the tool's schema says.
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

// retire takes the call out of all tables: from now on it is over, and
// whoever retired it says the one answer.
func (s *Session) retire(c *call) {
	if c.over {
		return
	}
	c.over = true
	s.dequeued(c)
	s.withdrawFor(c)
	if c.conn != nil {
		delete(s.flight, c.n)
		s.vacate(c)
	}
	if c.class == Stream {
		delete(s.streams, string(c.id))
		delete(s.opened, c.n)
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

// mostLate bounds what we remember of calls whose answer may still come; it
// only tells a late answer from one to a request that was never made.
const mostLate = 10_000

// abandon is retire for a call that stays with the server: a late answer to
// it is expected and dropped.
func (s *Session) abandon(c *call) {
	s.retire(c)
	if c.conn != nil && c.conn == s.conn && len(s.late) < mostLate {
		s.late[c.n] = true
	}
}

// fail answers a retired call with a fault. The caller holds no lock.
func (s *Session) fail(c *call, f *fault.Fault) {
	switch {
	case c.own != nil:
		close(c.own)
	case c.id != nil:
		s.out.send(answer(c.id, s.verdict(c, f)))
	}
}

// verdict makes the fault known and words it as the answer to the call: a
// tool result where a model will read it, an error everywhere else.
func (s *Session) verdict(c *call, f *fault.Fault) []byte {
	f.Server, f.Name, f.Method, f.Tool, f.At = s.Name, s.label, c.msg.Method, c.tool, time.Now()
	f.Secrets = *s.secrets.Load()
	f.Safe = c.class != Unsafe
	kind := event.Failed
	switch f.Code {
	case fault.OutcomeUnknown:
		kind = event.Unknown
	case fault.CallTimeout:
		kind = event.TimedOut
	case fault.CallQuarantined:
		kind = event.Quarantined
	}
	s.Events.Emit(event.Event{Kind: kind, Server: s.Name, Method: c.msg.Method, Tool: c.tool, Code: f.Code, Detail: s.secrets.Load().Redact(f.Detail),
		Took: f.At.Sub(c.arrived)})
	s.count(func(n *Counters) {
		n.Failed++
		if f.Code == fault.OutcomeUnknown {
			n.Unknown++
		}
	})
	if f.Message != "" {
		f.At = time.Time{} // the same mistake gets the same bytes
	}
	// A server that ends its response without an answer has failed the protocol,
	// not the tool, and so has a call of no tool.
	if c.msg.Method == "tools/call" && f.Code != fault.AnswerMissing && f.Code != fault.ToolUnknown {
		return reply(c.id, "result", f.ToolResult(c.modern))
	}
	return reply(c.id, "error", f.RPCError())
}

// reply builds a response of our own.
func reply(id []byte, key string, value []byte) []byte {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	line = append(line, `,"`+key+`":`...)
	return append(append(line, value...), '}')
}
