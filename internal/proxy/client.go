package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// FromClientHTTP is FromClient for a message that came over HTTP. params are the headers that
// repeat its arguments (Mcp-Param-*); they are sent on with it.
func (s *Session) FromClientHTTP(line []byte, params http.Header) { s.fromClient(line, params) }

// Mirrors returns the arguments of a tool that HTTP repeats in headers. known reports whether the
// server has listed the tool yet.
func (s *Session) Mirrors(tool string) (mirrors []wire.Mirror, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.catalog.tools[tool]
	return t.mirrors, known
}

// FromClient handles one line from the client, and does not keep it. It blocks while too much waits
// for the server, as a full pipe would.
func (s *Session) FromClient(line []byte) { s.fromClient(line, nil) }

func (s *Session) fromClient(line []byte, mirrors http.Header) {
	s.holdUp(len(line))
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if line[0] == '[' {
		s.batchFromClient(line)
		return
	}
	m, rest, err := wire.Scan(line)
	if err == nil && len(rest) > 0 {
		err = errors.New("more than one message on a line")
	}
	if err != nil {
		s.refuse(s.free(wire.LooseID(line)), fault.MessageInvalid, err.Error())
		return
	}
	switch m.Kind {
	case wire.Request:
		s.requestFromClient(&m, mirrors)
	case wire.Notification:
		s.noticeFromClient(&m)
	case wire.Response:
		s.answerFromClient(&m)
	}
}

// batchFromClient handles a batch, which only protocol version 2025-03-26 has.
func (s *Session) batchFromClient(line []byte) {
	s.mu.Lock()
	version := s.memory.version
	s.mu.Unlock()
	if version != `"2025-03-26"` {
		s.refuse(nil, fault.MessageInvalid, "this protocol version does not support batches")
		return
	}
	messages, err := wire.SplitBatch(line, 100)
	if err != nil {
		s.refuse(nil, fault.MessageInvalid, err.Error())
		return
	}
	for _, message := range messages {
		if message[0] == '[' {
			s.refuse(nil, fault.MessageInvalid, "a batch inside a batch is not allowed")
			continue
		}
		s.FromClient(message)
	}
}

// refuse answers a message that is not passed on.
func (s *Session) refuse(id []byte, code fault.Code, detail string) {
	about := id
	if id == nil {
		id = []byte("null")
	}
	f := &fault.Fault{Code: code, Delivery: fault.Unsent, Server: s.Name, Name: s.label, Secrets: *s.secrets.Load(), Detail: detail, At: time.Now()}
	s.emit(nil, event.Event{Kind: event.Failed, Method: "a message", Code: code, Detail: detail})
	s.out.send(answer(about, reply(id, "error", f.RPCError())))
}

// requestFromClient is the first step of a call.
func (s *Session) requestFromClient(m *wire.Message, mirrors http.Header) {
	if strings.HasPrefix(m.Method, "notifications/") {
		// A server that only reads the method would act on it, and the id in its params, which was
		// not translated, may belong to a different client.
		s.refuse(m.ID, fault.MessageInvalid, fmt.Sprintf("%q is a notification and must not have an id", m.Method))
		return
	}
	c := s.newCall(m)
	c.mirrors, c.number = mirrors, event.NewCallID()
	s.readReply(c)
	if err := s.inspect(c); err != nil {
		s.refuse(m.ID, fault.MessageInvalid, err.Error())
		return
	}
	s.beginTrace(c)
	if err := s.fit(c); err != nil {
		c.endTrace(fault.MessageInvalid)
		s.refuse(m.ID, fault.MessageInvalid, err.Error())
		return
	}
	if conn := s.connection(); conn != nil && c.tool != "" {
		conn.Settle(c.arrived)
	}
	s.update(func() { s.accept(c) })
}

