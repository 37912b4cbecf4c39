package kernel

import (
	"bytes"
	"fmt"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// dialogue is what the server asks the client.
type dialogue struct {
	s         *Session
	questions map[string]*question // by our id
	askedAt   time.Time            // when the user was asked the first of the questions that are open
}

// question is a request from the server to the client, or one of ours.
type question struct {
	id    []byte // the server's, raw
	conn  *upstream.Conn
	about []byte // id of the client's request it was probably sent for; nil: not known
	call  *Call  // the call it was certainly sent for; nil: not known

	own chan wire.Message // receives the answer to a question of ours; nil: the server's question
}

// questionFromServer passes a request from the server on under an id of our own: the ids of two
// processes may be equal.
func (d *dialogue) questionFromServer(conn *upstream.Conn, m *wire.Message) {
	var id, about []byte
	rejection := ""
	d.s.updateAndTell(func() {
		switch {
		case d.s.memory.modern: // 2026-07-28 has no server-to-client requests
			rejection = `{"code":-32601,"message":"this client does not accept requests"}`
			d.s.emit(nil, event.Event{Kind: event.Dropped, Generation: conn.Generation, Method: m.Method,
				Detail: "a request from the server, which its protocol version does not support"})
		case d.s.leaving.emptied != nil && !conn.InputEnded():
			rejection = `{"code":-32000,"message":"` + clientClosed + `"}`
		case len(d.questions) >= maxQuestions:
			rejection = fmt.Sprintf(`{"code":-32603,"message":"the client has not answered %d earlier requests"}`, maxQuestions)
		default:
			id, about = d.s.ids.questionID(conn.Generation), d.s.server.about(conn, m)
			if !d.userAsked(conn) {
				d.askedAt = time.Now()
			}
			d.questions[string(id)] = &question{id: bytes.Clone(m.ID), conn: conn, about: bytes.Clone(about), call: d.askedFor(conn, m)}
		}
	}, func() {
		if rejection != "" {
			conn.Queue(reply(m.ID, "error", []byte(rejection)), lineEnd)
			conn.Flush()
			return
		}
		d.s.out.buf = m.AppendWithID(d.s.out.buf, id)
		d.s.out.end(Told{About: about, Question: true})
	})
}

// clientClosed is why a question cannot be answered.
const clientClosed = "the client has closed the connection"

// refuseQuestions answers what is open once the client has closed the connection. A process that has read the
// end of its input cannot be told, and knows. A login can still succeed in the browser.
func (d *dialogue) refuseQuestions() {
	for id, q := range d.questions {
		switch {
		case q.own == nil && !q.conn.InputEnded():
			d.refuseQuestion(id, q, clientClosed)
		case q.own != nil && q.call != nil:
			delete(d.questions, id)
			q.own <- wire.Message{Error: []byte(`"` + clientClosed + `"`)}
		}
	}
}

// maxQuestions bounds the open requests of a server whose client does not answer.
const maxQuestions = 1000

// userAsked reports whether the client has a question of this server's. The answer takes as long as
// the user takes, and the server may be waiting for it alone.
func (d *dialogue) userAsked(conn *upstream.Conn) bool {
	for _, q := range d.questions {
		if q.conn == conn {
			return true
		}
	}
	return false
}

// askedFor returns the call a question was certainly sent for: the one on whose stream it came, or
// the only tool call in flight. Servers list the roots without being called.
func (d *dialogue) askedFor(conn *upstream.Conn, m *wire.Message) (only *Call) {
	if m.Via != nil {
		if c := d.s.server.awaiting(conn, m.Via); c != nil && c.own == nil {
			return c
		}
	}
	if conn.Remote() || m.Method == "roots/list" {
		return nil
	}
	for _, c := range d.s.table.flight {
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

// settleQuestion forgets a question. If it was the last one, the clocks of the calls in flight resume.
func (d *dialogue) settleQuestion(id string, q *question) {
	delete(d.questions, id)
	if d.userAsked(q.conn) {
		return
	}
	now := time.Now()
	for _, c := range d.s.table.flight {
		if c.conn == q.conn {
			since := d.askedAt
			if c.sent.After(since) {
				since = c.sent
			}
			c.heard, c.asked = now, c.asked+now.Sub(since)
		}
	}
}

// keepQuestions detaches the questions of a call that the server answered: they may be for other
// calls as well.
func (d *dialogue) keepQuestions(c *Call) {
	for _, q := range d.questions {
		if q.call == c {
			q.call = nil
		}
	}
}

// withdrawFor withdraws the questions of a call that ended without the server's answer: the client
// can close its dialog, and the server, which may be waiting for the user alone, continues.
func (d *dialogue) withdrawFor(c *Call) {
	for id, q := range d.questions {
		if q.call != c {
			continue
		}
		const ended = "the request that caused this one is finished"
		if q.own != nil {
			delete(d.questions, id)
			d.s.later(func() { d.s.out.send(withdrawal(id, q, ended)) })
			continue
		}
		d.refuseQuestion(id, q, ended)
	}
}

// refuseQuestion answers a question of the server for the client, and withdraws it.
func (d *dialogue) refuseQuestion(id string, q *question, reason string) {
	d.settleQuestion(id, q)
	d.s.later(func() {
		q.conn.Queue(reply(q.id, "error", []byte(`{"code":-32000,"message":"`+reason+`"}`)), lineEnd)
		q.conn.Flush()
		d.s.out.send(withdrawal(id, q, reason))
	})
}

// withdrawal is the message that cancels a question at the client.
func withdrawal(id string, q *question, reason string) Told {
	return Told{About: q.about, Line: []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id +
		`,"reason":"` + reason + `"}}`)}
}

// withdrawQuestions withdraws the questions of a connection that ended.
func (d *dialogue) withdrawQuestions(conn *upstream.Conn) {
	for id, q := range d.questions {
		if q.conn == conn {
			delete(d.questions, id)
			d.s.later(func() { d.s.out.send(withdrawal(id, q, "the server that sent this request has stopped")) })
		}
	}
}

// answerFromClient passes the client's answer to a question on to the server that asked it.
func (d *dialogue) answerFromClient(m *wire.Message) {
	d.s.update(func() {
		q := d.questions[string(m.ID)]
		if q == nil {
			return // its server is gone, or it was never asked
		}
		if q.own != nil {
			delete(d.questions, string(m.ID))
			q.own <- keep(m)
			return
		}
		d.settleQuestion(string(m.ID), q)
		d.s.sleep.used = time.Now()
		d.s.ids.scratch = m.AppendWithID(d.s.ids.scratch[:0], q.id)
		q.conn.Queue(d.s.ids.scratch)
		if q.conn != d.s.link.conn {
			q.conn.Flush()
		}
	})
}

// withdrawn ends a question that the server cancelled. It returns our id of the question, and the
// id of the client's request it was about.
func (d *dialogue) withdrawn(conn *upstream.Conn, id []byte) (ours, about []byte) {
	for ours, q := range d.questions {
		if q.conn == conn && bytes.Equal(q.id, id) {
			d.settleQuestion(ours, q)
			return []byte(ours), q.about
		}
	}
	return nil, nil
}
