package gateway

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// item is one message on its way to a client.
type item struct {
	line   []byte
	index  int  // in its lane
	answer bool // to a request
	due    bool // somebody waits for it: an answer, or a question
	status int  // HTTP status of an answer that is a refusal; 0: none
}

// stream is one HTTP response that is written as things happen. Whoever has
// something to say puts it in and never waits; the handler of the request
// writes it out (pour).
type stream struct {
	news  chan struct{} // has a token while there is something to look at
	calls bool          // of a call: what goes beside its answer can be left out

	mu    sync.Mutex
	items []item
	bytes int
	ended bool // nothing follows
	cut   bool // the client does not read
}

// mostQueued bytes wait for a client that does not read, besides the message
// that is too much: more than a session of small messages produces in the time
// of one write, less than would hurt if a thousand clients did it.
const mostQueued = 4 << 20

// mostDueBytes of answers and questions wait all the same: more than the largest
// answer there can be, and a few questions.
const mostDueBytes = 32 << 20

func newStream() *stream { return &stream{news: make(chan struct{}, 1)} }

// callStream is the stream of a POST with calls.
func callStream() *stream { return &stream{news: make(chan struct{}, 1), calls: true} }

// put reports whether the stream took the item. Who reads more slowly than a
// call speaks gets its answer, but not every word beside it. Who listens and
// does not read is cut off: then it knows that it missed something.
func (s *stream) put(it item) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.cut {
		return false
	}
	full := len(s.items) > 0 && s.bytes+len(it.line) > mostQueued
	switch {
	case !full, s.calls && it.due && s.bytes < mostDueBytes:
	case s.calls && !it.due:
		return true
	default:
		s.cut, s.items, s.bytes = true, nil, 0
		s.wake()
		return false
	}
	s.items = append(s.items, it)
	s.bytes += len(it.line)
	s.wake()
	return true
}

// end: nothing follows what was put.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wake()
}

// abandon: what was put is not worth writing any more.
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

// writeWithin a client has to take what is written, or it is given up.
const writeWithin = 30 * time.Second

// manner is how a stream is written.
type manner struct {
	at      bool                   // once: headers go out before there is anything to say
	hello   string                 // what a stream begins with
	eventID func(index int) string // nil: events have none
	header  func(http.Header)      // last look at the headers; may be nil
}

// pour writes the stream until it ends. It reports false if the client hung
// up or was given up before.
func (g *Gateway) pour(w http.ResponseWriter, r *http.Request, s *stream, how manner) (whole bool) {
	p := &pouring{w: w, control: http.NewResponseController(w), manner: how}
	beat := time.NewTimer(g.KeepAlive)
	defer beat.Stop()
	if how.at {
		p.begin()
		p.flush()
	}
	for {
		items, ended, cut := s.take()
		p.hurry()
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
			p.begin() // a request that was cancelled has no answer
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

// pouring is a stream being written. The first error stays.
type pouring struct {
	manner
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
	raw     bool // the response is one JSON object
	err     error
}

// hurry gives the writes that follow a time limit.
func (p *pouring) hurry() { p.control.SetWriteDeadline(time.Now().Add(writeWithin)) }

func (p *pouring) begin() {
	if p.begun {
		return
	}
	p.begun = true
	h := p.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would collect what has to go out at once
	if p.header != nil {
		p.header(h)
	}
	p.w.WriteHeader(http.StatusOK)
	p.text(p.hello)
}

func (p *pouring) write(it item) {
	if !p.begun && it.answer && it.status != 0 {
		// Nothing was said yet, so the refusal can be HTTP's as well.
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

// breakOff closes the connection, so that nobody takes what was written for the
// whole.
func (p *pouring) breakOff() {
	if conn, _, err := p.control.Hijack(); err == nil {
		conn.Close()
	}
}

func (p *pouring) comment(text string) {
	p.hurry()
	p.begin()
	if !p.raw {
		p.text(": " + text + "\n\n")
	}
}

func (p *pouring) text(s string) {
	if p.err == nil && s != "" {
		_, p.err = io.WriteString(p.w, s)
	}
}

func (p *pouring) bytes(b []byte) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
	}
}

func (p *pouring) flush() {
	if p.err == nil {
		p.err = p.control.Flush()
	}
}
