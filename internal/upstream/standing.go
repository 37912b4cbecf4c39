package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// standTimeout limits how long the messages after notifications/initialized wait for the standing
// stream. What a server sends before that stream is open is lost.
const standTimeout = time.Second

// openStanding opens the stream on which a legacy server sends what belongs to no request, once per
// connection, and waits until it is open. Not every server has one.
func (w *web) openStanding(ctx context.Context) {
	noteStreamOpen := make(chan struct{})
	w.mu.Lock()
	if w.standing || w.closed || w.remote.transport.Load() == httpSSE {
		w.mu.Unlock()
		return
	}
	w.standing = true
	w.streams.Go(func() { w.listen(sync.OnceFunc(func() { close(noteStreamOpen) })) })
	w.mu.Unlock()
	timer := time.NewTimer(standTimeout)
	defer timer.Stop()
	select {
	case <-noteStreamOpen:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// minStreamLife is how long a stream must stay open to count as accepted.
const minStreamLife = 5 * time.Second

// listen keeps the standing stream open. It calls answered when it is known whether the server has
// one.
func (w *web) listen(answered func()) {
	defer answered()
	t := &position{}
	opened := false
	for {
		asked := time.Now()
		res, err := w.get(w.streamCtx, t.last)
		answered()
		switch {
		case w.streamCtx.Err() != nil:
			return
		case err != nil:
			if reason, dead := unreachable(err); dead {
				w.fail(failure{err: reason})
				return
			}
		case res.StatusCode == http.StatusOK && contentType(res) == "text/event-stream":
			if opened && t.last == "" {
				w.gap()
			}
			opened = true
			w.noteStreamOpen()
			w.readStanding(res, t)
			if w.streamCtx.Err() == nil {
				w.streamCut(func(x *exchange) bool { return t.last == "" && !x.once })
			}
		default:
			body, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
			res.Body.Close()
			// Servers without a standing stream say so in many ways. The next request shows whether
			// the session is gone.
			if refused, _ := refusesSession(res.StatusCode, body); refused && opened && w.hasSession() && w.sessionForgotten(w.streamCtx) {
				w.fail(failure{err: errors.New(w.remote.statusLine(res, body)), gone: true})
				return
			}
			if _, needed := res.Body.(*unauthorizedBody); res.StatusCode == http.StatusUnauthorized && w.remote.logins.LoggedIn() && (needed || opened) {
				// The stream is opened again with the next login. A server that rejects a renewed one
				// for the stream alone has none.
				if !w.remote.logins.await(w.streamCtx) {
					return
				}
				break
			}
			if res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusConflict {
				w.noStream()
				return
			}
		}
		if t.events > 0 || time.Since(asked) > minStreamLife {
			t.events, t.wait = 0, backoff{}
		}
		if !t.wait.pause(w.streamCtx, t.retry) {
			return
		}
	}
}

func (w *web) noteStreamOpen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streamOpened, w.streamOpen = true, true
}

// streamCut decides about the requests whose responses were to come on the standing stream, which has
// ended. Those for which lost returns true are lost. The responses to others may come on the next
// stream; since when they are overdue is noted.
func (w *web) streamCut(lost func(*exchange) bool) {
	w.mu.Lock()
	w.streamOpen = false
	w.cuts++
	var gone []*exchange
	for end, x := range w.live {
		switch {
		case !x.parked:
		case lost(x):
			delete(w.live, end)
			gone = append(gone, x)
		case x.quiet.Load() == nil:
			x.heard()
		}
	}
	w.moved.Broadcast()
	w.mu.Unlock()
	for _, x := range gone {
		w.lose(x.id, Loss{Delivery: fault.Unknown, Code: fault.OutcomeUnknown, Detail: errNoStream.Error()})
	}
}

// noStream notes that the server has no standing stream, or no longer.
func (w *web) noStream() {
	w.mu.Lock()
	w.streamOpened = false
	w.mu.Unlock()
	w.streamCut(func(*exchange) bool { return true })
}

// standingCuts returns how often the standing stream was cut, and -1 while it is not open.
func (w *web) standingCuts() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.streamOpen {
		return -1
	}
	return w.cuts
}

func (w *web) gap() {
	w.readerMu.Lock()
	defer w.readerMu.Unlock()
	w.reader.Gap(w.Conn)
	w.reader.Rest(w.Conn)
}

// readStanding reads the standing stream to its end.
func (w *web) readStanding(res *http.Response, t *position) error {
	defer res.Body.Close()
	defer t.cut()
	events := newSSEReader(webBytes{w, res.Body}, standingBuffer, w.maxMessage)
	for {
		e, err := events.next()
		if err != nil {
			return err
		}
		if !t.accept(e) || len(e.data) == 0 {
			continue
		}
		if _, ok := w.deliverAll(e.data, nil, 0); !ok {
			w.deliverStray(e.data)
		}
	}
}

