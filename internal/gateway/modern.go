package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/proxy"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Keys of _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// shared is one upstream for all modern clients of a principal. Clients choose
// ids and progress tokens as they like, so each request gets its own id and
// token from us, which are put back on the way out: no two clients can meet.
type shared struct {
	life
	who    principal
	server string // for people
	stdio  bool   // messages come without a stream of their own, so what they are about is guessed

	mu       sync.Mutex           // guards everything below
	over     bool                 // nothing more will be said
	last     uint64               // number of the latest id of ours
	speaker  speaker              // the client of every request so far, unless mixed
	mixed    bool                 // requests came from more than one client, or from one that is not known
	due      map[string]*exchange // calls, by our raw id
	channels channels
}

// exchange is one modern request on its way.
type exchange struct {
	ours    []byte   // raw id, and token, towards the server; nil if it listens
	id      []byte   // the client's, raw
	token   []byte   // the client's, raw; nil: none
	meta    []byte   // what a cancel has to carry
	channel *channel // set: it listens
	logs    bool     // it asked for log messages
	out     *stream
}

// mostShared requests and streams may be open on one upstream.
const mostShared = 16 << 10

// modern goes on with a POST of the era without sessions.
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
		rpc(http.StatusNotFound, codeUnknownMethod, m.ID, "%q does not exist in this version of the protocol", m.Method).write(w)
		return
	}
	if !m.isCall() {
		g.modernNotice(w, who, m)
		return
	}
	if m.Method != "subscriptions/listen" {
		if refused := g.ask([]message{*m}); refused != nil {
			refused.write(w)
			return
		}
		defer g.answered()
	}
	s, refused := g.sharedOf(who)
	if refused != nil {
		refused.id = m.ID
		refused.write(w)
		return
	}
	defer g.leave(&s.life)
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
		s.proxy.FromClientHTTP(line, paramsOf(r.Header))
		s.proxy.Flush()
	}
	if !g.pour(w, r, x.out, manner{}) {
		// "Closing the response stream is how a client cancels."
		s.cancel(x)
	}
}

// removed methods belong to sessions. On an upstream for all, one client must
// not settle things for the others.
var removed = map[string]bool{
	"initialize": true, "ping": true, "logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true,
}

// modernNotice takes a notification, or an answer nobody asked for. Those that
// name a request name it by an id only its own client knows the meaning of, and
// nothing says which client this is: a cancel is a hang-up in this era.
func (g *Gateway) modernNotice(w http.ResponseWriter, who principal, m *message) {
	switch {
	case m.Kind == wire.Response:
	case m.Method == "notifications/cancelled", m.Method == "notifications/initialized", m.Method == "notifications/progress":
	default:
		s, refused := g.sharedOf(who)
		if refused != nil {
			refused.write(w)
			return
		}
		defer g.leave(&s.life)
		s.proxy.FromClient(m.Raw)
		s.proxy.Flush()
	}
	w.WriteHeader(http.StatusAccepted)
}

// sharedOf is the upstream for all modern clients of a principal; the first
// one starts it. The caller has to leave it.
func (g *Gateway) sharedOf(who principal) (*shared, *refusal) {
	g.mu.Lock()
	s := g.shared[who]
	if s == nil {
		if g.draining {
			g.mu.Unlock()
			return nil, stopping()
		}
		s = &shared{who: who, server: g.Session.Label(), stdio: g.Session.Spec.URL == "", last: proxy.RandomID(),
			due: map[string]*exchange{}, channels: newChannels(g.Session.Spec.URL == "")}
		g.shared[who] = s
		o := g.Session
		o.Tell, o.LastID = s.tell, proxy.RandomID()
		g.start(&s.life, o, func() {
			s.closed()
			g.mu.Lock()
			defer g.mu.Unlock()
			g.release(s)
		})
	}
	s.open++
	g.mu.Unlock()
	return s, nil
}

// release lets an upstream go that nobody uses. The caller holds g.mu.
func (g *Gateway) release(s *shared) {
	if g.shared[s.who] == s {
		delete(g.shared, s.who)
		s.stop()
	}
}

