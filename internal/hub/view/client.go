package view

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// call is a request of the client, or one of ours, in progress.
type call struct {
	id     []byte                // raw, at the client; nil: it is ours
	member *member               // whose server has it; nil: it waits for lists
	sent   []byte                // raw id and progress token at the server
	token  []byte                // the client's raw progress token; may be nil
	done   func(m *wire.Message) // receives the response to a request of ours; without the lock
	method string                // of a request of the client that its server has
	wait   *wait                 // for what has to be known first; nil: nothing has
}

// FromClient handles one message from the client, and does not keep it. It may block while the server that the message
// is for does not read.
func (v *View) FromClient(line []byte) { v.fromClient(line, true) }

// fromClient handles one message. A goroutine that others wait for is not free to wait: no server waits for another.
func (v *View) fromClient(line []byte, free bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if line[0] == '[' {
		messages, err := wire.SplitBatch(line, wire.MaxBatch)
		if err != nil {
			v.out.refuse(nil, codeInvalidRequest, "not a valid batch: "+err.Error())
		}
		for _, one := range messages {
			v.fromClient(one, false)
		}
		return
	}
	m, rest, err := wire.Scan(bytes.Clone(line))
	if err == nil && len(rest) > 0 {
		err = errors.New("more than one message on a line")
	}
	if err != nil {
		v.out.refuse(wire.LooseID(line), codeInvalidRequest, "not a valid message: "+err.Error())
		return
	}
	switch m.Kind {
	case wire.Request:
		v.request(&m, free).carry()
	case wire.Notification:
		v.notice(&m, free).carry()
	case wire.Response:
		v.answered(&m)
	}
}

// request handles a request of the client, and returns what is left to carry.
func (v *View) request(m *wire.Message, free bool) carrier {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.carrier.free = free
	v.handle(m)
	return v.carrier.depart()
}

// handle answers a request, or sends it to its server. The caller holds the lock.
func (v *View) handle(m *wire.Message) {
	switch {
	case v.life.Err() != nil:
		v.out.fail(m.ID, stopping(m.Method))
	case v.asked[string(m.ID)] != nil:
		v.out.refuse(m.ID, codeInvalidRequest, "a request with this id is still unanswered")
	case m.Method == "initialize":
		v.begin(m)
	case m.Method == "ping":
		v.out.answer(m.ID, []byte("{}"))
	case v.initialize == nil:
		v.modern.request(m)
	case m.Method == discover:
		v.out.refuse(m.ID, codeUnknownMethod, "server/discover is not supported in a session")
	case m.Method == "logging/setLevel":
		v.setLevel(m)
	case lists[m.Method] != "":
		v.collect(m)
	case v.searching && m.Method == "tools/call":
		v.searched(m)
	default:
		v.forward(m)
	}
}

// begin answers initialize immediately: no server has to run for it. The caller holds the lock.
func (v *View) begin(m *wire.Message) {
	if v.initialize != nil {
		v.out.refuse(m.ID, codeInvalidRequest, "this session is already initialized")
		return
	}
	raw, _ := wire.Field(m.Params, "protocolVersion")
	version, ok := wire.Text(raw)
	if !ok {
		v.out.refuse(m.ID, codeInvalidParams, "initialize has no protocolVersion")
		return
	}
	if !slices.Contains(wire.LegacyVersions, version) {
		version = wire.NewestLegacy
	}
	v.initialize = m.Params
	v.modern.withSessions()
	v.out.answer(m.ID, v.modern.introduction(m.Params, version))
}

// setLevel keeps the log level for every server, also for those that are opened later. The caller holds the lock.
func (v *View) setLevel(m *wire.Message) {
	v.level = m.Params
	for _, member := range v.members {
		if member.server != nil {
			member.ask("logging/setLevel", v.level, func(*wire.Message) {})
		}
	}
	v.out.answer(m.ID, []byte("{}"))
}

// notice handles a notification of the client, and returns what is left to carry.
func (v *View) notice(m *wire.Message, free bool) carrier {
	v.mu.Lock()
	defer v.mu.Unlock()
	// Progress comes before the answer, which is not queued.
	v.carrier.free = free || m.Method == "notifications/progress"
	v.notify(m)
	return v.carrier.depart()
}