// awaitTransport waits until the transport of the server is known; the first request detects it. It
// returns false if the link ended before that.
func (w *web) awaitTransport(x *exchange) bool {
	switch w.remote.transport.Load() {
	case streamable:
		return true
	case httpSSE:
		return w.openHTTPSSE(x)
	}
	w.mu.Lock()
	first := !w.trying
	w.trying = true
	w.mu.Unlock()
	if first {
		return true // its own request is the probe
	}
	select {
	case <-w.tried:
		return w.remote.transport.Load() != httpSSE || w.openHTTPSSE(x)
	case <-x.ctx.Done():
		return false
	}
}

// found lets the waiting requests continue.
func (w *web) found(res *http.Response) {
	if res.StatusCode < 300 {
		w.remote.transport.CompareAndSwap(untried, streamable)
		w.setKnown(false)
	}
	w.transportTried()
}

func (w *web) transportTried() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.tried:
	default:
		close(w.tried)
	}
}

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
		return false // it noteMessage JSON-RPC here, so the rejection is meant
	}
	if !x.w.openHTTPSSE(x) {
		return false
	}
	x.w.remote.transport.Store(httpSSE)
	return true
}

// openHTTPSSE opens the stream of the HTTP+SSE transport, once per connection, and learns where to
// post.
func (w *web) openHTTPSSE(x *exchange) bool {
	w.opening.Lock()
	defer w.opening.Unlock()
	w.mu.Lock()
	open := w.standing
	w.mu.Unlock()
	if open {
		return true
	}
	// If the server is known to use HTTP+SSE, the link ends when its stream cannot be opened:
	// nothing can be sent without it.
	failed := func(err error) bool {
		if w.remote.transport.Load() == httpSSE {
			w.fail(failure{err: err})
		}
		return false
	}
	res, err := w.get(w.ctx, "")
	if err != nil {
		reason, dead := unreachable(err)
		if !dead {
			reason = errors.New(errText(err))
		}
		return failed(reason)
	}
	events := newSSEReader(webBytes{w, res.Body}, standingBuffer, w.maxMessage)
	var e sseEvent
	if res.StatusCode == http.StatusOK && contentType(res) == "text/event-stream" {
		alarm := time.AfterFunc(endpointTimeout, func() { res.Body.Close() })
		for e, err = events.next(); err == nil && e.name != "endpoint"; e, err = events.next() {
		}
		alarm.Stop()
	}
	to, bad := url.Parse(string(e.data))
	if e.name != "endpoint" || bad != nil {
		w.noteRefusal(res, nil)
		res.Body.Close()
		if loss := w.remote.refusal(res, nil, time.Now()); loss.OfLogin() && w.remote.transport.Load() == httpSSE {
			w.refuse(loss)
			return false
		}
		defer w.remote.transport.CompareAndSwap(httpSSE, untried) // its transport may have changed
		return failed(errors.New("the event stream did not open: " + w.remote.statusLine(res, nil)))
	}
	to = w.remote.address.Load().ResolveReference(to)
	if !sameOrigin(w.remote.address.Load(), to) {
		res.Body.Close()
		return failed(errors.New("the message endpoint is on a different host, " + redact.Quote(to.Host)))
	}
	to.User = w.remote.address.Load().User
	w.mu.Lock()
	w.post, w.standing = to, true
	w.mu.Unlock()
	w.streams.Go(func() { w.readHTTPSSE(res, events) })
	return true
}

// readHTTPSSE reads the one stream of the HTTP+SSE transport. The session ends with it.
func (w *web) readHTTPSSE(res *http.Response, events *sseReader) {
	defer res.Body.Close()
	for {
		e, err := events.next()
		if err != nil {
			if w.ctx.Err() == nil {
				w.fail(failure{err: errors.New("the event stream ended: " + errText(err)), gone: true})
			}
			return
		}
		if len(e.data) == 0 || e.name != "" && e.name != "message" {
			continue
		}
		if m, _, err := wire.Scan(e.data); err == nil && m.Kind == wire.Response && m.Result != nil && w.initializing(m.ID) {
			w.initialized(http.Header{}, m.Result)
		}
		if _, ok := w.deliverAll(e.data, nil, 0); !ok {
			w.deliverStray(e.data)
		}
	}
}

// initializing reports whether id is the id of the initialize request.
func (w *web) initializing(id []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.live {
		if x.method == "initialize" && wire.SameID(x.id, id) {
			return true
		}
	}
	return false
}

// park leaves an exchange open whose response comes on the standing stream. It reports whether the
// response has come or may still come.
func (w *web) park(x *exchange) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	// The response may arrive before the confirmation that the request was accepted.
	x.parked = w.live[x.end] != nil && !x.answered && !w.closed && x.ctx.Err() == nil
	if w.remote.transport.Load() == streamable && (!w.streamOpen || x.cuts != w.cuts) {
		x.heard() // the response may have been lost in a gap
	}
	return x.parked || x.answered
}

// setKnown records whether a ping has shown, since the last request that succeeded, that the
// session is known. It returns the previous value.
func (w *web) setKnown(known bool) (before bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, w.known = w.known, known
	return before
}
