package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// client is the side of the client: what it sends, and who it is.
type client struct {
	s    *Session
	said atomic.Int64 // bytes since we last checked whether the server reads them
	info atomic.Pointer[clientInfo]
}

// FromClientHTTP is FromClient for a message that came over HTTP. params are the headers that
// repeat its arguments (Mcp-Param-*); they are sent on with it.
func (s *Session) FromClientHTTP(line []byte, params http.Header) { s.client.fromClient(line, params) }

// Mirrors returns the arguments of a tool that HTTP repeats in headers. known reports whether the
// server has listed the tool yet.
func (s *Session) Mirrors(tool string) (mirrors []wire.Mirror, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.catalog.tools[tool]
	return t.mirrors, known
}

// FromClient handles one line from the client, and does not keep it. It blocks while too much waits
// for the server, as a full pipe would, unless the line is an answer, or progress before one: what waits may wait for it.
func (s *Session) FromClient(line []byte) { s.client.fromClient(line, nil) }

func (k *client) fromClient(line []byte, mirrors http.Header) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if line[0] == '[' {
		k.batchFromClient(line)
		return
	}
	m, rest, err := wire.Scan(line)
	if err == nil && len(rest) > 0 {
		err = errors.New("there is more than one message on the line")
	}
	if err != nil {
		k.refuse(k.free(wire.LooseID(line)), fault.MessageInvalid, err.Error())
		return
	}
	if m.Kind == wire.Response {
		k.s.dialogue.answerFromClient(&m)
		return
	}
	if m.Method != "notifications/progress" {
		k.holdUp(len(line))
	}
	if m.Kind == wire.Request {
		k.requestFromClient(&m, mirrors)
		return
	}
	k.noticeFromClient(&m)
}

// batchFromClient handles a batch, which only protocol version 2025-03-26 has.
func (k *client) batchFromClient(line []byte) {
	k.s.mu.Lock()
	version := k.s.memory.version
	k.s.mu.Unlock()
	if version != `"`+wire.VersionWithBatches+`"` {
		k.refuse(nil, fault.MessageInvalid, "this protocol version does not support batches")
		return
	}
	messages, err := wire.SplitBatch(line, wire.MaxBatch)
	if err != nil {
		k.refuse(nil, fault.MessageInvalid, err.Error())
		return
	}
	for _, message := range messages {
		if message[0] == '[' {
			k.refuse(nil, fault.MessageInvalid, "a batch inside a batch is not allowed")
			continue
		}
		k.s.FromClient(message)
	}
}

// refuse answers a message that is not passed on.
func (k *client) refuse(id []byte, code fault.Code, detail string) {
	about := id
	if id == nil {
		id = []byte("null")
	}
	f := &fault.Fault{Code: code, Delivery: fault.Unsent, Server: k.s.config.Name, Name: k.s.config.Label, Detail: detail, At: time.Now()}
	f.Hide(k.s.config.Words.Redact)
	k.s.emit(nil, event.Event{Kind: event.Failed, Method: "a message", Code: code, Detail: detail})
	k.s.out.send(answer(about, reply(id, "error", f.RPCError())))
}

// requestFromClient is the first step of a call.
func (k *client) requestFromClient(m *wire.Message, mirrors http.Header) {
	if strings.HasPrefix(m.Method, "notifications/") {
		// A server that only reads the method would act on it, and the id in its params, which was
		// not translated, may belong to a different client.
		k.refuse(m.ID, fault.MessageInvalid, fmt.Sprintf("%q is a notification and must not have an id", m.Method))
		return
	}
	c := k.s.newCall(m)
	c.mirrors, c.number = mirrors, event.NewCallID()
	if err := k.inspect(c); err != nil {
		k.refuse(m.ID, fault.MessageInvalid, err.Error())
		return
	}
	ruling, err := k.s.panel.arrive(c)
	if err != nil {
		k.s.end(c, string(fault.MessageInvalid), time.Now())
		k.refuse(m.ID, fault.MessageInvalid, err.Error())
		return
	}
	if conn := k.s.connection(); conn != nil && c.tool != "" {
		conn.Settle(c.arrived)
	}
	k.s.update(func() { k.accept(c, &ruling) })
	ruling.drop()
}