// openExchange registers a request and words it for the server; no line: the
// server need not hear of it.
func (s *shared) openExchange(m *message, from speaker) (x *exchange, line []byte, refused *refusal) {
	x = &exchange{id: m.ID, meta: cancelMeta(m.meta), out: newStream()}
	level, _ := wire.Field(m.meta, metaLogLevel)
	x.logs = level != nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		refused := stopping()
		refused.id = m.ID
		return nil, nil, refused
	}
	if len(s.due)+s.channels.members >= mostShared {
		return nil, nil, busy(&fault.Fault{Code: fault.ServerBusy, Delivery: fault.Unsent, Name: s.server, Method: m.Method, At: time.Now(),
			Detail: fmt.Sprintf("%d requests and streams of all clients are open on the shared server, which is the limit", len(s.due)+s.channels.members)}, m.ID)
	}
	if m.Method != "subscriptions/listen" || x.logs {
		s.mixed = s.mixed || from == speaker{} || s.speaker != speaker{} && s.speaker != from
		s.speaker = from
	}
	s.last++
	ours := proxy.AppendID(nil, s.last)
	if m.Method == "subscriptions/listen" {
		return x, s.channels.join(x, m, ours), nil
	}
	x.ours, x.out = ours, callStream()
	s.due[string(ours)] = x
	edits := []wire.Edit{{Old: m.ID, New: x.ours}}
	if len(m.token) > 0 && strings.IndexByte(`"-0123456789`, m.token[0]) >= 0 {
		x.token = m.token
		edits = append(edits, wire.Edit{Old: m.token, New: x.ours})
	}
	return x, wire.Replace(nil, m.Raw, edits...), nil
}

// cancelMeta is the part of a request's _meta that says who speaks.
func cancelMeta(meta []byte) []byte {
	keys := []string{metaVersion, metaClient, metaCapabilities}
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

// cancel tells the server that nobody waits any more, unless it has answered.
func (s *shared) cancel(x *exchange) {
	s.mu.Lock()
	ours, meta := x.ours, x.meta
	if x.channel != nil {
		ours, meta = s.channels.leave(x)
	} else if s.due[string(ours)] != x {
		ours = nil
	}
	s.close(x)
	s.mu.Unlock()
	if ours != nil {
		s.proxy.FromClient(fmt.Appendf(nil,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"the client hung up","_meta":%s}}`, ours, meta))
		s.proxy.Flush()
	}
}

// close ends an exchange. The caller holds the lock.
func (s *shared) close(x *exchange) {
	delete(s.due, string(x.ours))
	x.out.end()
}

// tell gets what is said to some client. It must not block.
func (s *shared) tell(t proxy.Told) {
	m, _, err := wire.Scan(t.Line)
	if err != nil {
		return // cannot be: it was scanned on its way in, or is ours
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.channels.tell(&m, t) {
		return
	}
	x, edits := s.addressee(&m, t.About)
	if x == nil {
		return // nobody's, or nobody's any more
	}
	it := item{line: wire.OneLine(wire.Replace(nil, m.Raw, edits...)), answer: t.Answer, due: t.Answer}
	if it.answer {
		it.status = modernStatus(&m, t.Status)
	}
	x.out.put(it) // or its handler finds it cut, and sees to the rest
	if it.answer {
		s.close(x)
	}
}

// addressee finds the one caller a message is for, and what has to be put back
// in it: never by guessing, since the other clients are strangers to it.
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
		return nil, nil // about a stream that is over
	}
	// Nothing in the message says whose it is. Over HTTP the stream it came on
	// does. Over stdio it may be a late one, about a request that has its
	// answer. So it is passed on only if the server never had a request of
	// another client, to the only request in flight, if that asked for it.
	x = s.due[string(about)]
	if x == nil || s.stdio && (s.mixed || len(s.due) != 1 || m.Method == "notifications/message" && !x.logs) {
		return nil, nil
	}
	return x, nil
}

// subscription is the raw id of the stream that params or a result belong to.
func subscription(object []byte) []byte {
	meta, _ := wire.Field(object, "_meta")
	id, _ := wire.Field(meta, metaSubscription)
	return id
}

// silence ends the streams that stay open, and tells the server.
func (s *shared) silence() {
	s.mu.Lock()
	listeners := s.channels.everyone()
	s.mu.Unlock()
	for _, x := range listeners {
		s.cancel(x)
	}
}

// closed: nothing more will be said.
func (s *shared) closed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true // what is due is still answered
	for _, x := range s.channels.everyone() {
		s.channels.leave(x)
		s.close(x)
	}
}
