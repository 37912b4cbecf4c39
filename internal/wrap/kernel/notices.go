package kernel

import (
	"bytes"
	"strconv"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// noticeFromServer passes a notification on, unless it concerns nothing the client waits for.
func (v *server) noticeFromServer(conn *upstream.Conn, m *wire.Message) {
	var about, old, value []byte
	v.s.updateAndTell(func() {
		if m = v.forListener(conn, m); m == nil {
			return
		}
		about = v.about(conn, m)
		pass := true
		switch m.Method {
		case "notifications/tasks/status", "notifications/tasks":
			v.s.sleep.noteStatus(m.Params)
		case "notifications/progress":
			pass = v.progress(m)
		case "notifications/cancelled":
			old, _ = wire.Field(m.Params, "requestId")
			if stream := v.subscription(conn, old); stream != nil {
				v.s.table.move(stream, done) // how a modern server ends a stream
				about, value = stream.id, stream.id
			} else if value, about = v.s.dialogue.withdrawn(conn, old); value == nil {
				pass = false
			}
		case "notifications/subscriptions/acknowledged":
			pass = !v.swallowed(m)
			v.hintAfterGap(subscriptionOf(m.Params))
		case "notifications/tools/list_changed":
			v.s.listing.change()
			v.s.sleep.outdate(m.Method)
			if pass = v.notices.pass(m, time.Now()); pass && conn == v.s.link.conn {
				v.s.restorer.askTools(conn) // until they are listed, nothing is repeated
			}
		case "notifications/prompts/list_changed", "notifications/resources/list_changed":
			v.s.sleep.outdate(m.Method)
			pass = v.notices.pass(m, time.Now())
		}
		if !pass {
			m = nil
		}
	}, func() {
		switch {
		case m == nil:
		case value != nil:
			v.s.out.buf = m.AppendWithParam(v.s.out.buf, old, value)
			v.s.out.end(Told{About: about})
		default:
			v.s.out.put(Told{Line: m.Raw, About: about})
		}
	})
}

// about returns the id of the client's request that a request or notification from the server
// belongs to, for clients that have a stream for each (HTTP). Its progress token or its stream may
// say so. Over stdio nothing does, but it is nearly always the latest call.
func (v *server) about(conn *upstream.Conn, m *wire.Message) []byte {
	if v.s.out.tell == nil {
		return nil
	}
	if id := subscriptionOf(m.Params); id != nil {
		return id
	}
	if m.Via != nil {
		if c := v.awaiting(conn, m.Via); c != nil && c.own == nil {
			return c.id
		}
	}
	switch m.Method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
		"notifications/resources/updated":
		return nil // they belong to no request
	case "notifications/progress":
		token, _ := wire.Field(m.Params, "progressToken")
		if c := v.s.table.tokens.sent(tokenKey(token)); c != nil {
			return c.id
		}
		return nil
	}
	if conn.Remote() {
		return nil // it did not come on a request's stream
	}
	latest := &Call{}
	for _, c := range v.s.table.flight {
		if c.conn == conn && c.own == nil && c.order > latest.order {
			latest = c
		}
	}
	return latest.id
}

// noticeAbout returns the id of the stream that a notification names.
func noticeAbout(line []byte) []byte {
	m, _, _ := wire.Scan(line)
	return subscriptionOf(m.Params)
}

// progress extends the deadline of its call, or of all calls that it may be about. It reports whether to pass the
// notification on: the call must be open, and the value must increase, because a repeated call starts again at zero. The
// values of several calls with one token cannot be compared.
func (v *server) progress(m *wire.Message) bool {
	var values [2][]byte
	if wire.Fields(m.Params, values[:], "progressToken", "progress") != nil {
		return false
	}
	token := tokenKey(values[0])
	c := v.s.table.tokens.sent(token)
	if c == nil {
		return v.tasks[token] // a task reports progress after its call's answer
	}
	now := time.Now()
	for one := range v.s.table.tokens.allSent(token) {
		one.heard = now
	}
	if v.s.table.tokens.shared(token) {
		return true
	}
	value, err := strconv.ParseFloat(string(values[1]), 64)
	if err != nil {
		return true // whether it is valid is up to the client
	}
	if value <= c.progress && (c.past.deaths > 0 || !c.part.again.IsZero()) {
		return false
	}
	c.progress = value
	return true
}

// swallowed reports whether an acknowledgement is of a stream we opened again, which the client
// must not see.
func (v *server) swallowed(m *wire.Message) bool {
	c := v.s.table.calls.of(subscriptionOf(m.Params))
	if c == nil || !c.open() {
		return false
	}
	swallow := c.stream.swallow
	c.stream.acked, c.stream.swallow = true, false
	return swallow
}

// subscriptionOf returns the raw id of the stream a notification belongs to.
func subscriptionOf(params []byte) []byte {
	meta, _ := wire.Field(params, "_meta")
	id, _ := wire.Field(meta, wire.MetaSubscription)
	return id
}

// notices limits list_changed notifications: of those of one kind, floodAfter are passed on within
// floodSpan, and then one for all the rest.
type notices struct {
	recent  map[string]*noticeCount
	pending map[string][]byte
}

// noticeCount counts the notices of one kind.
type noticeCount struct {
	began time.Time
	count int
}

const (
	floodSpan  = time.Second
	floodAfter = 100
)

func newNotices() notices {
	return notices{recent: map[string]*noticeCount{}, pending: map[string][]byte{}}
}

// pass reports whether a notice is passed on now. If not, one of its kind is kept until the flood ends.
func (n *notices) pass(m *wire.Message, now time.Time) bool {
	key := m.Method + string(m.Params[:min(len(m.Params), 200)])
	recent := n.recent[key]
	if recent == nil || now.Sub(recent.began) >= floodSpan {
		if len(n.recent) > 1000 {
			clear(n.recent)
		}
		recent = &noticeCount{began: now}
		n.recent[key] = recent
	}
	if recent.count++; recent.count <= floodAfter {
		return true
	}
	if n.pending[key] == nil {
		n.pending[key] = bytes.Clone(m.Raw)
	}
	return false
}

// overdue returns and forgets the notices that were held back long enough.
func (n *notices) overdue(now time.Time) (lines [][]byte) {
	for key, line := range n.pending {
		if recent := n.recent[key]; recent == nil || now.Sub(recent.began) >= floodSpan {
			lines = append(lines, line)
			delete(n.pending, key)
		}
	}
	return lines
}

// forget drops what is held back for a stream that has ended.
func (n *notices) forget(stream []byte) {
	for key, line := range n.pending {
		if bytes.Equal(noticeAbout(line), stream) {
			delete(n.pending, key)
		}
	}
}