// accept answers a new call without the server, or dispatches it.
func (s *Session) accept(c *call) {
	s.counters.Calls++
	s.noteBegin(c)
	s.classify(c)
	switch {
	case s.ended:
		s.fail(c, &fault.Fault{Code: fault.Stopping, Delivery: fault.Unsent})
	case s.calls[string(c.id)] != nil:
		s.noteEnd(c, string(fault.IDInUse), c.arrived)
		s.later(func() { s.refuse(c.id, fault.IDInUse, "another request with this id is still in flight") })
	case c.fitting.refusal != nil:
		if !s.holdRefusal(c) {
			s.fail(c, c.fitting.refusal)
		}
	case !s.answerWithoutServer(c):
		c.awaitsList = s.awaitsList(c)
		s.dispatch(c)
		if c.tool != "" && s.conn != nil && !c.awaitsList {
			s.askTools(s.conn)
		}
	}
}

// inspect reads the params that decisions depend on. It rejects an ambiguous tool call: the server
// might read it differently.
func (s *Session) inspect(c *call) error {
	const name, meta, task, input, state, arguments = 0, 1, 2, 3, 4, 5
	var values [6][]byte
	err := wire.Fields(c.msg.Params, values[:], "name", "_meta", "task", "inputResponses", "requestState", "arguments")
	c.class = classOf(c.msg.Method)
	if c.msg.Method == "tools/call" {
		if err != nil {
			return err
		}
		c.tool, _ = wire.Text(values[name])
		c.class = ReadOnly // to be lowered by classify
		c.sign = sign(c.tool, values[arguments])
	}
	if c.task = values[task] != nil; c.task || values[input] != nil || values[state] != nil {
		// Whatever its method or tool says, creating a task or answering a part of a dialogue is
		// not safe to repeat.
		c.class = Unsafe
	}
	var inner [3][]byte
	if wire.Fields(values[meta], inner[:], "progressToken", "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo") == nil {
		c.token = tokenKey(inner[0])
		c.modern = inner[1] != nil
		c.client = s.introduced(inner[2])
	}
	if c.class == Start {
		info, _ := wire.Field(c.msg.Params, "clientInfo")
		c.client = s.introduced(info)
	}
	return nil
}

// tokenKey returns the same key for all spellings of a progress token: a server that decodes and
// encodes it may use different escapes.
func tokenKey(raw []byte) string {
	if text, ok := wire.Text(raw); ok {
		return `"` + text
	}
	return string(raw)
}

func sign(tool string, arguments []byte) uint64 {
	var hash maphash.Hash
	hash.SetSeed(signSeed)
	hash.WriteString(tool)
	hash.WriteByte(0)
	hash.Write(arguments)
	return hash.Sum64()
}

// classify decides what a tool call may do, by the tool's current hints and the user's policy.
func (s *Session) classify(c *call) {
	if c.msg.Method != "tools/call" {
		return
	}
	known, listed := s.catalog.tools[c.tool]
	c.shape = known.shape
	if c.class == ReadOnly {
		c.class = s.Tools[c.tool].class(s.catalog.hinted(c.tool))
		c.unlisted = !s.catalog.licenses() || !listed && !s.catalog.listed
	}
}

// answerWithoutServer answers a call that need not, or must not, reach the server.
func (s *Session) answerWithoutServer(c *call) bool {
	if s.isBarred(c) {
		return true
	}
	s.takeReply(c)
	if s.conn != nil {
		return false
	}
	if s.fromCache(c) {
		return true
	}
	if s.hopeless(c) && !s.awaitLogin(c, s.trouble.Login) {
		s.up.Ask()
		s.unavailable(c, s.trouble)
		return true
	}
	return s.delayed != nil && c.arrived.Sub(s.delayed.since) >= s.startAnswer && s.beginWithout(c, &s.delayed.trouble)
}

