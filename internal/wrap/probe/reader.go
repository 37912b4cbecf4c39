package probe

import (
	"slices"
	"sync"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// reader receives what a server sends during a Run, and one response at a time.
type reader struct {
	answers chan answered

	mu    sync.Mutex
	want  string
	asked []string // all ids so far
	// Valid once the connection is done.
	errors []upstream.RPCError // without an id
	stray  []byte              // the first bytes that are not messages
	logged []string            // the first log messages
	other  string              // the id of a response that no request has
}

// answered is the outcome of a request.
type answered struct {
	wire.Message
	loss *upstream.Loss
}

func newReader() *reader { return &reader{answers: make(chan answered, 1)} }

// expect sets the id of the expected response.
func (w *reader) expect(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.want, w.asked = id, append(w.asked, id)
}

// maxIDShown bounds what is shown of an id.
const maxIDShown = 40

// unexpected returns the id of a response that no request has, or "".
func (w *reader) unexpected() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.other
}

// deliver passes on the expected response, once.
func (w *reader) deliver(id []byte, how answered) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.want != "" && string(id) == w.want {
		w.want = ""
		w.answers <- how // there is room for one
	} else if !slices.Contains(w.asked, string(id)) {
		w.other = string(id[:min(len(id), maxIDShown)])
	}
}

func (w *reader) Message(c *upstream.Conn, m *wire.Message) {
	switch m.Kind {
	case wire.Response:
		if m.Error != nil && (m.ID == nil || string(m.ID) == "null") {
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.errors) < life.MaxErrors {
				w.errors = append(w.errors, rpcError(m.Error))
			}
			return
		}
		kept, _ := m.Keep(nil)
		w.deliver(kept.ID, answered{Message: kept})
	case wire.Notification:
		w.note(m)
	case wire.Request:
		w.note(m)
		// A server may wait for this before it answers. The client declared no capabilities.
		reply := `"error":{"code":-32601,"message":"not supported"}`
		if m.Method == "ping" {
			reply = `"result":{}`
		}
		if _, err := c.Queue([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + reply + "}\n")); err == nil {
			c.Flush()
		}
	}
}

// maxLogged is how many log messages are kept.
const maxLogged = 12

// note keeps the text of a log message, which some servers send instead of writing to stderr.
func (w *reader) note(m *wire.Message) {
	if m.Method != "notifications/message" && m.Method != "log" && m.Method != "window/logMessage" {
		return
	}
	text := textField(m.Params, "message")
	if text == "" {
		text = textField(m.Params, "data")
	}
	if data, _ := wire.Field(m.Params, "data"); text == "" {
		text = textField(data, "message")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if text != "" && len(w.logged) < maxLogged {
		w.logged = append(w.logged, text)
	}
}

func (w *reader) Stray(_ *upstream.Conn, line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stray = appendBounded(appendBounded(w.stray, line), []byte{'\n'})
}

func (w *reader) TooLong(c *upstream.Conn, long *wire.TooLong) {
	w.Stray(c, long.Head)
	w.deliver(wire.LooseID(long.Head), answered{loss: &upstream.Loss{Delivery: fault.Answered, Code: fault.ResponseTooLarge, Final: true, Detail: long.Error()}})
}

func (w *reader) Lost(_ *upstream.Conn, id []byte, loss upstream.Loss) {
	w.deliver(id, answered{loss: &loss})
}
func (w *reader) Rest(*upstream.Conn) {}
func (w *reader) Gap(*upstream.Conn)  {}
