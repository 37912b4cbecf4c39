package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// shared is one upstream for all modern clients of a principal. Clients choose ids and progress
// tokens freely, so each request gets its own id and token from the gateway, which are restored on
// the way out: clients cannot interfere.
type shared struct {
	life
	who     principal
	server  string // shown to users
	stdio   bool   // messages have no stream of their own, so their request is inferred
	counted bool   // it counts against the limits of sessions

	mu       sync.Mutex           // guards everything below
	over     bool                 // no more messages follow
	last     uint64               // number of the latest id
	speaker  speaker              // the client of every request so far, unless mixed
	mixed    bool                 // requests came from several clients, or from an unknown one
	due      map[string]*exchange // calls, by the gateway's raw id
	channels channels
}

// exchange is one modern request in progress.
type exchange struct {
	upstreamID []byte   // raw id and token toward the server; nil if it listens
	id         []byte   // the client's raw id
	token      []byte   // the client's raw token; may be nil
	meta       []byte   // the _meta for a cancel notification
	channel    *channel // set if it listens
	logs       bool     // it asked for log messages
	out        *stream
}

// maxSharedRequests limits the requests and streams that are open on one upstream.
const maxSharedRequests = 16 << 10

// modern handles a POST of the versions without sessions.
func (g *Gateway) modern(w http.ResponseWriter, r *http.Request, who principal, m *message) {
	if refused := checkMeta(r, m); refused != nil {
		refused.write(w)
		return
	}
	if refused := checkMirrored(r, m); refused != nil {
		refused.write(w)
		return
	}
	if m.isCall() && removed[m.Method] {
		rpc(http.StatusNotFound, codeUnknownMethod, m.ID, "%q does not exist in this protocol version", m.Method).write(w)
		return
	}
	if !m.isCall() {
		g.modernNotice(w, r, who, m)
		return
	}
	if m.Method == "subscriptions/listen" {
		var stop context.CancelFunc
		r, stop = g.guard.whileValid(r, who)
		defer stop()
	} else {
		if refused := g.table.beginRequest([]message{*m}); refused != nil {
			refused.write(w)
			return
		}
		defer g.table.endRequest()
	}
	s, refused := g.table.sharedOf(r, who)
	if refused != nil {
		refused.id = m.ID
		refused.write(w)
		return
	}
	defer g.table.leave(&s.life)
	if refused := s.checkParams(r, m); refused != nil {
		refused.write(w)
		return
	}
	x, line, refused := s.openExchange(m, speakerOf(r, m))
	if refused != nil {
		refused.write(w)
		return
	}
	if line != nil {
		s.peer.FromClientHTTP(line, paramsOf(r.Header))
		s.peer.Flush()
	}
	if !g.writeStream(w, r, x.out, streamOptions{}) {
		// "Closing the response stream is how a client cancels."
		s.cancel(x)
	}
}

// removed are the methods that belong to sessions. On a shared upstream, one client must not change
// settings for the others.
var removed = map[string]bool{
	"initialize": true, "ping": true, "logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true,
}

// modernNotice handles a notification, or a response that was not asked for. A notification about a
// request names it by an id that only its own client knows, and nothing identifies that client: in
// this era a client cancels by disconnecting.
func (g *Gateway) modernNotice(w http.ResponseWriter, r *http.Request, who principal, m *message) {
	switch {
	case m.Kind == wire.Response:
	case m.Method == "notifications/cancelled", m.Method == "notifications/initialized", m.Method == "notifications/progress":
	default:
		s, refused := g.table.sharedOf(r, who)
		if refused != nil {
			refused.write(w)
			return
		}
		defer g.table.leave(&s.life)
		s.peer.FromClient(m.Raw)
		s.peer.Flush()
	}
	w.WriteHeader(http.StatusAccepted)
}

