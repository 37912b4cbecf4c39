package gateway

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// item is one message for a client.
type item struct {
	line   []byte
	index  int  // in its lane
	answer bool // it is a response
	due    bool // it is awaited: a response or a request
	last   bool // nothing follows it
	status int  // HTTP status of an error response; otherwise 0
}

// stream is one HTTP response that is written as messages arrive. Senders put messages in and never
// wait; the handler of the request writes them (writeStream).
type stream struct {
	news  chan struct{} // has a token while there is something new
	calls bool          // belongs to a call: notifications can be dropped

	mu    sync.Mutex
	items []item
	bytes int
	ended bool // nothing follows
	cut   bool // the client does not read
}

// maxQueuedBytes is how many bytes may wait for a client that does not read: more than a session of
// small messages produces during one write, less than would hurt if a thousand clients did it.
const maxQueuedBytes = 4 << 20

// maxAwaitedBytes is the same limit for responses and requests: more than the largest response and
// a few requests.
const maxAwaitedBytes = 32 << 20

func newStream() *stream { return &stream{news: make(chan struct{}, 1)} }

// callStream returns the stream of a POST with calls.
func callStream() *stream { return &stream{news: make(chan struct{}, 1), calls: true} }

// put reports whether the stream accepted the item. A client that reads a call's messages too
// slowly gets the response, but not every notification. One that listens and does not read is
// disconnected, so that it knows that it missed something.
func (s *stream) put(it item) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.cut {
		return false
	}
	full := len(s.items) > 0 && s.bytes+len(it.line) > maxQueuedBytes
	switch {
	case !full, s.calls && it.due && s.bytes < maxAwaitedBytes:
	case s.calls && !it.due:
		return true
	default:
		s.cut, s.items, s.bytes = true, nil, 0
		s.wake()
		return false
	}
	s.items = append(s.items, it)
	s.bytes += len(it.line)
	s.ended = it.last // with it, so that both are written at the same time
	s.wake()
	return true
}

// end records that nothing follows.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wake()
}

// abandon drops what was put and ends the response.
func (s *stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut, s.items, s.bytes = true, nil, 0
	s.wake()
}

func (s *stream) wake() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *stream) take() (items []item, ended, cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items, s.items, s.bytes = s.items, nil, 0
	return items, s.ended, s.cut
}

// writeTimeout is how long a client may take to read what is written.
const writeTimeout = 30 * time.Second

// streamOptions is how a stream is written.
type streamOptions struct {
	at       bool                   // send the headers before the first message
	preamble string                 // what a stream begins with
	eventID  func(index int) string // nil if events have no ids
	header   func(http.Header)      // changes the headers before they are sent; may be nil
}

// writeStream writes the stream until it ends. It returns false if the client disconnected or did
// not read.
func (g *Gateway) writeStream(w http.ResponseWriter, r *http.Request, s *stream, how streamOptions) (whole bool) {
	p := &streamWriter{w: w, control: http.NewResponseController(w), streamOptions: how}
	beat := time.NewTimer(g.KeepAlive)
	defer beat.Stop()
	if how.at {
		p.begin()
		p.flush()
	}
	for {
		items, ended, cut := s.take()
		if len(items) > 0 || ended {
			p.hurry()
		}
		for _, it := range items {
			p.write(it)
		}
		switch {
		case p.err != nil:
			return false
		case cut:
			p.breakOff()
			return false
		case ended:
			p.begin() // a canceled request has no response
			return p.err == nil
		case len(items) > 0:
			p.flush()
			beat.Reset(g.KeepAlive)
		}
		select {
		case <-s.news:
		case <-r.Context().Done():
			return false
		case <-beat.C:
			p.comment("keep-alive")
			p.flush()
			beat.Reset(g.KeepAlive)
		}
	}
}

// streamWriter is a stream being written. It keeps the first error.
type streamWriter struct {
	streamOptions
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
	raw     bool // the response is one JSON object
	err     error
}

// hurry sets the deadline for the writes that follow.
func (p *streamWriter) hurry() { p.control.SetWriteDeadline(time.Now().Add(writeTimeout)) }

func (p *streamWriter) begin() {
	if p.begun {
		return
	}
	p.begun = true
	h := p.w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Accel-Buffering"] = isStream, notCached, notBuffered
	if p.header != nil {
		p.header(h)
	}
	p.w.WriteHeader(http.StatusOK)
	p.text(p.preamble)
}

// Values of headers that all streams share. Nothing changes them.
var (
	isStream    = []string{"text/event-stream"}
	notCached   = []string{"no-cache, no-transform"}
	notBuffered = []string{"no"} // nginx would buffer the events
)

func (p *streamWriter) write(it item) {
	if !p.begun && it.answer && it.status != 0 {
		// Nothing was sent yet, so the error can have an HTTP status.
		p.begun, p.raw = true, true
		p.w.Header().Set("Content-Type", "application/json")
		p.w.WriteHeader(it.status)
		p.bytes(it.line)
		return
	}
	p.begin()
	if p.raw {
		return
	}
	p.text("event: message\n")
	if p.eventID != nil {
		p.text("id: " + p.eventID(it.index) + "\n")
	}
	p.text("data: ")
	p.bytes(it.line)
	p.text("\n\n")
}

// breakOff closes the connection, so that the client does not mistake the response for complete.
func (p *streamWriter) breakOff() {
	if conn, _, err := p.control.Hijack(); err == nil {
		conn.Close()
	}
}

func (p *streamWriter) comment(text string) {
	p.hurry()
	p.begin()
	if !p.raw {
		p.text(": " + text + "\n\n")
	}
}

func (p *streamWriter) text(s string) {
	if p.err == nil && s != "" {
		_, p.err = io.WriteString(p.w, s)
	}
}

func (p *streamWriter) bytes(b []byte) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
	}
}

func (p *streamWriter) flush() {
	if p.err == nil {
		p.err = p.control.Flush()
	}
}
