package web

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Session is the link to a server at a URL. Each message is an HTTP exchange of its own (exchange.go);
// the server's session connects them. The link ends when the session is gone or the server cannot
// be reached.
type Session struct {
	rec          *life.Record
	remote       *Remote
	ctx          context.Context // the parent of the context of every exchange
	cancel       context.CancelFunc
	streamCtx    context.Context // the context of the standing stream
	cancelStream context.CancelFunc
	running      sync.WaitGroup // the exchanges
	streams      sync.WaitGroup // the streams that belong to no exchange
	readerMu     sync.Mutex     // held while a message is passed to the reader
	check        confirmer
	maxMessage   int // bytes of the longest message that is read

	mu         sync.Mutex
	moved      sync.Cond
	last       int64
	queued     []*exchange
	live       map[int64]*exchange
	accepted   chan struct{} // closed when the last notification so far was accepted
	closed     bool
	over       chan struct{}            // closed when no exchange is running any more
	late       map[int64]bool           // requests that continue after the end of the link
	deliveries map[int64]fault.Delivery // how far the messages got that were in flight at the end
	session    string                   // the Mcp-Session-Id of a legacy server
	header     http.Header              // identifies the session and its protocol version
	detection  detection
	standing   standing
	refusals   []life.Response // the last responses that were not a success

	failing sync.Once
	failed  chan struct{}
	failure failure // valid once failed is closed
}

// failure is why the link can no longer be used.
type failure struct {
	err     error
	gone    bool       // the server is reachable but no longer knows the session
	refused *life.Loss // the server is reachable but rejects every request
}

// errEnded is the error of messages on a link that has ended.
var errEnded = os.ErrClosed

// Dial prepares a connection. It sends nothing. Serve must follow.
func Dial(remote *Remote, record *life.Record, confirm Confirm, maxMessage int) *Session {
	s := &Session{
		rec: record, remote: remote, maxMessage: maxMessage, live: map[int64]*exchange{}, deliveries: map[int64]fault.Delivery{},
		detection: detection{done: make(chan struct{})}, failed: make(chan struct{}), over: make(chan struct{}), accepted: make(chan struct{}),
	}
	s.check = confirmer{s: s, Confirm: Confirm{cmp.Or(confirm.After, defaultConfirmAfter), cmp.Or(confirm.Timeout, defaultConfirmTimeout)}}
	close(s.accepted)
	s.moved.L = &s.mu
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.streamCtx, s.cancelStream = context.WithCancel(s.ctx)
	return s
}

// Logins returns the login of the connection, or nil if it has none.
func (s *Session) Logins() *Logins { return s.remote.logins }

// Answered records that a client's request was answered.
func (s *Session) Answered() { s.remote.served.Store(true) }

// endSessionTimeout limits the request that ends the session, and hurriedEndTimeout limits it after
// Hurry.
const (
	endSessionTimeout = 2 * time.Second
	hurriedEndTimeout = 500 * time.Millisecond
)

// Serve waits for the end of the link.
func (s *Session) Serve() {
	select {
	case <-s.failed:
	case <-s.rec.Broken():
	}
	ended := time.Now()
	s.cancelStream()
	select {
	case <-s.rec.Broken(): // ended by gauze: no response is needed
		s.cancel()
	default:
	}
	s.mu.Lock()
	s.closed = true
	s.release()
	for !s.drained() {
		s.moved.Wait()
	}
	s.mu.Unlock()
	s.streams.Wait()
	s.mu.Lock()
	for _, x := range s.queued {
		s.deliveries[x.end] = fault.Unsent
	}
	for end, x := range s.live { // those that wait for a response on the standing stream
		if !s.late[end] {
			s.deliveries[end] = x.delivered()
		}
	}
	session := s.session
	s.moved.Broadcast()
	s.mu.Unlock()

	e := s.rec.Conclude(ended)
	e.Remote, e.HTTP = true, s.refusals
	select {
	case <-s.failed:
		e.Spawn, e.Gone, e.Refused = s.failure.err, s.failure.gone, s.failure.refused
	default:
		if e.ByUs == life.ClientLeft || e.ByUs == life.UserRestart || e.ByUs == life.NotNeeded {
			s.leave(session)
		} else {
			s.remote.Close() // the connections may be dead, and not the server
		}
	}
	s.rec.Finish(e)
}