// accept answers a new call without the server, lets a stage hold it, or dispatches it.
func (k *client) accept(c *Call, ruling *Ruling) {
	k.s.counters.Calls++
	k.classify(c)
	switch {
	case k.s.leaving.ended:
		k.s.fail(c, &fault.Fault{Code: fault.Stopping, Delivery: fault.Unsent})
	case k.s.table.calls.of(c.id) != nil:
		k.s.later(func() {
			k.s.end(c, string(fault.IDInUse), c.arrived)
			k.refuse(c.id, fault.IDInUse, "another request with this id is still in flight")
		})
	case ruling.refusal != nil:
		k.refuseAs(c, ruling)
	case k.isBarred(c):
	case ruling.hold != nil:
		k.s.hold(c, &Held{}, ruling)
	case !k.answerWithoutServer(c):
		c.awaitsList = k.s.listing.awaitsList(c)
		k.s.dispatch(c)
		if c.tool != "" && k.s.link.conn != nil && !c.awaitsList {
			k.s.restorer.askTools(k.s.link.conn)
		}
	}
}

// refuseAs answers a call that a stage refuses, or lets another stage hold it.
func (k *client) refuseAs(c *Call, ruling *Ruling) {
	if k.s.catalog.remembered {
		k.s.sleep.wake() // what the call was checked against may be out of date
	}
	if ruling.hold == nil || k.s.link.conn == nil || k.s.leaving.mute() {
		k.s.fail(c, ruling.refusal)
		return
	}
	k.s.ids.arrivals++
	c.seq, c.order = k.s.ids.arrivals, k.s.order.sends // what is written from now on came after it
	refusal := ruling.refusal
	k.s.hold(c, &Held{conn: k.s.link.conn, fails: func() { k.s.fail(c, refusal) }}, ruling)
}

// inspect reads the params that decisions depend on. It rejects an ambiguous tool call: the server
// might read it differently.
func (k *client) inspect(c *Call) error {
	const name, meta, task, input, state, arguments = 0, 1, 2, 3, 4, 5
	var values [6][]byte
	err := wire.Fields(c.msg.Params, values[:], "name", "_meta", "task", "inputResponses", "requestState", "arguments")
	c.class = classOf(c.msg.Method)
	if c.msg.Method == "tools/call" {
		if err != nil {
			return err
		}
		c.tool, c.body.arguments = c.toolNamed(values[name]), values[arguments]
		c.class = ReadOnly // to be lowered by classify
	}
	if c.task = values[task] != nil; c.task || values[input] != nil || values[state] != nil {
		// Whatever its method or tool says, creating a task or answering a part of a dialogue is
		// not safe to repeat.
		c.class = Unsafe
	}
	var inner [3][]byte
	if wire.Fields(values[meta], inner[:], "progressToken", wire.MetaVersion, wire.MetaClient) == nil {
		c.token = tokenKey(inner[0])
		c.modern = inner[1] != nil
		c.client = k.introduced(inner[2])
	}
	if c.class == Start {
		info, _ := wire.Field(c.msg.Params, "clientInfo")
		c.client = k.introduced(info)
	}
	return nil
}