// sharedOf returns the upstream for all modern clients of a principal and starts it if necessary.
// The caller must leave it.
func (t *table) sharedOf(r *http.Request, who principal) (*shared, *refusal) {
	t.mu.Lock()
	s := t.shared[who]
	if s == nil {
		if t.draining {
			t.mu.Unlock()
			return nil, stopping()
		}
		counted := t.guard.oauth != nil // else there is at most one for each token
		if counted && !t.fits(who) && !t.makeRoom(who) {
			t.mu.Unlock()
			return nil, t.full(who, nil)
		}
		s = &shared{who: who, counted: counted, server: t.options.Session.Label(), stdio: t.options.Session.Spec.URL == "", last: proxy.RandomID(),
			due: map[string]*exchange{}, channels: newChannels(t.options.Session.Spec.URL == "")}
		t.shared[who] = s
		s.count(&t.places, 1)
		s.count(&t.processes, 1)
		o, ended := t.optionsFor(r, who)
		o.Tell, o.LastID = s.tell, proxy.RandomID()
		t.start(&s.life, o, func() {
			s.closed()
			ended()
			t.mu.Lock()
			defer t.mu.Unlock()
			t.release(s)
			s.count(&t.processes, -1)
		})
	}
	s.open++
	t.mu.Unlock()
	return s, nil
}

// release stops an upstream that is not used. The caller holds t.mu.
func (t *table) release(s *shared) {
	if t.shared[s.who] == s {
		delete(t.shared, s.who)
		s.count(&t.places, -1)
		s.stop()
	}
}

// count adds n to a limit that s counts against. The caller holds t.mu.
func (s *shared) count(q *quota, n int) {
	if s.counted {
		q.add(s.who, n)
	}
}

// unusedShared returns the counted upstream that was unused for the longest time and whose place who
// could use, or nil. The caller holds t.mu.
func (t *table) unusedShared(who principal) (found *shared) {
	for _, s := range t.shared {
		unused := s.counted && s.open == 0 && t.places.yields(s.who, who)
		if unused && (found == nil || s.used.Before(found.used)) {
			found = s
		}
	}
	return found
}

// openExchange registers a request and rewrites it for the server. line is nil if the server need
// not receive it.
func (s *shared) openExchange(m *message, from speaker) (x *exchange, line []byte, refused *refusal) {
	x = &exchange{id: m.ID, meta: cancelMeta(m.meta), out: newStream()}
	level, _ := wire.Field(m.meta, wire.MetaLogLevel)
	x.logs = level != nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		refused := stopping()
		refused.id = m.ID
		return nil, nil, refused
	}
	if len(s.due)+s.channels.members >= maxSharedRequests {
		return nil, nil, busy(&fault.Fault{Code: fault.ServerBusy, Delivery: fault.Unsent, Name: s.server, Method: m.Method, At: time.Now(),
			Detail: fmt.Sprintf("the shared server has reached its limit: its clients have %d requests and streams open in total", len(s.due)+s.channels.members)}, m.ID)
	}
	if m.Method != "subscriptions/listen" || x.logs {
		s.mixed = s.mixed || from == speaker{} || s.speaker != speaker{} && s.speaker != from
		s.speaker = from
	}
	s.last++
	upstreamID := proxy.AppendID(nil, s.last)
	if m.Method == "subscriptions/listen" {
		return x, s.channels.join(x, m, upstreamID), nil
	}
	x.upstreamID, x.out = upstreamID, callStream()
	s.due[string(upstreamID)] = x
	edits := []wire.Edit{{Old: m.ID, New: x.upstreamID}}
	if len(m.token) > 0 && strings.IndexByte(`"-0123456789`, m.token[0]) >= 0 {
		x.token = m.token
		edits = append(edits, wire.Edit{Old: m.token, New: x.upstreamID})
	}
	return x, wire.Replace(nil, m.Raw, edits...), nil
}