// release decides about the exchanges in flight when the link has failed. Requests that were sent
// continue: a server that shuts down gracefully, or that was replaced and no longer knows the
// session, still answers what it has. With HTTP+SSE only the response to the POST can still come,
// which shows whether the request was accepted. All other exchanges are canceled.
func (s *Session) release() {
	s.late = map[int64]bool{}
	for end, x := range s.live {
		switch {
		case x.method == "subscriptions/listen":
			x.cancel(errDropped) // it never ends by itself
		case x.kind == wire.Request && !x.parked && s.ctx.Err() == nil && !x.holdBack():
			s.late[end] = true
			if s.remote.transport.Load() == httpSSE {
				time.AfterFunc(postGrace, func() { x.cancel(errNoStream) })
			}
		default:
			x.cancel(errEnded)
		}
	}
	go func() {
		s.running.Wait()
		s.cancel()
		close(s.over)
	}()
}

// postGrace is how long a POST of the HTTP+SSE transport continues after the loss of the stream for
// its response.
const postGrace = time.Second

var errNoStream = errors.New("the response stream was interrupted")

// drained reports whether only those exchanges are left that continue after the end of the
// link, or that wait for a stream that has ended.
func (s *Session) drained() bool {
	for end, x := range s.live {
		if !s.late[end] && !x.parked {
			return false
		}
	}
	return true
}

// Lingers reports, once the connection is done, whether a request continues.
func (s *Session) Lingers(end int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late[end]
}

// QuietSince returns since when nothing was heard on the stream that was resumed after the response
// to this message was cut off; zero if none was.
func (s *Session) QuietSince(end int64) (since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.live[end]; x != nil && x.quiet.Load() != nil {
		since = *x.quiet.Load()
	}
	return since
}

// Unheard reports whether the server has not begun to respond to this message.
func (s *Session) Unheard(end int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.live[end]
	return x != nil && !x.parked && !x.reading
}

// Dismiss ends the requests that continue after the end of the connection.
func (s *Session) Dismiss() { s.cancel() }

// Gone is closed when no request continues.
func (s *Session) Gone() <-chan struct{} { return s.over }

// leave ends the server's session, as the specification asks of clients.
func (s *Session) leave(session string) {
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endSessionTimeout)
	defer cancel()
	go func() {
		select {
		case <-s.rec.Hurried():
			if !pause.For(ctx, hurriedEndTimeout) {
				return
			}
			cancel()
		case <-ctx.Done():
		}
	}()
	req := s.remote.request(ctx, http.MethodDelete, s.remote.to())
	s.annotate(req.Header)
	if res, err := s.remote.do(req, s.remote.send); err == nil {
		res.Body.Close()
	}
}

// fail ends the link. Only the first reason counts.
func (s *Session) fail(f failure) {
	s.failing.Do(func() {
		s.failure = f
		close(s.failed)
	})
}

func (s *Session) hasFailed() bool {
	select {
	case <-s.failed:
		return true
	default:
		return false
	}
}

// Refuse ends the link because of a request that failed permanently before the server was of any
// use.
func (s *Session) Refuse(l life.Loss) { s.fail(failure{err: errors.New(l.Detail), refused: &l}) }

// readAndClose reads at most limit bytes of a body and closes it.
func readAndClose(res *http.Response, limit int64) []byte {
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, limit))
	return body
}

// readHead reads the first bytes of a body that is not needed, such as an error page.
func readHead(res *http.Response) []byte {
	alarm := time.AfterFunc(bodyTimeout, func() { res.Body.Close() })
	defer alarm.Stop()
	body, _ := io.ReadAll(io.LimitReader(res.Body, life.MaxTextBytes))
	return body
}

// maxRefusals is how many of the last failed responses are kept.
const maxRefusals = 8

