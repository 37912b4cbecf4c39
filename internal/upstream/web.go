package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// web is the link to a server at a URL. Each message is an HTTP exchange of its own (exchange.go);
// the server's session connects them. The link ends when the session is gone or the server cannot
// be reached.
type web struct {
	*Conn
	remote       *Remote
	ctx          context.Context // the parent of the context of every exchange
	cancel       context.CancelFunc
	streamCtx    context.Context // the context of the standing stream
	cancelStream context.CancelFunc
	running      sync.WaitGroup // the exchanges
	streams      sync.WaitGroup // the streams that belong to no exchange
	readerMu     sync.Mutex     // held while a message is passed to the reader
	opening      sync.Mutex     // held while the HTTP+SSE stream is opened
	checking     sync.Mutex     // held while the session is checked
	looked       time.Time      // when a check last ended that let messages pass; guarded by checking
	confirmAfter time.Duration  // how long a proof holds, see isProven
	maxMessage   int            // bytes of the longest message that is read

	mu           sync.Mutex
	moved        sync.Cond
	last         int64
	queued       []*exchange
	live         map[int64]*exchange
	accepted     chan struct{} // closed when the last notification so far was accepted
	closed       bool
	over         chan struct{}            // closed when no exchange is running any more
	late         map[int64]bool           // requests that continue after the end of the link
	deliveries   map[int64]fault.Delivery // how far the messages got that were in flight at the end
	session      string                   // the Mcp-Session-Id of a legacy server
	version      string                   // the protocol version in the response to initialize
	post         *url.URL                 // the endpoint of the HTTP+SSE transport; nil to post to the address itself
	trying       bool                     // a request is detecting the transport
	tried        chan struct{}            // closed once the transport is known
	standing     bool                     // the standing stream was requested
	streamOpened bool                     // the standing stream was open at least once, and was not refused since
	streamOpen   bool                     // the standing stream is open
	cuts         int                      // how often it was cut
	refusals     []Response               // the last responses that were not a success
	known        bool                     // see setKnown
	proof        proof                    // see isProven

	failing sync.Once
	failed  chan struct{}
	failure failure // valid once failed is closed
}

// failure is why the link can no longer be used.
type failure struct {
	err     error
	gone    bool  // the server is reachable but no longer knows the session
	refused *Loss // the server is reachable but rejects every request
}

// errEnded is the error of messages on a link that has ended.
var errEnded = os.ErrClosed

// dial prepares a connection. It sends nothing.
func dial(remote *Remote, generation int, reader Reader, logs io.Writer, confirmAfter time.Duration, maxMessage int) *Conn {
	c := newConn(generation, time.Now(), reader, logs)
	w := &web{
		Conn: c, remote: remote, confirmAfter: confirmAfter, maxMessage: maxMessage, live: map[int64]*exchange{}, deliveries: map[int64]fault.Delivery{},
		tried: make(chan struct{}), failed: make(chan struct{}), over: make(chan struct{}),
	}
	w.accepted = make(chan struct{})
	close(w.accepted)
	w.moved.L = &w.mu
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.streamCtx, w.cancelStream = context.WithCancel(w.ctx)
	c.link = w
	go w.serve()
	return c
}

// endSessionTimeout limits the request that ends the session, and hurriedEndTimeout limits it after
// Hurry.
const (
	endSessionTimeout = 2 * time.Second
	hurriedEndTimeout = 500 * time.Millisecond
)

