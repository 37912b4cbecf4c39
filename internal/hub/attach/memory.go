package attach

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// memory is what is kept of a client's session, so that another gauze up can continue it: the requests of both
// sides that are open, and what the client has told once for the whole session.
type memory struct {
	mu    sync.Mutex
	open  map[string]request            // of the client, by raw id
	asked map[string]bool               // ids of the requests to the client, as wire.PlainID
	ours  map[string]func(wire.Message) // receive the responses to our own requests, by raw id
	count int                           // of requests so far
	name  string                        // begins the ids of our requests

	initialize  []byte            // the client's request; nil: it was not sent, or was rejected
	version     string            // of the protocol, once the client knows it
	initialized []byte            // the client's notification
	level       []byte            // params of the last logging/setLevel
	subscribed  map[string][]byte // params of resources/subscribe, by raw URI
}

type request struct {
	number int
	method string
	again  []byte // the message, if it may be sent again
}

func newMemory() *memory {
	return &memory{
		open: map[string]request{}, asked: map[string]bool{}, ours: map[string]func(wire.Message){},
		name: rand.Text(), subscribed: map[string][]byte{},
	}
}

// repeatable reports whether a request has no effect that a second one would add to.
func repeatable(method string) bool {
	switch method {
	case "initialize", "ping", "server/discover", "resources/read", "prompts/get", "completion/complete",
		"tasks/get", "tasks/result", "tasks/cancel", "subscriptions/listen",
		"logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return true
	}
	return strings.HasSuffix(method, "/list")
}

// maxRepeated is the length of a request that is kept to be sent again.
const maxRepeated = 64 << 10

// sending notes requests that are about to be sent: their responses may come before sent is called.
func (m *memory) sending(said []spoken) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range said {
		if s.ID == nil || s.Kind != wire.Request && s.Kind != wire.Invalid {
			continue
		}
		m.count++
		r := request{number: m.count, method: s.Method}
		if repeatable(s.Method) && len(s.Raw) <= maxRepeated {
			r.again = bytes.Clone(s.Raw)
		}
		m.open[string(s.ID)] = r
	}
}

// waits reports whether a request of the client is open. A stream stays open.
func (m *memory) waits() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.open {
		if r.method != "subscriptions/listen" {
			return true
		}
	}
	return false
}

// concerns reports whether what the client says belongs to requests that are open, or only asks whether there is an answer.
func (m *memory) concerns(said []spoken) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !slices.ContainsFunc(said, func(s spoken) bool {
		known := s.Method == "ping" || s.Method == "notifications/progress"
		switch {
		case s.Kind == wire.Response:
			known = m.asked[string(wire.PlainID(s.ID))]
		case s.Method == "notifications/cancelled":
			id, _ := wire.Field(s.Params, "requestId")
			_, known = m.open[string(id)]
		}
		return !known
	})
}

// sent notes how many bytes were sent. A message without the end of its line was not: it is not handled.
func (m *memory) sent(said []spoken, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range said {
		switch {
		case s.end <= n:
			m.note(&s.Message)
		case s.Kind != wire.Response:
			delete(m.open, string(s.ID))
		}
	}
}

// note keeps what a message of the client means for the whole session.
func (m *memory) note(s *wire.Message) {
	if s.Kind == wire.Response {
		delete(m.asked, string(wire.PlainID(s.ID)))
		return
	}
	switch s.Method {
	case "initialize":
		m.initialize = bytes.Clone(s.Raw)
	case "notifications/initialized":
		m.initialized = bytes.Clone(s.Raw)
	case "notifications/cancelled": // needs no response
		id, _ := wire.Field(s.Params, "requestId")
		delete(m.open, string(id))
	case "logging/setLevel":
		m.level = bytes.Clone(s.Params)
	case "resources/subscribe", "resources/unsubscribe":
		uri, _ := wire.Field(s.Params, "uri")
		delete(m.subscribed, string(uri))
		if s.Method == "resources/subscribe" {
			m.subscribed[string(uri)] = bytes.Clone(s.Params)
		}
	}
}

// received notes what gauze up says, and returns what of it is for the client.
func (m *memory) received(text []byte) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	forOthers, begin, kept := text, 0, false
	for _, s := range scan(text) {
		ours := false
		switch {
		case s.Kind == wire.Response:
			ours = m.answered(&s.Message)
		case s.Kind == wire.Request && s.ID != nil:
			m.asked[string(wire.PlainID(s.ID))] = true
		case s.Method == "notifications/cancelled":
			id, _ := wire.Field(s.Params, "requestId")
			delete(m.asked, string(wire.PlainID(id)))
		}
		if ours && !kept {
			forOthers, kept = bytes.Clone(text[:begin]), true
		}
		if !ours && kept {
			forOthers = append(forOthers, text[begin:s.end]...)
		}
		begin = s.end
	}
	return forOthers
}

// answered notes a response, and reports whether it is to a request of ours.
func (m *memory) answered(s *wire.Message) (ours bool) {
	id := string(s.ID)
	if done, ours := m.ours[id]; ours {
		delete(m.ours, id)
		done(*s)
		return true
	}
	r, known := m.open[id]
	delete(m.open, id)
	if known && r.method == "initialize" {
		if s.Error != nil {
			m.initialize = nil
		}
		m.version = versionOf(s)
	}
	return false
}

// versionOf returns the version of the protocol in a response to initialize.
func versionOf(s *wire.Message) string {
	raw, _ := wire.Field(s.Result, "protocolVersion")
	version, _ := wire.Text(raw)
	return version
}

// ask returns a request of ours; done gets the response. The caller holds the lock.
func (m *memory) ask(method string, params []byte, done func(wire.Message)) []byte {
	m.count++
	id := fmt.Sprintf(`"gauze-connect-%s-%d"`, m.name, m.count)
	m.ours[id] = done
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params)
}

// lost returns what the client is told when gauze up is gone: questions are withdrawn, and it is unknown whether a
// request took effect, unless it has no effect and can be sent again.
func (m *memory) lost() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b bytes.Buffer
	clear(m.ours)
	for _, id := range slices.Sorted(maps.Keys(m.asked)) {
		fmt.Fprintf(&b, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"gauze up exited"}}`+"\n", id)
	}
	clear(m.asked)
	for _, id := range m.inOrder() {
		if m.open[id].again == nil {
			m.unknown(&b, id)
		}
	}
	return b.Bytes()
}

// unknown answers a request with an unknown outcome.
func (m *memory) unknown(b *bytes.Buffer, id string) {
	r := m.open[id]
	delete(m.open, id)
	f := fault.Fault{Code: fault.OutcomeUnknown, Delivery: fault.Unknown, Method: r.method, Name: "gauze up"}
	if r.method == "tools/call" { // a model reads it
		fmt.Fprintf(b, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, f.ToolResult(m.initialize == nil))
		return
	}
	fmt.Fprintf(b, `{"jsonrpc":"2.0","id":%s,"error":%s}`+"\n", id, f.RPCError())
}

// abandon answers everything that is open.
func (m *memory) abandon() (text []byte, count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b bytes.Buffer
	count = len(m.open)
	for _, id := range m.inOrder() {
		m.unknown(&b, id)
	}
	return b.Bytes(), count
}

// inOrder returns the ids of the open requests in the order in which they were sent.
func (m *memory) inOrder() []string {
	return slices.SortedFunc(maps.Keys(m.open), func(x, y string) int { return cmp.Compare(m.open[x].number, m.open[y].number) })
}
