package view

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// maxUnread is how many bytes may wait for a client that does not read; then its servers wait as well.
const maxUnread = 16 << 20

// outbox collects the messages to the client. Servers do not wait for a client that reads slowly.
type outbox struct {
	tell  func(proxy.Told) // instead of a writer; must not block
	stamp []byte           // members of every result of ours; nil: none

	mu     sync.Mutex
	filled sync.Cond
	buf    []byte
	loose  bool // nothing waits for the client any more
	closed bool
	failed chan struct{} // closed when the client does not read any more
}

// start writes what is put until stop is called, which returns when everything is written, or the client does not read it.
func (o *outbox) start(w io.Writer) (stop func()) {
	o.filled.L = &o.mu
	o.failed = make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.write(w)
	}()
	return func() {
		o.mu.Lock()
		o.closed = true
		o.filled.Broadcast()
		o.mu.Unlock()
		select {
		case <-done:
		case <-time.After(lastRead):
		}
	}
}

// lastRead is how long a client may take to read its last messages.
const lastRead = 2 * time.Second

func (o *outbox) write(w io.Writer) {
	var spare []byte
	for {
		o.mu.Lock()
		for len(o.buf) == 0 && !o.closed {
			o.filled.Wait()
		}
		now := o.buf
		o.buf = spare[:0]
		o.filled.Broadcast() // there is room
		o.mu.Unlock()
		if len(now) == 0 {
			return
		}
		if _, err := w.Write(now); err != nil {
			o.mu.Lock()
			o.closed, o.buf = true, nil
			o.filled.Broadcast()
			o.mu.Unlock()
			close(o.failed)
			return
		}
		if spare = now; cap(spare) > 1<<20 {
			spare = nil
		}
	}
}

// put adds a message of ours. It never waits: the client gets few of them for each of its own.
func (o *outbox) put(t proxy.Told) { o.add(t, false) }

// pass adds a message of a server, which waits while the client does not read what it has.
func (o *outbox) pass(t proxy.Told) { o.add(t, true) }

func (o *outbox) add(t proxy.Told, wait bool) {
	if o.tell != nil {
		o.tell(t)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for wait && len(o.buf) > maxUnread && !o.closed && !o.loose {
		o.filled.Wait()
	}
	if o.closed {
		return
	}
	o.buf = append(append(o.buf, wire.OneLine(t.Line)...), '\n')
	o.filled.Broadcast()
}

// release lets everything go on that waits for the client.
func (o *outbox) release() {
	if o.tell != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.loose = true
	o.filled.Broadcast()
}

// answer answers the request id with a result of ours, an object.
func (o *outbox) answer(id, result []byte) {
	if o.stamp != nil {
		stamped := append([]byte{'{'}, o.stamp...)
		if result[1] != '}' {
			stamped = append(stamped, ',')
		}
		result = append(stamped, result[1:]...)
	}
	o.answerWith(id, result)
}

// answerWith answers the request id with a whole result.
func (o *outbox) answerWith(id, result []byte) {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	line = append(append(append(line, `,"result":`...), result...), '}')
	o.put(proxy.Told{Line: line, About: id, Answer: true})
}

// Codes of JSON-RPC.
const (
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
	codeInvalidParams  = -32602
	codeNoResource     = -32002
	codeNoVersion      = -32022
)

// refuse answers the request id with an error.
func (o *outbox) refuse(id []byte, code int, message string) {
	o.reject(id, &problem{code, message}, "")
}

// reject answers the request id with a problem about a resource; uri may be empty.
func (o *outbox) reject(id []byte, p *problem, uri string) {
	type data struct {
		URI string `json:"uri"`
	}
	problem := struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    *data  `json:"data,omitempty"`
	}{Code: p.code, Message: p.text}
	if uri != "" {
		problem.Data = &data{uri}
	}
	text, _ := json.Marshal(problem) // cannot fail: strings
	o.fail(id, text)
}

// fail answers the request id with a raw error.
func (o *outbox) fail(id, problem []byte) {
	if id == nil {
		id = []byte("null")
	}
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	line = append(append(append(line, `,"error":`...), problem...), '}')
	o.put(proxy.Told{Line: line, About: id, Answer: true})
}