// notify passes a notification on. The caller holds the lock.
func (v *View) notify(m *wire.Message) {
	switch m.Method {
	case "notifications/initialized": // each server gets one when it is opened
	case "notifications/cancelled":
		v.cancel(m)
	case "notifications/progress":
		token, _ := wire.Field(m.Params, "progressToken")
		if q := v.questions[string(token)]; q != nil && q.token != nil {
			q.member.send(wire.Replace(nil, m.Raw, wire.Edit{Old: token, New: q.token}))
		}
	default:
		v.carrier.free = false // none of the servers waits for another
		for _, member := range v.members {
			if member.server != nil {
				member.send(m.Raw)
			}
		}
	}
}

// cancel passes a cancellation on to the server that has the request. The caller holds the lock.
func (v *View) cancel(m *wire.Message) {
	id, _ := wire.Field(m.Params, "requestId")
	c := v.asked[string(id)]
	if v.modern.unlisten(id) || c == nil {
		return
	}
	v.finish(c)
	if c.member != nil {
		c.member.send(wire.Replace(nil, m.Raw, wire.Edit{Old: id, New: c.sent}))
	}
}

// answered passes the client's answer on to the server that asked.
func (v *View) answered(m *wire.Message) {
	id := string(wire.PlainID(m.ID))
	v.mu.Lock()
	q := v.questions[id]
	delete(v.questions, id)
	over := v.life.Err() != nil
	v.mu.Unlock()
	if q == nil || over {
		return // withdrawn
	}
	q.member.reply(wire.Replace(nil, m.Raw, wire.Edit{Old: m.ID, New: q.id}))
}

// forward sends a request to the server that it is for, if necessary after the lists that tell which one that is.
// The caller holds the lock.
func (v *View) forward(m *wire.Message) {
	to, p := v.route(m)
	if p == nil && to.lists != nil {
		v.once(m.ID, to.lists, answered, func() {
			to, p := v.route(m)
			v.sendTo(m, to, p)
		})
		return
	}
	v.sendTo(m, to, p)
}

// sendTo sends a request to a server, or answers why it cannot be sent. The caller holds the lock.
func (v *View) sendTo(m *wire.Message, to target, p *problem) {
	switch {
	case p != nil:
		v.out.refuse(m.ID, p.code, p.text)
		return
	case to.member == nil:
		v.out.reject(m.ID, to.unknown, to.uri)
		return
	case to.member.Closed != "":
		v.refuse(m.ID, m.Method, to.member, fault.ServerUnavailable, to.member.Closed)
		return
	case to.member.over:
		v.refuse(m.ID, m.Method, to.member, fault.Stopping, "")
		return
	case to.member.otherEra():
		v.refuse(m.ID, m.Method, to.member, fault.ServerUnavailable, "the server has only protocol versions with sessions, up to "+wire.NewestLegacy+", and this client uses "+wire.FirstModern)
		return
	case to.member.waiting > maxWaiting:
		v.refuse(m.ID, m.Method, to.member, fault.ServerBusy, fmt.Sprintf("%d bytes are waiting for the server, which does not read them", to.member.waiting))
		return
	}
	c := &call{id: m.ID, member: to.member, sent: v.nextID(), method: m.Method}
	all := [3]wire.Edit{{Old: m.ID, New: c.sent}, to.edit}
	edits := all[:1]
	if to.edit.Old != nil {
		edits = all[:2]
	}
	meta, _ := wire.Field(m.Params, "_meta")
	if c.token, _ = wire.Field(meta, "progressToken"); c.token != nil {
		edits = append(edits, wire.Edit{Old: c.token, New: c.sent})
	}
	to.member.subscribe(m)
	if v.initialize == nil {
		defer to.member.use()
	}
	v.calls[string(c.sent)], v.asked[string(c.id)] = c, c
	to.member.send(wire.Replace(nil, m.Raw, edits...))
}

// refuse answers a request that has not reached its server. The caller holds the lock.
func (v *View) refuse(id []byte, method string, of *member, code fault.Code, why string) {
	f := &fault.Fault{Code: code, Delivery: fault.Unsent, Name: of.Key, Server: of.Key, Method: method, At: time.Now(), Detail: why}
	if method == "tools/call" {
		v.out.answerWith(id, f.ToolResult(v.initialize == nil))
		return
	}
	v.out.fail(id, f.RPCError())
}

// finish ends a call: it gets no answer any more. The caller holds the lock.
func (v *View) finish(c *call) {
	delete(v.calls, string(c.sent))
	if c.wait != nil {
		c.wait.end()
	}
	if m := c.member; m != nil && m.gone {
		m.endIfUnused()
	}
	if c.id != nil && v.asked[string(c.id)] == c {
		delete(v.asked, string(c.id))
		v.checkEmpty()
	}
}