// cancelMeta returns the part of a request's _meta that identifies the client.
func cancelMeta(meta []byte) []byte {
	keys := []string{wire.MetaVersion, wire.MetaClient, wire.MetaCapabilities}
	values := make([][]byte, len(keys))
	if wire.Fields(meta, values, keys...) != nil {
		return []byte("{}")
	}
	room := []byte{'{'}
	for i, value := range values {
		if value != nil {
			if len(room) > 1 {
				room = append(room, ',')
			}
			room = append(append(room, `"`+keys[i]+`":`...), value...)
		}
	}
	return append(room, '}')
}

// cancel tells the server that the response is no longer needed, unless it has answered.
func (s *shared) cancel(x *exchange) {
	s.mu.Lock()
	upstreamID, meta := x.upstreamID, x.meta
	if x.channel != nil {
		upstreamID, meta = s.channels.leave(x)
	} else if s.due[string(upstreamID)] != x {
		upstreamID = nil
	}
	s.close(x)
	s.mu.Unlock()
	if upstreamID != nil {
		s.peer.FromClient(fmt.Appendf(nil,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"the client disconnected","_meta":%s}}`, upstreamID, meta))
		s.peer.Flush()
	}
}

// close ends an exchange. The caller holds the lock.
func (s *shared) close(x *exchange) {
	delete(s.due, string(x.upstreamID))
	x.out.end()
}

// tell receives the messages for all clients. It must not block.
func (s *shared) tell(t proxy.Told) {
	m, _, err := wire.Scan(t.Line)
	if err != nil {
		return // impossible: it was scanned before, or gauze made it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.channels.tell(&m, t) {
		return
	}
	x, edits := s.addressee(&m, t.About)
	if x == nil {
		return // for no client, or one that is gone
	}
	it := item{line: wire.OneLine(wire.Replace(nil, m.Raw, edits...)), answer: t.Answer, due: t.Answer, last: t.Answer}
	if it.answer {
		it.status = modernStatus(&m, t.Status)
	}
	x.out.put(it) // if it is full, its handler notices and does the rest
	if it.answer {
		s.close(x)
	}
}

// addressee returns the one request that a message is for, and the edits that restore its ids. It
// never guesses, because the message may be confidential.
func (s *shared) addressee(m *wire.Message, about []byte) (x *exchange, edits []wire.Edit) {
	switch {
	case m.Kind == wire.Response:
		if x = s.due[string(m.ID)]; x == nil {
			return nil, nil
		}
		return x, []wire.Edit{{Old: m.ID, New: x.id}}
	case m.Method == "notifications/progress":
		token, _ := wire.Field(m.Params, "progressToken")
		if x = s.due[string(token)]; x == nil || x.token == nil {
			return nil, nil
		}
		return x, []wire.Edit{{Old: token, New: x.token}}
	case m.Method == "notifications/cancelled", subscription(m.Params) != nil:
		return nil, nil // about a stream that has ended
	}
	// Nothing in the message names its request. Over HTTP the stream that it came on does. Over
	// stdio it may be late, about a request that was answered. So it is passed on only if the
	// server never had a request of a different client, to the only request in flight, if that
	// asked for it.
	x = s.due[string(about)]
	if x == nil || s.stdio && !s.isCertain(m, x) {
		return nil, nil
	}
	return x, nil
}

func (s *shared) isCertain(m *wire.Message, x *exchange) bool {
	return !s.mixed && len(s.due) == 1 && (x.logs || m.Method != "notifications/message")
}

// subscription returns the raw id of the stream that params or a result belong to.
func subscription(object []byte) []byte {
	meta, _ := wire.Field(object, "_meta")
	id, _ := wire.Field(meta, wire.MetaSubscription)
	return id
}

// endListeners ends the streams that stay open, and cancels them at the server.
func (s *shared) endListeners() {
	s.mu.Lock()
	listeners := s.channels.listeners()
	s.mu.Unlock()
	for _, x := range listeners {
		s.cancel(x)
	}
}

// closed records that no more messages follow.
func (s *shared) closed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true // pending requests still get their responses
	for _, x := range s.channels.listeners() {
		s.channels.leave(x)
		s.close(x)
	}
}