// isBarred reports whether a call is quarantined, and answers it if so.
func (s *Session) isBarred(c *call) bool {
	until, barred := s.quarantine.barred[c.sign]
	if !barred || c.msg.Method != "tools/call" {
		return false
	}
	if !c.arrived.Before(until) {
		delete(s.quarantine.barred, c.sign)
		return false
	}
	s.fail(c, &fault.Fault{Code: fault.CallQuarantined, Delivery: fault.Unsent, NextTry: until})
	return true
}

// fromCache answers a call for a list that is known. The client is told if the next process shows a
// different one.
func (s *Session) fromCache(c *call) bool {
	page := s.catalog.cached(c.msg.Method, cursorOf(c.msg.Params))
	if page == nil || c.own != nil {
		return false
	}
	s.move(c, done)
	s.counters.FromCache++
	s.later(func() { s.out.send(answer(c.id, reply(c.id, "result", page))) })
	return true
}

// rootsChanged is the notification that is kept while the server is down: the next process has to
// list the roots again.
const rootsChanged = "notifications/roots/list_changed"

// noticeFromClient passes a notification on in its place among the calls. Cancellations and
// progress overtake queued calls, because a call or the server may be waiting for them.
func (s *Session) noticeFromClient(m *wire.Message) {
	s.update(func() { s.notify(m) })
}

func (s *Session) notify(m *wire.Message) {
	switch m.Method {
	case "notifications/cancelled":
		s.cancelFromClient(m)
		return
	case "notifications/initialized":
		s.memory.greeting = append(bytes.Clone(m.Raw), '\n')
		if s.conn != nil {
			s.greet(s.conn)
		}
		return // without a connection, the next one gets it after initialize
	case rootsChanged:
		if s.conn == nil {
			s.memory.rootsChanged = true // one is enough
			return
		}
	case "notifications/progress":
		if s.conn != nil { // otherwise it belongs to a question of a server that is gone
			s.pass(m)
		}
		return
	}
	if s.conn != nil && len(s.queue) == 0 {
		s.pass(m)
		return
	}
	s.dispatch(s.newCall(m))
}

// pass sends a notification unchanged: it has no id to translate.
func (s *Session) pass(m *wire.Message) {
	end, err := s.conn.Queue(m.Raw, lineEnd)
	s.sends++
	if m.Method == rootsChanged {
		if s.rootsEnd = end; err != nil {
			s.memory.rootsChanged = true
		}
	}
}

// cancelFromClient cancels a call: it is not repeated, and an answer that still comes is dropped.
func (s *Session) cancelFromClient(m *wire.Message) {
	id, err := wire.Field(m.Params, "requestId")
	c := s.calls[string(id)]
	if err != nil || c == nil || c.class == Start {
		return // answered already; initialize must not be cancelled
	}
	now := time.Now()
	s.emit(c, event.Event{Kind: event.Cancelled, Took: now.Sub(c.since())})
	if c.correction != nil {
		s.later(func() { s.reportCorrected(c, cancelled) })
	}
	if c.state == sent {
		if c.conn == s.conn {
			s.gaveUp = now
		}
		s.scratch = m.AppendWithParam(s.scratch[:0], id, AppendID(s.idBuffer[:0], c.n))
		s.cancelUpstream(c, s.scratch)
	}
	s.abandon(c)
	s.noteEnd(c, outcomeCancelled, now)
}

func (s *Session) tooLongFromClient(long *wire.TooLong) {
	id := wire.LooseID(long.Head)
	if at := requestTail.FindSubmatch(long.Tail); id == nil && at != nil {
		id = at[1]
	}
	s.refuse(s.free(id), fault.RequestTooLarge, fmt.Sprintf("%d bytes; the limit is %d", long.Length, s.MaxMessage))
}

// requestTail matches the id at the end of a request.
var requestTail = regexp.MustCompile(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// free returns id unless a request with this id is in flight, which gets an answer of its own.
func (s *Session) free(id []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[string(id)] != nil {
		return nil
	}
	return id
}
