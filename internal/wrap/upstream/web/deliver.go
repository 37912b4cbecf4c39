package web

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// The functions in this file pass what a server at a URL sends, on any stream, to the reader, one
// message at a time.

// deliverAll passes on the messages in text, which came on the stream of the request via (nil for
// the standing stream). It reports whether the response to that request was among them and whether
// all of text could be parsed.
func (s *Session) deliverAll(text, via []byte, status int) (answered, ok bool) {
	text = bytes.TrimSpace(wire.OneLine(text))
	if len(text) == 0 {
		return false, true
	}
	messages, ok := wire.ScanLine(nil, text)
	if !ok {
		return false, false
	}
	s.readerMu.Lock()
	defer s.readerMu.Unlock()
	s.rec.NoteMessage()
	for i := range messages {
		m := &messages[i]
		if m.Kind == wire.Response && string(m.ID) == questionID {
			continue // the response to a question, over HTTP+SSE
		}
		m.Via, m.Status = via, status
		answered = answered || m.Kind == wire.Response && via != nil && wire.SameID(via, m.ID)
		if m.Kind == wire.Response && via == nil {
			s.answered(m.ID)
		}
		s.rec.Reader.Message(m)
	}
	s.rec.Reader.Rest()
	return answered, true
}

// answered records that the response to a request came on a different stream.
func (s *Session) answered(id []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for end, x := range s.live {
		if wire.SameID(x.id, id) {
			x.answered = true
			switch {
			case x.parked:
				delete(s.live, end)
				s.moved.Broadcast()
			case x.reading:
				x.cancel(errDropped)
			}
			// Otherwise its own response is in progress and will notice.
		}
	}
}

// reads records that x waits for the response on its own stream. It returns false if the response
// came on a different one.
func (s *Session) reads(x *exchange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.reading = true
	return !x.answered
}

// lose reports a request that ended without a response.
func (s *Session) lose(id []byte, loss life.Loss) {
	s.readerMu.Lock()
	defer s.readerMu.Unlock()
	s.rec.Reader.Lost(id, loss)
}

// webBytes records the time of every byte of a response.
type webBytes struct {
	s *Session
	r io.Reader
}

func (b webBytes) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if n > 0 {
		b.s.rec.NoteByte()
	}
	return n, err
}

// maxAnnounced is how much room is made for a body because its header announces it. A longer one grows
// with what arrives.
const maxAnnounced = 64 << 10

// buffers keeps the buffers of bodies that were read or written.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// giveBack keeps a buffer for the next body, unless a huge one made it large.
func giveBack(b *bytes.Buffer) {
	if b.Cap() <= 2*maxAnnounced {
		b.Reset()
		buffers.Put(b)
	}
}

// readAll reads the body of a response up to one byte beyond the limit of messages, into room.
func (s *Session) readAll(res *http.Response, room *bytes.Buffer) ([]byte, error) {
	room.Grow(bytes.MinRead + int(min(max(0, res.ContentLength), maxAnnounced)))
	_, err := room.ReadFrom(io.LimitReader(webBytes{s, res.Body}, int64(s.maxMessage)+1))
	return room.Bytes(), err
}

// deliverStray passes on text from a stream that is not a message.
func (s *Session) deliverStray(text []byte) {
	s.readerMu.Lock()
	defer s.readerMu.Unlock()
	s.rec.Stray([]byte(s.remote.secrets.Redact(string(text))))
	s.rec.Reader.Rest()
}