// serve waits for the end of the link.
func (w *web) serve() {
	select {
	case <-w.failed:
	case <-w.broken:
	}
	w.ended = time.Now()
	w.cancelStream()
	select {
	case <-w.broken: // ended by gauze: no response is needed
		w.cancel()
	default:
	}
	w.mu.Lock()
	w.closed = true
	w.release()
	for !w.drained() {
		w.moved.Wait()
	}
	w.mu.Unlock()
	w.streams.Wait()
	w.mu.Lock()
	for _, x := range w.queued {
		w.deliveries[x.end] = fault.Unsent
	}
	for end, x := range w.live { // those that wait for a response on the standing stream
		if !w.late[end] {
			w.deliveries[end] = x.delivered()
		}
	}
	session := w.session
	w.moved.Broadcast()
	w.mu.Unlock()

	w.evidence = Evidence{Stage: Started, Remote: true, Used: w.used.Load(), Ran: w.ended.Sub(w.Started), Stray: w.strays.lines}
	select {
	case <-w.broken:
		w.evidence.ByUs = w.reason
	default:
	}
	if first := time.Duration(w.firstMessage.Load()); first > 0 {
		w.evidence.Stage, w.evidence.Served = Spoke, w.evidence.Ran-first
	}
	w.evidence.HTTP = w.refusals
	select {
	case <-w.failed:
		w.evidence.Spawn, w.evidence.Gone, w.evidence.Refused = w.failure.err, w.failure.gone, w.failure.refused
	default:
		if w.evidence.ByUs == ClientLeft || w.evidence.ByUs == UserRestart {
			w.leave(session)
		} else {
			w.remote.Close() // the connections may be dead, and not the server
		}
	}
	close(w.done)
}

// release decides about the exchanges in flight when the link has failed. Requests that were sent
// continue: a server that shuts down gracefully, or that was replaced and no longer knows the
// session, still answers what it has. With HTTP+SSE only the response to the POST can still come,
// which shows whether the request was accepted. All other exchanges are canceled.
func (w *web) release() {
	w.late = map[int64]bool{}
	for end, x := range w.live {
		switch {
		case x.method == "subscriptions/listen":
			x.cancel(errDropped) // it never ends by itself
		case x.kind == wire.Request && !x.parked && w.ctx.Err() == nil && !x.holdBack():
			w.late[end] = true
			if w.remote.transport.Load() == httpSSE {
				time.AfterFunc(postGrace, func() { x.cancel(errNoStream) })
			}
		default:
			x.cancel(errEnded)
		}
	}
	go func() {
		w.running.Wait()
		w.cancel()
		close(w.over)
	}()
}

// postGrace is how long a POST of the HTTP+SSE transport continues after the loss of the stream for
// its response.
const postGrace = time.Second

var errNoStream = errors.New("the stream of the response was interrupted")

// drained reports whether only those exchanges are left that continue after the end of the
// link, or that wait for a stream that has ended.
func (w *web) drained() bool {
	for end, x := range w.live {
		if !w.late[end] && !x.parked {
			return false
		}
	}
	return true
}

func (w *web) lingers(end int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.late[end]
}

func (w *web) quietSince(end int64) (since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.live[end]; x != nil && x.quiet.Load() != nil {
		since = *x.quiet.Load()
	}
	return since
}

func (w *web) dismiss()              { w.cancel() }
func (w *web) gone() <-chan struct{} { return w.over }

// leave ends the server's session, as the specification asks of clients.
func (w *web) leave(session string) {
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endSessionTimeout)
	defer cancel()
	go func() {
		select {
		case <-w.hurry:
			if !pause(ctx, hurriedEndTimeout) {
				return
			}
			cancel()
		case <-ctx.Done():
		}
	}()
	req := w.remote.request(ctx, http.MethodDelete, w.remote.to())
	w.annotate(req.Header)
	if res, err := w.remote.do(req, w.remote.client.Do); err == nil {
		res.Body.Close()
	}
}

// fail ends the link. Only the first reason counts.
func (w *web) fail(f failure) {
	w.failing.Do(func() {
		w.failure = f
		close(w.failed)
	})
}

func (w *web) hasFailed() bool {
	select {
	case <-w.failed:
		return true
	default:
		return false
	}
}

// refuse ends the link because of a request that failed permanently before the server was of any
// use.
func (w *web) refuse(l Loss) { w.fail(failure{err: errors.New(l.Detail), refused: &l}) }

// readHead reads the first bytes of a body that is not needed, such as an error page.
func readHead(res *http.Response) []byte {
	alarm := time.AfterFunc(bodyTimeout, func() { res.Body.Close() })
	defer alarm.Stop()
	body, _ := io.ReadAll(io.LimitReader(res.Body, MaxTextBytes))
	return body
}

// maxRefusals is how many of the last failed responses are kept.
const maxRefusals = 8

