package upstream

import (
	"sync"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// witness receives what a server sends during an Attempt, and one response at a time.
type witness struct {
	answers chan answered

	mu   sync.Mutex
	want string
	// Valid once the connection is done.
	errors []RPCError // without an id
	stray  []byte     // the first bytes that are not messages
}

// answered is the outcome of a request.
type answered struct {
	wire.Message
	loss *Loss
}

func newWitness() *witness { return &witness{answers: make(chan answered, 1)} }

// expect sets the id of the expected response.
func (w *witness) expect(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.want = id
}

// deliver passes on the expected response, once.
func (w *witness) deliver(id []byte, how answered) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.want != "" && string(id) == w.want {
		w.want = ""
		w.answers <- how // there is room for one
	}
}

func (w *witness) Message(c *Conn, m *wire.Message) {
	switch m.Kind {
	case wire.Response:
		if m.Error != nil && (m.ID == nil || string(m.ID) == "null") {
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.errors) < MaxErrors {
				w.errors = append(w.errors, rpcError(m.Error))
			}
			return
		}
		kept, _ := m.Keep(nil)
		w.deliver(kept.ID, answered{Message: kept})
	case wire.Request:
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

func (w *witness) Stray(_ *Conn, line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stray = appendBounded(appendBounded(w.stray, line), []byte{'\n'})
}

func (w *witness) TooLong(c *Conn, long *wire.TooLong) {
	w.Stray(c, long.Head)
	w.deliver(wire.LooseID(long.Head), answered{loss: &Loss{Delivery: fault.Answered, Code: fault.ResponseTooLarge, Final: true, Detail: long.Error()}})
}

func (w *witness) Lost(_ *Conn, id []byte, loss Loss) { w.deliver(id, answered{loss: &loss}) }
func (w *witness) Rest(*Conn)                         {}
func (w *witness) Gap(*Conn)                          {}
