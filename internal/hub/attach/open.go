package attach

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/gauze-mcp/gauze/fault"
)

// openRequests are the client's requests that gauze up has not answered.
type openRequests struct {
	sent, received skim // used by one goroutine each

	mu    sync.Mutex
	open  map[string]request // by id, as the client wrote it
	count int                // of requests so far
}

type request struct {
	number int
	method string
}

// send notes what the client sends.
func (o *openRequests) send(p []byte) { o.sent.feed(p, o.sending) }

func (o *openRequests) sending(m message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case len(m.method) == 0: // a response
	case isID(m.id):
		var method string
		json.Unmarshal(m.method, &method)
		if o.open == nil {
			o.open = map[string]request{}
		}
		o.count++
		o.open[string(m.id)] = request{o.count, method}
	case string(m.method) == `"notifications/cancelled"`: // needs no response
		delete(o.open, string(m.cancelled))
	}
}

// receive notes what the client is sent.
func (o *openRequests) receive(p []byte) { o.received.feed(p, o.receiving) }

func (o *openRequests) receiving(m message) {
	if len(m.method) > 0 || !isID(m.id) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, string(m.id))
}

// isID reports whether a response can have this id, which is whole.
func isID(id []byte) bool { return len(id) > 0 && len(id) < maxWord && string(id) != "null" }

// lost answers every open request with an error, in the order in which they were sent: it is unknown
// whether they took effect. A message to the client that was cut off ends on a line of its own.
func (o *openRequests) lost() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b bytes.Buffer
	if o.received.depth > 0 {
		b.WriteByte('\n')
	}
	ids := slices.SortedFunc(maps.Keys(o.open), func(x, y string) int { return cmp.Compare(o.open[x].number, o.open[y].number) })
	for _, id := range ids {
		f := fault.Fault{Code: fault.OutcomeUnknown, Delivery: fault.Unknown, Method: o.open[id].method, Name: "gauze up"}
		b.WriteString(`{"jsonrpc":"2.0","id":` + id + `,"error":`)
		b.Write(f.RPCError())
		b.WriteString("}\n")
	}
	clear(o.open)
	return b.Bytes()
}

// len returns how many requests are open.
func (o *openRequests) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.open)
}
