package view

import (
	"bytes"
	"fmt"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// question is a request of a server to the client.
type question struct {
	member *member
	id     []byte // raw, at the server
	token  []byte // the server's raw progress token; may be nil
	about  []byte // the client's raw id of the request that it belongs to; nil: none
}

// told handles a message of a server, and does not keep it. Messages of one server come one at a time.
func (v *View) told(m *member, t proxy.Told) {
	msg, _, err := wire.Scan(t.Line)
	if err != nil {
		return // cannot happen: it was scanned before, or gauze made it
	}
	switch msg.Kind {
	case wire.Response:
		v.response(m, &msg, t)
	case wire.Request:
		v.question(m, &msg, t)
	case wire.Notification:
		v.news(m, &msg, t)
	}
}

// response passes a response on to the client, or to us.
func (v *View) response(m *member, msg *wire.Message, t proxy.Told) {
	v.mu.Lock()
	c := v.calls[string(msg.ID)]
	if c == nil {
		v.mu.Unlock()
		return // cancelled
	}
	v.finish(c)
	if c.method == "tools/call" && v.owners.learn(msg.Result, c.member) && c.token != nil && len(v.lasting) < maxOwned {
		v.lasting[string(c.sent)] = c // the task goes on, and so does its progress
	}
	v.mu.Unlock()
	if c.done != nil {
		kept, _ := msg.Keep(nil)
		c.done(&kept)
		return
	}
	v.out.pass(proxy.Told{Line: m.rewritten(msg, wire.Edit{Old: msg.ID, New: c.id}), About: c.id, Answer: true, Status: t.Status})
}

// rewritten returns a message of the server with an edit. It is valid until the next one.
func (m *member) rewritten(msg *wire.Message, edit wire.Edit) []byte {
	line := wire.Replace(m.room[:0], msg.Raw, edit)
	if m.room = line; cap(line) > maxRoom {
		m.room = nil
	}
	return line
}

// maxRoom is the largest room that is kept for the next message.
const maxRoom = 64 << 10

// about returns the client's raw id of the request that a message belongs to; nil: none. The caller holds the lock.
func (v *View) about(t proxy.Told) []byte {
	if c := v.calls[string(t.About)]; c != nil {
		return c.id
	}
	return nil
}

// question passes a request of a server on to the client, under an id that no other server can use.
func (v *View) question(m *member, msg *wire.Message, t proxy.Told) {
	v.mu.Lock()
	if v.emptied != nil || m.over { // nobody will answer
		why := notUsed
		if v.emptied != nil {
			why = clientLeft
		}
		line := unanswered(msg.ID, why)
		v.running.Go(func() { m.reply(line) }) // the session that asks holds a lock
		v.mu.Unlock()
		return
	}
	q := &question{member: m, id: bytes.Clone(msg.ID), about: v.about(t)}
	id := v.nextID()
	edits := []wire.Edit{{Old: msg.ID, New: id}}
	meta, _ := wire.Field(msg.Params, "_meta")
	if token, _ := wire.Field(meta, "progressToken"); token != nil {
		q.token = bytes.Clone(token)
		edits = append(edits, wire.Edit{Old: token, New: id})
	}
	v.questions[string(id)] = q
	v.mu.Unlock()
	v.out.pass(proxy.Told{Line: wire.Replace(nil, msg.Raw, edits...), About: q.about, Question: true})
}

// news handles a notification of a server.
func (v *View) news(m *member, msg *wire.Message, t proxy.Told) {
	v.mu.Lock()
	if v.initialize == nil && v.modern.heard(m, msg) {
		v.mu.Unlock()
		return
	}
	about, line := v.about(t), msg.Raw
	switch msg.Method {
	case "notifications/progress":
		token, _ := wire.Field(msg.Params, "progressToken")
		c := v.calls[string(token)]
		if c == nil {
			c = v.lasting[string(token)]
		}
		if c == nil || c.token == nil || c.member != m {
			line = nil
			break
		}
		about, line = c.id, m.rewritten(msg, wire.Edit{Old: token, New: c.token})
	case "notifications/cancelled":
		line = v.withdrawn(m, msg)
	default:
		if m.gone && (announced[msg.Method] != nil || msg.Method == "notifications/resources/updated") {
			line = nil // the client has nothing to do with that any more
			break
		}
		if methods := announced[msg.Method]; methods != nil {
			line = nil
			for _, method := range methods {
				m.lists[method].version++
				v.announce(method, true)
			}
		}
	}
	v.mu.Unlock()
	if line != nil {
		v.out.pass(proxy.Told{Line: line, About: about})
	}
}

// unanswered is the answer to a question of a server that the client will not answer.
func unanswered(id []byte, why string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%q}}`, id, why)
}

// clientLeft is why no question is answered any more.
const clientLeft = "the client has left"

// withdrawn returns the line that withdraws a question of a server, or nil. The caller holds the lock.
func (v *View) withdrawn(m *member, msg *wire.Message) []byte {
	raw, _ := wire.Field(msg.Params, "requestId")
	for id, q := range v.questions {
		if q.member == m && string(q.id) == string(raw) {
			delete(v.questions, id)
			return wire.Replace(nil, msg.Raw, wire.Edit{Old: raw, New: []byte(id)})
		}
	}
	return nil
}
