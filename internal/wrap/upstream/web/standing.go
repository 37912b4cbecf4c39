package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// standing is the state of the standing stream. The session's mutex guards it.
type standing struct {
	requested bool
	opened    bool // at least once, and it was not refused since
	open      bool
	cuts      int // how often it was cut

	// Of the HTTP+SSE transport, whose only stream it is.
	opening sync.Mutex // held while it is opened; not guarded
	post    *url.URL   // where to post; nil to post to the address itself
}

// detection finds out which transport the server uses. The session's mutex guards it.
type detection struct {
	begun bool // a request is detecting it
	once  sync.Once
	done  chan struct{} // closed once it is known
}

// standTimeout limits how long the messages after notifications/initialized wait for the standing
// stream. What a server sends before that stream is open is lost.
const standTimeout = time.Second

// openStanding opens the stream on which a legacy server sends what belongs to no request, once per
// connection, and waits until it is open. Not every server has one.
func (s *Session) openStanding(ctx context.Context) {
	answered := make(chan struct{})
	s.mu.Lock()
	if s.standing.requested || s.closed || s.remote.transport.Load() == httpSSE {
		s.mu.Unlock()
		return
	}
	s.standing.requested = true
	s.streams.Go(func() { s.listen(sync.OnceFunc(func() { close(answered) })) })
	s.mu.Unlock()
	timer := time.NewTimer(standTimeout)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// minStreamLife is how long a stream must stay open to count as accepted.
const minStreamLife = 5 * time.Second

// listen keeps the standing stream open. It calls answered when it is known whether the server has
// one.
func (s *Session) listen(answered func()) {
	defer answered()
	t := &position{}
	opened := false
	for {
		asked := time.Now()
		res, err := s.get(s.streamCtx, t.last)
		answered()
		switch {
		case s.streamCtx.Err() != nil:
			return
		case err != nil:
			if reason, dead := unreachable(err); dead {
				s.fail(failure{err: reason})
				return
			}
		case res.StatusCode == http.StatusOK && contentType(res) == "text/event-stream":
			if opened && t.last == "" {
				s.gap()
			}
			opened = true
			s.noteStreamOpen()
			s.readStanding(res, t)
			if s.streamCtx.Err() == nil {
				s.streamCut(func(x *exchange) bool { return t.last == "" && !x.once })
			}
		default:
			body := readAndClose(res, 4<<10)
			// Servers without a standing stream say so in many ways. The next request shows whether
			// the session is gone.
			if refused, _ := refusesSession(res.StatusCode, body); refused && opened && s.hasSession() && s.check.sessionForgotten(s.streamCtx) {
				s.fail(failure{err: errors.New(s.remote.statusLine(res, body)), gone: true})
				return
			}
			if _, needed := res.Body.(*unauthorizedBody); res.StatusCode == http.StatusUnauthorized && s.remote.logins.LoggedIn() && (needed || opened) {
				// The stream is opened again with the next login. A server that rejects a renewed one
				// for the stream alone has none.
				if !s.remote.logins.await(s.streamCtx) {
					return
				}
				break
			}
			if res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusConflict {
				s.noStream()
				return
			}
		}
		if t.events > 0 || time.Since(asked) > minStreamLife {
			t.events, t.wait = 0, backoff{}
		}
		if !t.wait.pause(s.streamCtx, t.retry) {
			return
		}
	}
}

func (s *Session) noteStreamOpen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standing.opened, s.standing.open = true, true
}

// streamCut decides about the requests whose responses were to come on the standing stream, which has
// ended. Those for which lost returns true are lost. The responses to others may come on the next
// stream; since when they are overdue is noted.
func (s *Session) streamCut(lost func(*exchange) bool) {
	s.mu.Lock()
	s.standing.open = false
	s.standing.cuts++
	var gone []*exchange
	for end, x := range s.live {
		switch {
		case !x.parked:
		case lost(x):
			delete(s.live, end)
			gone = append(gone, x)
		case x.quiet.Load() == nil:
			x.heard()
		}
	}
	s.moved.Broadcast()
	s.mu.Unlock()
	for _, x := range gone {
		s.lose(x.id, life.Loss{Delivery: fault.Unknown, Code: fault.OutcomeUnknown, Detail: errNoStream.Error()})
	}
}

// noStream notes that the server has no standing stream, or no longer.
func (s *Session) noStream() {
	s.mu.Lock()
	s.standing.opened = false
	s.mu.Unlock()
	s.streamCut(func(*exchange) bool { return true })
}

// standingCuts returns how often the standing stream was cut, and -1 while it is not open.
func (s *Session) standingCuts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.standing.open {
		return -1
	}
	return s.standing.cuts
}

func (s *Session) gap() {
	s.readerMu.Lock()
	defer s.readerMu.Unlock()
	s.rec.Reader.Gap()
	s.rec.Reader.Rest()
}

// readStanding reads the standing stream to its end.
func (s *Session) readStanding(res *http.Response, t *position) error {
	defer res.Body.Close()
	defer t.cut()
	events := newSSEReader(webBytes{s, res.Body}, standingBuffer, s.maxMessage)
	for {
		e, err := events.next()
		if err != nil {
			return err
		}
		if !t.accept(e) || len(e.data) == 0 {
			continue
		}
		if _, ok := s.deliverAll(e.data, nil, 0); !ok {
			s.deliverStray(e.data)
		}
	}
}

