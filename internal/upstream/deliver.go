package upstream

import (
	"bytes"
	"io"

	"github.com/gauze-mcp/gauze/internal/wire"
)

// The functions in this file pass what a server at a URL sends, on any stream, to the reader, one
// message at a time.

// deliverAll passes on the messages in text, which came on the stream of the request via (nil for
// the standing stream). It reports whether the response to that request was among them and whether
// all of text could be parsed.
func (w *web) deliverAll(text, via []byte, status int) (answered, ok bool) {
	text = bytes.TrimSpace(wire.OneLine(text))
	if len(text) == 0 {
		return false, true
	}
	messages, ok := scanLine(nil, text)
	if !ok {
		return false, false
	}
	w.readerMu.Lock()
	defer w.readerMu.Unlock()
	w.noteMessage()
	for i := range messages {
		m := &messages[i]
		if m.Kind == wire.Response && string(m.ID) == questionID {
			continue // the response to a question, over HTTP+SSE
		}
		m.Via, m.Status = via, status
		answered = answered || m.Kind == wire.Response && via != nil && wire.SameID(via, m.ID)
		if m.Kind == wire.Response && via == nil {
			w.answered(m.ID)
		}
		w.reader.Message(w.Conn, m)
	}
	w.reader.Rest(w.Conn)
	return answered, true
}

// answered records that the response to a request came on a different stream.
func (w *web) answered(id []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for end, x := range w.live {
		if wire.SameID(x.id, id) {
			x.answered = true
			switch {
			case x.parked:
				delete(w.live, end)
				w.moved.Broadcast()
			case x.reading:
				x.cancel(errDropped)
			}
			// Otherwise its own response is in progress and will notice.
		}
	}
}

// reads records that x waits for the response on its own stream. It returns false if the response
// came on a different one.
func (w *web) reads(x *exchange) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	x.reading = true
	return !x.answered
}

// lose reports a request that ended without a response.
func (w *web) lose(id []byte, loss Loss) {
	w.readerMu.Lock()
	defer w.readerMu.Unlock()
	w.reader.Lost(w.Conn, id, loss)
}

// webBytes records the time of every byte of a response.
type webBytes struct {
	w *web
	r io.Reader
}

func (b webBytes) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if n > 0 {
		b.w.noteByte()
	}
	return n, err
}

// deliverStray passes on text from a stream that is not a message.
func (w *web) deliverStray(text []byte) {
	w.readerMu.Lock()
	defer w.readerMu.Unlock()
	w.stray([]byte(w.remote.secrets.Redact(string(text))))
	w.reader.Rest(w.Conn)
}
