package upstream

import (
	"bytes"
	"io"

	"github.com/gauze-mcp/gauze/internal/wire"
)

// What comes from a server behind a URL, on whichever stream, is handed on here,
// one message at a time.

// hearAll hands on the messages of one JSON text that came on the stream of a
// request (nil: on none) and reports whether all of it could be read, and
// whether that request's answer was in it.
func (w *web) hearAll(text, via []byte, status int) (answered, ok bool) {
	text = bytes.TrimSpace(wire.OneLine(text))
	if len(text) == 0 {
		return false, true
	}
	messages, ok := scanLine(nil, text)
	if !ok {
		return false, false
	}
	w.hearing.Lock()
	defer w.hearing.Unlock()
	w.speaks()
	for i := range messages {
		m := &messages[i]
		if m.Kind == wire.Response && string(m.ID) == sessionCheckID {
			continue // of the old transport, to forgotten
		}
		m.Via, m.Status = via, status
		answered = answered || m.Kind == wire.Response && via != nil && wire.SameID(via, m.ID)
		if m.Kind == wire.Response && via == nil {
			w.answered(m.ID)
		}
		w.hear.Message(w.Conn, m)
	}
	w.hear.Rest(w.Conn)
	return answered, true
}

// answered: the answer came on another stream than the request's own.
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
			// Otherwise its own response is under way and will find that out.
		}
	}
}

// reads notes that x waits for its answer on its own stream; false if it has it
// from another one.
func (w *web) reads(x *exchange) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	x.reading = true
	return !x.answered
}

// lose reports a request that ended without an answer.
func (w *web) lose(id []byte, loss Loss) {
	w.hearing.Lock()
	defer w.hearing.Unlock()
	w.hear.Lost(w.Conn, id, loss)
}

// webBytes notes the time of every byte of a response.
type webBytes struct {
	w *web
	r io.Reader
}

func (b webBytes) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if n > 0 {
		b.w.hears()
	}
	return n, err
}

// hearStray passes on what came on a stream and is no message.
func (w *web) hearStray(text []byte) {
	w.hearing.Lock()
	defer w.hearing.Unlock()
	w.stray([]byte(w.remote.secrets.Redact(string(text))))
	w.hear.Rest(w.Conn)
}