// awaitTransport waits until the transport of the server is known; the first request detects it. It
// returns false if the link ended before that.
func (s *Session) awaitTransport(x *exchange) bool {
	switch s.remote.transport.Load() {
	case streamable:
		return true
	case httpSSE:
		return s.openHTTPSSE(x)
	}
	s.mu.Lock()
	first := !s.detection.begun
	s.detection.begun = true
	s.mu.Unlock()
	if first {
		return true // its own request is the probe
	}
	select {
	case <-s.detection.done:
		return s.remote.transport.Load() != httpSSE || s.openHTTPSSE(x)
	case <-x.ctx.Done():
		return false
	}
}

// found lets the waiting requests continue.
func (s *Session) found(res *http.Response) {
	if res.StatusCode < 300 {
		s.remote.transport.CompareAndSwap(untried, streamable)
		s.check.setKnown(false)
	}
	s.transportTried()
}

func (s *Session) transportTried() { s.detection.once.Do(func() { close(s.detection.done) }) }

// endpointTimeout limits the wait for the endpoint event of an HTTP+SSE server.
const endpointTimeout = 3 * time.Second

// answersElsewhere reports whether a server that rejected a POST uses the HTTP+SSE transport. If
// so, GET opens its stream, the first event there says where to post, and the message must be sent
// there.
func (x *exchange) answersElsewhere(res *http.Response) bool {
	switch res.StatusCode {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
	default:
		return false
	}
	if contentType(res) == "application/json" && res.StatusCode != http.StatusMethodNotAllowed {
		return false // it speaks JSON-RPC here, so the rejection is meant
	}
	if !x.s.openHTTPSSE(x) {
		return false
	}
	x.s.remote.transport.Store(httpSSE)
	return true
}

// openHTTPSSE opens the stream of the HTTP+SSE transport, once per connection, and learns where to
// post.
func (s *Session) openHTTPSSE(x *exchange) bool {
	s.standing.opening.Lock()
	defer s.standing.opening.Unlock()
	s.mu.Lock()
	open := s.standing.requested
	s.mu.Unlock()
	if open {
		return true
	}
	// If the server is known to use HTTP+SSE, the link ends when its stream cannot be opened:
	// nothing can be sent without it.
	failed := func(err error) bool {
		if s.remote.transport.Load() == httpSSE {
			s.fail(failure{err: err})
		}
		return false
	}
	res, err := s.get(s.ctx, "")
	if err != nil {
		reason, dead := unreachable(err)
		if !dead {
			reason = errors.New(errText(err))
		}
		return failed(reason)
	}
	events := newSSEReader(webBytes{s, res.Body}, standingBuffer, s.maxMessage)
	var e sseEvent
	if res.StatusCode == http.StatusOK && contentType(res) == "text/event-stream" {
		alarm := time.AfterFunc(endpointTimeout, func() { res.Body.Close() })
		for e, err = events.next(); err == nil && e.name != "endpoint"; e, err = events.next() {
		}
		alarm.Stop()
	}
	to, bad := url.Parse(string(e.data))
	if e.name != "endpoint" || bad != nil {
		s.noteRefusal(res, nil)
		res.Body.Close()
		if loss := s.remote.refusal(res, nil, time.Now()); loss.OfLogin() && s.remote.transport.Load() == httpSSE {
			s.Refuse(loss)
			return false
		}
		defer s.remote.transport.CompareAndSwap(httpSSE, untried) // its transport may have changed
		return failed(errors.New("the event stream did not open: " + s.remote.statusLine(res, nil)))
	}
	to = s.remote.address.Load().ResolveReference(to)
	if !launch.SameOrigin(s.remote.address.Load(), to) {
		res.Body.Close()
		return failed(errors.New("the message endpoint is on another host, " + redact.Quote(to.Host)))
	}
	to.User = s.remote.address.Load().User
	s.mu.Lock()
	s.standing.post, s.standing.requested = to, true
	s.mu.Unlock()
	s.streams.Go(func() { s.readHTTPSSE(res, events) })
	return true
}

// readHTTPSSE reads the one stream of the HTTP+SSE transport. The session ends with it.
func (s *Session) readHTTPSSE(res *http.Response, events *sseReader) {
	defer res.Body.Close()
	for {
		e, err := events.next()
		if err != nil {
			if s.ctx.Err() == nil {
				s.fail(failure{err: errors.New("the event stream was closed: " + errText(err)), gone: true})
			}
			return
		}
		if len(e.data) == 0 || e.name != "" && e.name != "message" {
			continue
		}
		if m, _, err := wire.Scan(e.data); err == nil && m.Kind == wire.Response && m.Result != nil && s.initializing(m.ID) {
			s.initialized(http.Header{}, m.Result)
		}
		if _, ok := s.deliverAll(e.data, nil, 0); !ok {
			s.deliverStray(e.data)
		}
	}
}

// initializing reports whether id is the id of the initialize request.
func (s *Session) initializing(id []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.live {
		if x.method == "initialize" && wire.SameID(x.id, id) {
			return true
		}
	}
	return false
}

// park leaves an exchange open whose response comes on the standing stream. It reports whether the
// response has come or may still come.
func (s *Session) park(x *exchange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The response may arrive before the confirmation that the request was accepted.
	x.parked = s.live[x.end] != nil && !x.answered && !s.closed && x.ctx.Err() == nil
	if s.remote.transport.Load() == streamable && (!s.standing.open || x.cuts != s.standing.cuts) {
		x.heard() // the response may have been lost in a gap
	}
	return x.parked || x.answered
}
