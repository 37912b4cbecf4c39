package gateway

import (
	"bytes"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// channel is one stream of the server (subscriptions/listen). With a server at a URL, all clients
// with equal requests share one: a thousand of them cost one connection. Over stdio a stream costs
// nothing, and some servers confuse the streams of one connection, so each listener has its own.
// Each listener receives the messages under the id of its own request.
type channel struct {
	upstreamID []byte // raw id in the request to the server
	key        string
	meta       []byte // the _meta for a cancel notification
	ack        []byte // the server's acknowledgment, once received
	members    map[*exchange]bool
}

// channels are the channels of one upstream. Its owner locks.
type channels struct {
	separate bool                // each listener has its own
	byKey    map[string]*channel // by their parameters
	open     map[string]*channel // by the gateway's raw id
	members  int
}

func newChannels(separate bool) channels {
	return channels{separate: separate, byKey: map[string]*channel{}, open: map[string]*channel{}}
}

// join adds x as a listener. line is the request to send to the server, nil if it was sent already.
func (c *channels) join(x *exchange, m *message, upstreamID []byte) (line []byte) {
	c.members++
	key := channelKey(m)
	if c.separate {
		key = string(upstreamID)
	}
	if ch := c.byKey[key]; ch != nil {
		x.channel = ch
		ch.members[x] = true
		if ch.ack != nil {
			x.out.put(item{line: wire.Replace(nil, ch.ack, wire.Edit{Old: subscriptionIn(ch.ack), New: x.id})})
		}
		return nil
	}
	ch := &channel{upstreamID: upstreamID, key: key, meta: x.meta, members: map[*exchange]bool{x: true}}
	x.channel = ch
	c.byKey[key], c.open[string(upstreamID)] = ch, ch
	edits := []wire.Edit{{Old: m.ID, New: upstreamID}}
	if m.token != nil {
		edits = append(edits, wire.Edit{Old: m.token, New: upstreamID})
	}
	return wire.Replace(nil, m.Raw, edits...)
}

// channelKey returns everything in a request to listen that does not identify its client.
func channelKey(m *message) string {
	level, _ := wire.Field(m.meta, wire.MetaLogLevel)
	return string(wire.Replace(nil, m.Params, wire.Edit{Old: m.meta})) + string(level)
}

// leave removes a listener. If it was the last one, it returns the id and the _meta for the cancel
// notification to the server.
func (c *channels) leave(x *exchange) (upstreamID, meta []byte) {
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
	return ch.upstreamID, ch.meta
}

func (c *channels) forget(ch *channel) {
	delete(c.open, string(ch.upstreamID))
	if c.byKey[ch.key] == ch {
		delete(c.byKey, ch.key)
	}
}

// listeners returns all listeners.
func (c *channels) listeners() (all []*exchange) {
	for _, ch := range c.open {
		for x := range ch.members {
			all = append(all, x)
		}
	}
	return all
}

// tell passes on a message to the listeners of a channel, and reports whether it is for them. A
// response or a cancel notification of the server ends the channel.
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
		x.out.put(it) // if it is full, its handler notices and removes it
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

// subscriptionIn returns the raw id of the stream that a notification is about.
func subscriptionIn(line []byte) []byte {
	m, _, _ := wire.Scan(line)
	return subscription(m.Params)
}
