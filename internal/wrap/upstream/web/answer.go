package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// readBody reads a response that is one JSON value. A fragment is never parsed.
func (x *exchange) readBody(res *http.Response) (reported bool) {
	s := x.s
	room := buffers.Get().(*bytes.Buffer)
	defer giveBack(room) // the reader keeps nothing of a message
	body, err := s.readAll(res, room)
	switch {
	case x.ctx.Err() != nil:
		return x.dropped()
	case len(body) > s.maxMessage:
		s.lose(x.id, life.Loss{Delivery: fault.Answered, Code: fault.ResponseTooLarge, Final: true, Detail: "the response exceeds the size limit"})
		return true
	case err != nil:
		s.lose(x.id, life.Loss{Delivery: fault.Unknown, Code: fault.OutcomeUnknown, Detail: "the response was cut off: " + errText(err)})
		return true
	}
	body = wire.WithoutMark(body)
	x.settlesSession(res, body)
	switch answered, ok := s.deliverAll(body, x.id, 0); {
	case answered:
		x.settle()
	case !ok:
		s.lose(x.id, life.Loss{Delivery: fault.Answered, Code: fault.ResponseInvalid, Final: true, Detail: "the response is not a valid message"})
	default:
		s.lose(x.id, missing)
	}
	return true
}

// missing is the loss of a request whose response ended without an answer.
var missing = life.Loss{Delivery: fault.Unknown, Code: fault.AnswerMissing, Detail: "the HTTP response was closed without a JSON-RPC response"}

// settlesSession handles the response to initialize, which names the session and the version that
// the next message must carry.
func (x *exchange) settlesSession(res *http.Response, text []byte) {
	if x.method != "initialize" {
		return
	}
	if m, _, err := wire.Scan(text); err == nil && m.Kind == wire.Response && m.Result != nil {
		x.s.initialized(res.Header, m.Result)
	}
}

// readStream reads a response that is a stream of events. If it is cut off and its events have ids,
// it is resumed: no request is sent twice.
func (x *exchange) readStream(res *http.Response) (reported bool) {
	s := x.s
	if !s.reads(x) {
		return true // the response came on a different stream
	}
	position := &position{via: x.id}
	for {
		answered, err := x.readEvents(res, position)
		switch {
		case answered:
			return true
		case x.ctx.Err() != nil:
			return x.dropped()
		case errors.Is(err, errEventTooLong):
			s.lose(x.id, life.Loss{Delivery: fault.Answered, Code: fault.ResponseTooLarge, Final: true, Detail: err.Error()})
			return true
		}
		res.Body.Close()
		if position.last == "" || x.modern() {
			loss := missing
			if !errors.Is(err, io.EOF) {
				loss = life.Loss{Delivery: fault.Unknown, Code: fault.OutcomeUnknown, Detail: "the stream was interrupted: " + errText(err)}
			}
			s.lose(x.id, loss)
			return true
		}
		var loss *life.Loss
		if res, loss = s.resume(x.ctx, position); loss != nil {
			s.lose(x.id, *loss)
			return true
		}
		if res == nil {
			return x.dropped() // the link has ended, or the response is not needed
		}
		defer res.Body.Close()
		x.heard()
		res.Body = &resumedBody{res.Body, x}
	}
}

// heard notes that something was heard on the stream that was resumed for the response.
func (x *exchange) heard() {
	now := time.Now()
	x.quiet.Store(&now)
}

// resumedBody notes when something is heard.
type resumedBody struct {
	io.ReadCloser
	x *exchange
}

func (b *resumedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.x.heard()
	}
	return n, err
}

// lingerTimeout is how long a stream may stay open after its response. If it is read to its end,
// its TCP connection serves the next call.
const lingerTimeout = time.Second

// readEvents reads to the end of a stream, or for lingerTimeout beyond the response.
func (x *exchange) readEvents(res *http.Response, t *position) (answered bool, err error) {
	readCall(webBytes{x.s, res.Body}, x.s.maxMessage, func(events *sseReader) { answered, err = x.readFrom(events, res, t) })
	return answered, err
}

func (x *exchange) readFrom(events *sseReader, res *http.Response, t *position) (answered bool, err error) {
	for {
		e, err := events.next()
		if err != nil {
			return answered, err
		}
		if !t.accept(e) || len(e.data) == 0 || answered {
			continue
		}
		x.settlesSession(res, e.data)
		var ok bool
		if answered, ok = x.s.deliverAll(e.data, t.via, errorStatus(res)); !ok {
			x.s.deliverStray(e.data)
		}
		if answered {
			x.settle()
			alarm := time.AfterFunc(lingerTimeout, func() { x.cancel(errDropped) })
			defer alarm.Stop()
		}
	}
}