// toolNamed returns the name of a tool. Many calls are of the same tool as the last one: its name is not
// allocated again.
func (c *Call) toolNamed(raw []byte) string {
	if last := c.body.before; len(last) > 0 && len(raw) == len(last)+2 && raw[0] == '"' && string(raw[1:len(raw)-1]) == last && !strings.Contains(last, `\`) {
		return last
	}
	name, _ := wire.Text(raw)
	return name
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
func (k *client) classify(c *Call) {
	if c.msg.Method != "tools/call" {
		return
	}
	known, listed := k.s.catalog.tools[c.tool]
	c.shape = known.shape
	if c.class == ReadOnly {
		c.class = k.s.policy(c.tool).Class(k.s.catalog.hinted(c.tool))
		c.past.unlisted = !k.s.catalog.licenses() || !listed && !k.s.catalog.listed
	}
}

// answerWithoutServer answers a call that need not, or must not, reach the server.
func (k *client) answerWithoutServer(c *Call) bool {
	if k.s.link.conn != nil {
		return false
	}
	if k.fromCache(c) || k.s.sleep.asleep && k.s.sleep.answer(c) {
		return true
	}
	if k.s.likeness.hopeless(c) {
		t := k.s.link.trouble
		k.s.server.orHold(c, &Failure{Trouble: t, MayWait: true}, func() {
			k.s.up.Ask()
			k.s.likeness.unavailable(c, t)
		})
		return true
	}
	return k.s.likeness.delayed != nil && c.arrived.Sub(k.s.likeness.delayed.since) >= k.s.config.Timing.StartAnswer && k.s.likeness.beginWithout(c, &k.s.likeness.delayed.trouble)
}

// isBarred reports whether a call is quarantined, and answers it if so.
func (k *client) isBarred(c *Call) bool {
	if len(k.s.quarantine.barred) == 0 || c.msg.Method != "tools/call" {
		return false
	}
	sign := c.Sign()
	until, barred := k.s.quarantine.barred[sign]
	if !barred {
		return false
	}
	if !c.arrived.Before(until) {
		delete(k.s.quarantine.barred, sign)
		return false
	}
	k.s.fail(c, &fault.Fault{Code: fault.CallQuarantined, Delivery: fault.Unsent, NextTry: until})
	return true
}

// fromCache answers a call for a list that is known. The client is told if the next process shows a
// different one.
func (k *client) fromCache(c *Call) bool {
	page := k.s.catalog.cached(c.msg.Method, cursorOf(c.msg.Params))
	if page == nil || c.own != nil {
		return false
	}
	k.s.counters.FromCache++
	k.s.reply(c, page, OutcomeOK)
	return true
}

// rootsChanged is the notification that is kept while the server is down: the next process has to
// list the roots again.
const rootsChanged = "notifications/roots/list_changed"

// noticeFromClient passes a notification on in its place among the calls. Cancellations and
// progress overtake queued calls, because a call or the server may be waiting for them.
func (k *client) noticeFromClient(m *wire.Message) {
	k.s.update(func() { k.notify(m) })
}

func (k *client) notify(m *wire.Message) {
	switch m.Method {
	case "notifications/cancelled":
		k.cancelFromClient(m)
		return
	case "notifications/initialized":
		k.s.memory.greeting = append(bytes.Clone(m.Raw), '\n')
		if k.s.link.conn != nil {
			k.s.restorer.greet(k.s.link.conn)
		}
		return // without a connection, the next one gets it after initialize
	case rootsChanged:
		if k.s.link.conn == nil {
			k.s.memory.rootsChanged = true // one is enough
			return
		}
	case "notifications/progress":
		if k.s.link.conn != nil { // otherwise it belongs to a question of a server that is gone
			k.pass(m)
		}
		return
	}
	if k.s.link.conn != nil && len(k.s.table.queue) == 0 {
		k.pass(m)
		return
	}
	k.s.dispatch(k.s.newCall(m))
}

// pass sends a notification unchanged: it has no id to translate.
func (k *client) pass(m *wire.Message) {
	end, err := k.s.link.conn.Queue(m.Raw, lineEnd)
	k.s.order.sends++
	if m.Method == rootsChanged {
		if k.s.server.rootsEnd = end; err != nil {
			k.s.memory.rootsChanged = true
		}
	}
}

// cancelFromClient cancels a call: it is not repeated, and an answer that still comes is dropped.
func (k *client) cancelFromClient(m *wire.Message) {
	id, err := wire.Field(m.Params, "requestId")
	c := k.s.table.calls.of(id)
	if err != nil || c == nil || c.class == Start {
		return // answered already; initialize must not be cancelled
	}
	now := time.Now()
	k.s.emit(c, event.Event{Kind: event.Cancelled, Took: now.Sub(c.began)})
	if c.state == sent {
		if c.conn == k.s.link.conn {
			k.s.watcher.gaveUp = now
		}
		k.s.ids.scratch = m.AppendWithParam(k.s.ids.scratch[:0], id, AppendID(k.s.ids.idBuffer[:0], c.n))
		k.s.watcher.cancelUpstream(c, k.s.ids.scratch)
	}
	k.s.abandon(c)
	k.s.later(func() { k.s.end(c, OutcomeCancelled, now) })
}

func (k *client) tooLongFromClient(long *wire.TooLong) {
	id := wire.LooseID(long.Head)
	if at := requestTail.FindSubmatch(long.Tail); id == nil && at != nil {
		id = at[1]
	}
	k.refuse(k.free(id), fault.RequestTooLarge, fmt.Sprintf("a message of %d bytes; the limit is %d", long.Length, k.s.config.Limits.MaxMessage))
}

// requestTail matches the id at the end of a request.
var requestTail = regexp.MustCompile(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// free returns id unless a request with this id is in flight, which gets an answer of its own.
func (k *client) free(id []byte) []byte {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	if k.s.table.calls.of(id) != nil {
		return nil
	}
	return id
}