// noteRefusal keeps a response that is not a success.
func (s *Session) noteRefusal(res *http.Response, body []byte) {
	seen := responseOf(res, s.remote.secrets.get())
	seen.Body = []byte(s.remote.secrets.Redact(string(body[:min(len(body), life.MaxTextBytes)])))
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refusals) == maxRefusals {
		s.refusals = s.refusals[1:]
	}
	s.refusals = append(s.refusals, seen)
}

// maxExchanges in flight delay the client for at most exchangesWait. That smooths a burst; more is
// not rejected, because the server may accept it.
const (
	maxExchanges  = 512
	exchangesWait = time.Second
)

// Put queues one message, given in parts. end identifies it for Delivery.
func (s *Session) Put(how Sending, parts [][]byte) (end int64, err error) {
	body := slices.Concat(parts...)
	m, _, err := wire.Scan(body)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errEnded
	}
	s.last++
	x := newExchange(s, s.last, m, how)
	x.after = s.accepted
	if m.Kind != wire.Request && m.Method != "notifications/cancelled" || m.Method == "initialize" {
		// Later messages depend on it, or need the session that its response names, so none may
		// overtake it.
		s.accepted = x.settled
	}
	s.queued = append(s.queued, x)
	return x.end, nil
}

// Flush sends what is queued.
func (s *Session) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for _, x := range s.queued {
		s.live[x.end] = x
		s.running.Go(x.run)
	}
	clear(s.queued)
	s.queued = s.queued[:0]
}

// close removes an exchange. If the reader does not know the outcome, how far the message got is
// kept, always for a request, and for a notification if it did not arrive; it is reported if the
// link ended before, because it will not be asked for any more.
func (s *Session) close(x *exchange, reported bool) {
	s.mu.Lock()
	late := s.late[x.end] // no longer changes once the exchange is removed
	delete(s.live, x.end)
	if fate := x.delivered(); !reported && (x.kind == wire.Request || fate == fault.Unsent) {
		s.deliveries[x.end] = fate
	}
	s.moved.Broadcast()
	s.mu.Unlock()
	if !reported && late && (x.ctx.Err() == nil || errors.Is(context.Cause(x.ctx), errNoStream)) {
		s.lose(x.id, life.Loss{Delivery: x.delivered(), Code: fault.OutcomeUnknown, Detail: "the connection was closed"})
	}
}

// Await blocks while too much is in flight.
func (s *Session) Await() {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := false
	alarm := time.AfterFunc(exchangesWait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.moved.Broadcast()
	})
	defer alarm.Stop()
	for len(s.live) >= maxExchanges && !s.closed && !late {
		s.moved.Wait()
	}
}

// Drop cancels a request whose response is no longer needed.
func (s *Session) Drop(end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.live[end]; x != nil {
		x.cancel(errDropped)
		if x.parked {
			delete(s.live, end)
		}
	}
	s.queued = slices.DeleteFunc(s.queued, func(x *exchange) bool {
		if x.end != end {
			return false
		}
		x.cancel(errDropped)
		x.settle()
		return true
	})
}

// postTo returns where messages go.
func (s *Session) postTo() *url.URL {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standing.post != nil {
		return s.standing.post
	}
	return s.remote.to()
}

var errDropped = errors.New("the response is no longer needed")

// Delivery returns, once the connection is done, how far a message got.
func (s *Session) Delivery(end int64) fault.Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fate, known := s.deliveries[end]; known {
		return fate
	}
	if end > s.last {
		return fault.Unsent // it was never queued
	}
	return fault.Unknown
}

// annotate sets the headers that identify the session.
func (s *Session) annotate(h http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(h, s.header)
}

// initialized records what the response to initialize settled.
func (s *Session) initialized(h http.Header, result []byte) {
	raw, _ := wire.Field(result, "protocolVersion")
	version, _ := wire.Text(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := h.Get("Mcp-Session-Id"); id != "" {
		s.session = id
	}
	s.header = http.Header{}
	if s.session != "" {
		s.header.Set("Mcp-Session-Id", s.session)
	}
	if version != "" {
		s.header.Set("Mcp-Protocol-Version", version)
	}
}
