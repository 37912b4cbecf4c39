package gateway

import (
	"bytes"

	"github.com/gauze-mcp/gauze/internal/proxy"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// channel is one stream of the server's (subscriptions/listen). Behind a URL all
// clients with the same wishes listen on one: a thousand of them cost the server,
// and us, one connection. Over stdio a stream costs nothing, and some servers
// mix up those of one connection, so there each listener has its own. Each gets
// what comes under the id it asked with.
type channel struct {
	ours    []byte // raw id towards the server
	wishes  string
	meta    []byte // what a cancel has to carry
	ack     []byte // the server's acknowledgement, once it came
	members map[*exchange]bool
}

// channels are those of one upstream. Its owner locks.
type channels struct {
	apart   bool                // each listener has its own
	wished  map[string]*channel // by their wishes
	open    map[string]*channel // by our raw id
	members int
}

func newChannels(apart bool) channels {
	return channels{apart: apart, wished: map[string]*channel{}, open: map[string]*channel{}}
}

// join lets x listen. The line is what the server has to be told; none if it
// was told already.
func (c *channels) join(x *exchange, m *message, ours []byte) (line []byte) {
	c.members++
	wishes := wishesOf(m)
	if c.apart {
		wishes = string(ours)
	}
	if ch := c.wished[wishes]; ch != nil {
		x.channel = ch
		ch.members[x] = true
		if ch.ack != nil {
			x.out.put(item{line: wire.Replace(nil, ch.ack, wire.Edit{Old: subscriptionIn(ch.ack), New: x.id})})
		}
		return nil
	}
	ch := &channel{ours: ours, wishes: wishes, meta: x.meta, members: map[*exchange]bool{x: true}}
	x.channel = ch
	c.wished[wishes], c.open[string(ours)] = ch, ch
	edits := []wire.Edit{{Old: m.ID, New: ours}}
	if m.token != nil {
		edits = append(edits, wire.Edit{Old: m.token, New: ours})
	}
	return wire.Replace(nil, m.Raw, edits...)
}

// wishesOf is all that a request to listen says, besides who says it.
func wishesOf(m *message) string {
	level, _ := wire.Field(m.meta, metaLogLevel)
	return string(wire.Replace(nil, m.Params, wire.Edit{Old: m.meta})) + string(level)
}

// leave takes a listener out. If it was the last one, the server has to be told
// that nobody listens any more: about which request, and with which _meta.
func (c *channels) leave(x *exchange) (ours, meta []byte) {
	ch := x.channel
	if !ch.members[x] {
		return nil, nil
	}
	delete(ch.members, x)
	c.members--
	if len(ch.members) > 0 {
		return nil, nil
	}
	c.forget(ch)
	return ch.ours, ch.meta
}

func (c *channels) forget(ch *channel) {
	delete(c.open, string(ch.ours))
	if c.wished[ch.wishes] == ch {
		delete(c.wished, ch.wishes)
	}
}

// everyone who listens.
func (c *channels) everyone() (all []*exchange) {
	for _, ch := range c.open {
		for x := range ch.members {
			all = append(all, x)
		}
	}
	return all
}

// tell passes on what is for the listeners of a channel, and reports whether
// it is. An answer, or the server's cancel, ends the channel.
func (c *channels) tell(m *wire.Message, t proxy.Told) bool {
	var named [][]byte // where the message names the stream
	id := m.ID
	switch {
	case m.Kind == wire.Response:
		named = append(named, m.ID)
		if again := subscription(m.Result); bytes.Equal(again, m.ID) {
			named = append(named, again)
		}
	case m.Method == "notifications/cancelled":
		id, _ = wire.Field(m.Params, "requestId")
		named = append(named, id)
	default:
		if id = subscription(m.Params); id != nil {
			named = append(named, id)
		} else {
			id = t.About
		}
	}
	ch := c.open[string(id)]
	if ch == nil {
		return false
	}
	if m.Method == "notifications/subscriptions/acknowledged" {
		ch.ack = wire.OneLine(bytes.Clone(m.Raw))
	}
	it := item{answer: t.Answer}
	if it.answer {
		it.status = modernStatus(m, t.Status)
	}
	over := it.answer || m.Method == "notifications/cancelled"
	if over {
		c.forget(ch)
	}
	for x := range ch.members {
		edits := make([]wire.Edit, len(named))
		for i, old := range named {
			edits[i] = wire.Edit{Old: old, New: x.id}
		}
		it.line = wire.OneLine(wire.Replace(nil, m.Raw, edits...))
		x.out.put(it) // or its handler finds it cut, and takes it out
		if over {
			x.out.end()
		}
	}
	if over {
		c.members -= len(ch.members)
		clear(ch.members)
	}
	return true
}

// subscriptionIn is the raw id of the stream a notification is about.
func subscriptionIn(line []byte) []byte {
	m, _, _ := wire.Scan(line)
	return subscription(m.Params)
}
