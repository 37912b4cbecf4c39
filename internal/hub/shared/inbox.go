package shared

import (
	"sync"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// maxUnread is how many bytes may wait for a client that does not read. Then it gets responses and questions, but not
// every notification.
const maxUnread = 16 << 20

// inbox collects the messages to a client, so that the others of its process do not wait while it does not read.
type inbox struct {
	tell func(proxy.Told)

	mu      sync.Mutex
	filled  sync.Cond
	queue   []proxy.Told
	bytes   int
	closed  bool
	running sync.WaitGroup
}

func newInbox(tell func(proxy.Told)) *inbox {
	b := &inbox{tell: tell}
	b.filled.L = &b.mu
	return b
}

// open passes messages on until close is called.
func (b *inbox) open() { b.running.Go(b.pass) }

// put adds a message. It never waits.
func (b *inbox) put(t proxy.Told) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes > maxUnread && !t.Answer && !t.Question {
		return
	}
	b.queue = append(b.queue, t)
	b.bytes += len(t.Line)
	b.filled.Signal()
}

// answer answers a request of the client.
func (b *inbox) answer(id []byte, key string, value []byte) {
	b.put(proxy.Told{Line: reply(id, key, value), About: id, Answer: true})
}

// reply returns a response; key is result or error.
func reply(id []byte, key string, value []byte) []byte {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	line = append(line, `,"`+key+`":`...)
	return append(append(line, value...), '}')
}

// close returns when everything that was put has been passed on.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.filled.Signal()
	b.mu.Unlock()
	b.running.Wait()
}

func (b *inbox) pass() {
	for {
		b.mu.Lock()
		for len(b.queue) == 0 && !b.closed {
			b.filled.Wait()
		}
		now := b.queue
		b.queue, b.bytes = nil, 0
		b.mu.Unlock()
		if len(now) == 0 {
			return
		}
		for _, t := range now {
			b.tell(t)
		}
	}
}