// noteRefusal keeps a response that is not a success.
func (w *web) noteRefusal(res *http.Response, body []byte) {
	seen := responseOf(res, w.remote.secrets.get())
	seen.Body = []byte(w.remote.secrets.Redact(string(body[:min(len(body), MaxTextBytes)])))
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refusals) == maxRefusals {
		w.refusals = w.refusals[1:]
	}
	w.refusals = append(w.refusals, seen)
}

// maxExchanges in flight delay the client for at most exchangesWait. That smooths a burst; more is
// not rejected, because the server may accept it.
const (
	maxExchanges  = 512
	exchangesWait = time.Second
)

func (w *web) put(how Sending, parts [][]byte) (end int64, err error) {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	body := make([]byte, 0, size)
	for _, part := range parts {
		body = append(body, part...)
	}
	m, _, err := wire.Scan(body)
	if err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, errEnded
	}
	w.last++
	x := newExchange(w, w.last, m, how)
	x.after = w.accepted
	if m.Kind != wire.Request && m.Method != "notifications/cancelled" || m.Method == "initialize" {
		// Later messages depend on it, or need the session that its response names, so none may
		// overtake it.
		w.accepted = x.settled
	}
	w.queued = append(w.queued, x)
	return x.end, nil
}

func (w *web) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	for _, x := range w.queued {
		w.live[x.end] = x
		w.running.Go(x.run)
	}
	clear(w.queued)
	w.queued = w.queued[:0]
}

// close removes an exchange. If the reader does not know the outcome, how far the message got is
// kept, always for a request, and for a notification if it did not arrive; it is reported if the
// link ended before, because it will not be asked for any more.
func (w *web) close(x *exchange, reported bool) {
	w.mu.Lock()
	late := w.late[x.end] // no longer changes once the exchange is removed
	delete(w.live, x.end)
	if fate := x.delivered(); !reported && (x.kind == wire.Request || fate == fault.Unsent) {
		w.deliveries[x.end] = fate
	}
	w.moved.Broadcast()
	w.mu.Unlock()
	if !reported && late && (x.ctx.Err() == nil || errors.Is(context.Cause(x.ctx), errNoStream)) {
		w.lose(x.id, Loss{Delivery: x.delivered(), Code: fault.OutcomeUnknown, Detail: "the connection ended"})
	}
}

func (w *web) await() {
	w.mu.Lock()
	defer w.mu.Unlock()
	late := false
	alarm := time.AfterFunc(exchangesWait, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		late = true
		w.moved.Broadcast()
	})
	defer alarm.Stop()
	for len(w.live) >= maxExchanges && !w.closed && !late {
		w.moved.Wait()
	}
}

func (w *web) blocked() bool  { return false }
func (w *web) starting() bool { return false }
func (w *web) vitals() Vitals { return Vitals{} }
func (w *web) pid() int       { return 0 }

func (w *web) drop(end int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.live[end]; x != nil {
		x.cancel(errDropped)
		if x.parked {
			delete(w.live, end)
		}
	}
	w.queued = slices.DeleteFunc(w.queued, func(x *exchange) bool {
		if x.end != end {
			return false
		}
		x.cancel(errDropped)
		x.settle()
		return true
	})
}

// postTo returns where messages go.
func (w *web) postTo() *url.URL {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.post != nil {
		return w.post
	}
	return w.remote.to()
}

var errDropped = errors.New("the response is no longer needed")

func (w *web) delivery(end int64) fault.Delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	if fate, known := w.deliveries[end]; known {
		return fate
	}
	if end > w.last {
		return fault.Unsent // it was never queued
	}
	return fault.Unknown
}

// annotate sets the headers that identify the session.
func (w *web) annotate(h http.Header) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session != "" {
		h.Set("Mcp-Session-Id", w.session)
	}
	if w.version != "" {
		h.Set("Mcp-Protocol-Version", w.version)
	}
}

// initialized records what the response to initialize settled.
func (w *web) initialized(h http.Header, result []byte) {
	raw, _ := wire.Field(result, "protocolVersion")
	version, _ := wire.Text(raw)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version = version
	if id := h.Get("Mcp-Session-Id"); id != "" {
		w.session = id
	}
}