// errorStatus returns the status of a response that is not a success, and otherwise 0.
func errorStatus(res *http.Response) int {
	if res.StatusCode < 300 {
		return 0
	}
	return res.StatusCode
}

// position is the position in a stream.
type position struct {
	via        []byte          // the request that it belongs to; nil for the standing stream
	last       string          // id of the last event
	retry      time.Duration   // the interval that the server asked for
	seen       map[string]bool // ids in this HTTP response
	known      map[string]bool // ids in earlier ones: a repeated event is dropped
	uselessIDs bool            // ids are useless: some servers put the same one on every event
	events     int             // events since the stream was last opened
	tries      int             // consecutive tries without an event
	wait       backoff
}

// maxSeenIDs limits the ids that are remembered for one stream.
const maxSeenIDs = 4096

// accept records an event and reports whether it is new.
func (t *position) accept(e sseEvent) bool {
	if e.retry > 0 {
		t.retry = min(e.retry, time.Minute)
	}
	if e.hasID && e.id != "" && !t.uselessIDs {
		again := t.seen[e.id]
		if t.seen == nil || len(t.seen) >= maxSeenIDs {
			t.seen = map[string]bool{}
		}
		t.seen[e.id] = true
		switch {
		case again:
			t.uselessIDs, t.last, t.known = true, "", nil
		case t.known[e.id]:
			return false
		default:
			t.last = e.id
		}
	}
	t.events++
	return true
}

// cut records that what follows comes in a different HTTP response.
func (t *position) cut() {
	if t.known == nil {
		t.known = t.seen
	} else if len(t.known) < maxSeenIDs {
		maps.Copy(t.known, t.seen)
	}
	t.seen = nil
}

// maxResumes is how often in a row a stream is resumed without an event.
const maxResumes = 5

// resume requests the rest of a stream that was cut off. If it returns neither a response nor a
// loss, the link has ended or the stream is no longer needed.
func (s *Session) resume(ctx context.Context, t *position) (*http.Response, *life.Loss) {
	t.cut()
	if t.events > 0 {
		t.events, t.tries, t.wait = 0, 0, backoff{}
	}
	var last error
	for ; t.tries < maxResumes; t.tries++ {
		if !t.wait.pause(ctx, t.retry) {
			return nil, nil
		}
		res, err := s.get(ctx, t.last)
		switch {
		case ctx.Err() != nil:
			return nil, nil
		case err != nil:
			last = err
		case res.StatusCode == http.StatusOK && contentType(res) == "text/event-stream":
			t.tries++
			return res, nil
		default:
			body := readAndClose(res, 4<<10)
			if refused, _ := refusesSession(res.StatusCode, body); refused && s.hasSession() && s.hasStood() && s.check.sessionForgotten(ctx) {
				s.fail(failure{err: errors.New(s.remote.statusLine(res, body)), gone: true})
				return nil, nil
			}
			return nil, &life.Loss{Delivery: fault.Unknown, Code: fault.OutcomeUnknown, Detail: "the stream was interrupted and cannot be resumed: " + s.remote.statusLine(res, body)}
		}
	}
	if reason, dead := unreachable(last); dead {
		s.fail(failure{err: reason})
		return nil, nil
	}
	return nil, &life.Loss{Delivery: fault.Unknown, Code: fault.OutcomeUnknown, Detail: "the stream was interrupted repeatedly"}
}

func (s *Session) hasStood() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standing.opened
}

func (s *Session) hasSession() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session != ""
}

// get opens a stream, after the event with the id last if it is not empty.
func (s *Session) get(ctx context.Context, last string) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	req := s.remote.request(ctx, http.MethodGet, s.remote.to())
	s.annotate(req.Header)
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", wire.EncodeHeader(last))
	}
	res, err := s.remote.do(req, func(req *http.Request) (*http.Response, error) {
		alarm := time.AfterFunc(s.remote.headerWait, func() { cancel(errSlowHeader) })
		defer alarm.Stop()
		return s.remote.send(req)
	})
	if err != nil {
		cancel(nil)
		return nil, err
	}
	if _, read := res.Body.(*unauthorizedBody); read {
		cancel(nil)
		return res, nil
	}
	res.Body = &cancelBody{ReadCloser: res.Body, cancel: cancel}
	return res, nil
}

// backoff waits between tries: not at all, then for a random part of an interval that doubles.
type backoff struct{ n int }

const (
	backoffBase = 200 * time.Millisecond
	maxBackoff  = 10 * time.Second
)

// pause waits, at least as long as the server asked for. It returns false if ctx is canceled.
func (b *backoff) pause(ctx context.Context, minWait time.Duration) bool {
	wait := minWait
	if b.n > 0 {
		wait = max(wait, pause.Jitter(backoffBase, b.n, maxBackoff, rand.Float64()))
	}
	b.n++
	return pause.For(ctx, wait)
}
