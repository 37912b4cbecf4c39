package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// exchange is one message sent to a server at a URL, and the response if the message is a request.
// It measures how far the message got; no other file decides what was sent over HTTP.
type exchange struct {
	w       *web
	end     int64
	kind    wire.Kind
	id      []byte // the raw id of a request
	method  string
	body    []byte
	once    bool            // see Sending
	sure    bool            // the session was confirmed for this message
	cuts    int             // of the standing stream when the message was last sent, see standingCuts
	header  http.Header     // the headers that repeat parts of the body
	after   <-chan struct{} // closed when the messages that must arrive first have arrived
	settled chan struct{}   // closed once the message was accepted or never will be
	ctx     context.Context
	cancel  context.CancelCauseFunc
	// Guarded by web.mu.
	parked   bool // sent; the response comes on the standing stream
	reading  bool // the response comes on its own stream
	answered bool // the response came on a different stream

	try   atomic.Pointer[try]       // the latest one; nil before the first
	sent  atomic.Bool               // an earlier try may have reached the server
	quiet atomic.Pointer[time.Time] // since when nothing was heard of the response, because its stream was cut and resumed; nil: it was not
}

// try measures one HTTP request for the message. There can be several, after a redirect or while
// detecting the transport, and net/http may report on an old one late, so each has its own record.
type try struct {
	body []byte

	mu          sync.Mutex
	given       bool // the transport has read the last byte of the body
	writeFailed bool // the transport read it but could not write it
	sealed      bool // the transport may read no more
	unproven    bool // it was held back: its connection is a new one, and the session was not confirmed since
	conn        *watchedConn
}

func newExchange(w *web, end int64, m wire.Message, how Sending) *exchange {
	x := &exchange{w: w, end: end, once: how.Once, kind: m.Kind, method: m.Method, body: m.Raw, header: http.Header{}, settled: make(chan struct{})}
	if m.Kind == wire.Request {
		x.id = m.ID
	}
	x.ctx, x.cancel = context.WithCancelCause(w.ctx)
	x.mirror(&m)
	maps.Copy(x.header, how.Header)
	return x
}

// mirror sets the headers that protocol version 2026-07-28 requires to repeat parts of the body.
func (x *exchange) mirror(m *wire.Message) {
	meta, _ := wire.Field(m.Params, "_meta")
	raw, _ := wire.Field(meta, "io.modelcontextprotocol/protocolVersion")
	version, ok := wire.Text(raw)
	if !ok || m.Method == "" {
		return
	}
	x.header.Set("Mcp-Protocol-Version", wire.EncodeHeader(version))
	x.header.Set("Mcp-Method", wire.EncodeHeader(m.Method))
	if name, mirrored := wire.MirroredName(m.Method, m.Params); mirrored {
		x.header.Set("Mcp-Name", wire.EncodeHeader(name))
	}
}

// modern reports whether the message carries its own protocol version.
func (x *exchange) modern() bool { return x.header.Get("Mcp-Method") != "" }

// delivered returns how far the message got. It is Unsent only if the last byte, the closing brace,
// was never handed over: a JSON reader cannot act on less.
func (x *exchange) delivered() fault.Delivery {
	if x.sent.Load() {
		return fault.Unknown
	}
	t := x.try.Load()
	if t == nil {
		return fault.Unsent
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.given, t.writeFailed:
		return fault.Unsent
	case t.conn != nil && t.conn.writeFailed.Load():
		return fault.Unsent // the last byte is in the last write, and a write failed
	}
	return fault.Unknown
}

// noticeTimeout limits the wait for a notification or response to be accepted.
const noticeTimeout = 15 * time.Second

// run sends the message and, for a request, waits for the response.
func (x *exchange) run() {
	reported := false
	defer func() {
		x.settle()
		if !x.isParked() {
			x.w.close(x, reported)
		}
		x.cancel(nil)
	}()
	select {
	case <-x.after:
	case <-x.ctx.Done():
		reported = x.dropped()
		return
	}
	if x.kind != wire.Request {
		x.notify()
		return
	}
	reported = x.ask()
}

func (x *exchange) settle() {
	select {
	case <-x.settled:
	default:
		close(x.settled)
	}
}

func (x *exchange) isParked() bool {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	return x.parked
}

// dropped reports whether the response is no longer needed.
func (x *exchange) dropped() bool { return errors.Is(context.Cause(x.ctx), errDropped) }

// notify sends a message that has no response. It is sent again if it did not arrive: receiving it
// twice is harmless.
func (x *exchange) notify() {
	var wait backoff
	for range 3 {
		ctx, cancel := context.WithTimeout(x.ctx, noticeTimeout)
		res, err := x.send(ctx)
		if err == nil {
			var body []byte
			if res.StatusCode >= 300 { // otherwise there is nothing to read, and some servers never end it
				body, _ = io.ReadAll(io.LimitReader(res.Body, 4<<10))
			}
			res.Body.Close()
			cancel()
			switch {
			case res.StatusCode < 300:
				if x.method == "notifications/initialized" {
					x.w.openStanding(x.ctx)
				}
				return
			case x.looksForgotten(res, body) && x.w.sessionForgotten(x.ctx):
				x.w.fail(failure{err: errors.New(x.w.remote.statusLine(res, body)), gone: true})
				return
			case x.looksForgotten(res, body):
				// One of several replicas does not know the session; the next may.
			case res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests:
				x.w.deliverStray([]byte("(" + x.method + " was rejected: " + x.w.remote.statusLine(res, body) + ")"))
				return
			}
		} else {
			cancel()
			if reason, dead := unreachable(err); dead {
				x.w.fail(failure{err: reason})
				return
			}
		}
		if !wait.pause(x.ctx, 0) {
			return
		}
	}
}

// namesSession reports whether the request named a session, in a header or in the address that the
// HTTP+SSE transport assigns.
func (x *exchange) namesSession(res *http.Response) bool {
	return res.Request.Header.Get("Mcp-Session-Id") != "" || x.w.remote.transport.Load() == httpSSE
}

// ask sends a request and reads its response. reported says whether the reader knows the outcome;
// if not, it is decided when the link has ended.
func (x *exchange) ask() (reported bool) {
	w := x.w
	if !w.awaitTransport(x) {
		return x.dropped()
	}
	if w.hasFailed() {
		return x.held(false)
	}
	if x.once && w.provable() && !w.isProven() {
		if ok, reported := w.confirm(x); !ok {
			return x.held(reported)
		}
	}
	res, err := x.send(x.ctx)
	if err != nil && x.isUnproven() {
		if ok, reported := w.confirm(x); !ok {
			return x.held(reported)
		}
		res, err = x.send(x.ctx)
	}
	if err != nil {
		w.transportTried()
		return x.failed(err)
	}
	defer res.Body.Close()
	w.noteByte()
	if w.remote.transport.Load() == untried && !x.once {
		if x.answersElsewhere(res) {
			if res, err = x.send(x.ctx); err != nil {
				w.transportTried()
				return x.failed(err)
			}
			defer res.Body.Close()
		}
	}
	w.found(res)
	switch kind := contentType(res); {
	case res.StatusCode >= 300:
		return x.refused(res)
	case w.remote.transport.Load() == httpSSE && kind == "application/json" && res.ContentLength > 0 && x.answeredIn(res):
		return true
	case w.remote.transport.Load() == httpSSE, res.StatusCode == http.StatusAccepted && w.hasStood():
		return w.park(x) // the response comes on the standing stream
	case res.StatusCode == http.StatusAccepted:
		w.lose(x.id, missing)
		return true
	case kind == "text/event-stream":
		return x.readStream(res)
	case kind == "application/json":
		return x.readBody(res)
	default:
		w.noteRefusal(res, readHead(res))
		w.lose(x.id, w.remote.refusal(res, nil, time.Now()))
		return true
	}
}

// held waits for the end of the link, which has failed before the message was sent.
func (x *exchange) held(reported bool) bool {
	x.w.transportTried()
	if reported {
		return true
	}
	<-x.ctx.Done()
	return x.dropped()
}

// send makes one HTTP request for the message, and a second one if the first was rejected as
// unauthorized, authorization succeeded and the message may be sent again: a server may act and then
// pass on that a third party rejects the token.
func (x *exchange) send(ctx context.Context) (*http.Response, error) {
	res, err := x.sendOnce(ctx)
	if err != nil {
		return nil, err
	}
	x.w.noteByte() // authorization can take a while
	if x.once {
		x.blameLogin(ctx, res)
		return res, nil
	}
	if !x.w.remote.authorized(ctx, res) {
		return res, nil
	}
	res.Body.Close()
	if res, err = x.sendOnce(ctx); err == nil {
		x.w.remote.noteStillRefused(res)
	}
	return res, err
}

// sendOnce makes one HTTP request for the message. It follows one redirect that keeps the method
// and stays on the same origin, if the message may be sent again.
func (x *exchange) sendOnce(ctx context.Context) (*http.Response, error) {
	to := x.w.postTo()
	res, err := x.sendTo(ctx, to)
	next := x.w.remote.redirected(to, res)
	if err != nil || next == nil || x.once {
		return res, err
	}
	res.Body.Close()
	if res, err = x.sendTo(ctx, next); err == nil && res.StatusCode < 300 {
		x.w.remote.moved.Store(next) // GET and DELETE must go there also
	}
	return res, err
}

func (x *exchange) sendTo(ctx context.Context, to *url.URL) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	if x.delivered() != fault.Unsent {
		x.sent.Store(true)
	}
	t := &try{body: x.body}
	x.try.Store(t)
	x.cuts = x.w.standingCuts()
	when, hold := x.w.now(), x.once && !x.sure && x.w.provable()
	var responded atomic.Bool
	var slow atomic.Pointer[time.Timer] // set by a goroutine of the transport
	trace := &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			// A new connection may lead to a new process: the end of the old one may not have been noticed yet.
			unproven := hold && (!info.Reused && x.w.remote.closes.Load() < habit || !x.w.isProven())
			if x.delivered() != fault.Unsent {
				x.sent.Store(true) // the transport sends it again
			}
			t.mu.Lock()
			defer t.mu.Unlock()
			t.given, t.writeFailed, t.conn = false, false, watched(info.Conn)
			if unproven {
				t.sealed, t.unproven = true, true
			}
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.writeFailed = info.Err != nil
		},
		GotFirstResponseByte: func() {
			responded.Store(true)
			slow.Store(time.AfterFunc(x.w.remote.headerWait, func() { cancel(errSlowHeader) }))
		},
	}
	if x.w.remote.opaque {
		// A caller's transport may buffer the body or resend it, so only a closing brace that was
		// never read proves that nothing was sent.
		trace.GotConn, trace.WroteRequest = nil, nil
	}
	req := x.w.remote.request(httptrace.WithClientTrace(ctx, trace), http.MethodPost, to)
	x.w.annotate(req.Header)
	for name, values := range x.header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Body = &meteredBody{t: t}
	// It lets the transport use a different connection if nothing was written on the first. Over HTTP/2 the
	// transport would also repeat what was written. After a redirect the client asks for it and does not use it.
	req.GetBody = func() (io.ReadCloser, error) {
		if x.once && !responded.Load() && x.delivered() != fault.Unsent {
			return nil, errSentOnce
		}
		return &meteredBody{t: t}, nil
	}
	req.ContentLength = int64(len(x.body))
	res, err := x.w.remote.client.Do(req)
	if alarm := slow.Load(); alarm != nil {
		alarm.Stop()
	}
	if err != nil {
		t.seal()
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			err = errors.Join(cause, err)
		}
		cancel(nil)
		return nil, err
	}
	t.mu.Lock()
	t.writeFailed = t.writeFailed || t.conn != nil && t.conn.writeFailed.Load()
	t.conn = nil // from here on other requests may use it, and their writes say nothing about this one
	t.mu.Unlock()
	res.Body = &cancelBody{ReadCloser: res.Body, cancel: cancel}
	if res.StatusCode < 300 {
		x.w.prove(when)
		x.w.remote.answers.Store(x.method, true)
		if x.method == "ping" || x.method == "tools/list" {
			x.w.remote.learned.Store(true)
		}
	}
	if res.Close {
		x.w.remote.closes.Add(1)
	} else {
		x.w.remote.closes.Store(0)
	}
	return res, nil
}

var errSentOnce = errors.New("the connection failed, and the request is not sent again")

var errSlowHeader = errors.New("the response header did not arrive in time")

// cancelBody cancels the context of a response when its body is closed.
type cancelBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (t *cancelBody) Close() error {
	defer t.cancel(nil)
	return t.ReadCloser.Close()
}

// meteredBody is the request body as the transport reads it.
type meteredBody struct {
	t  *try
	at int
}

func (b *meteredBody) Read(p []byte) (int, error) {
	b.t.mu.Lock()
	defer b.t.mu.Unlock()
	if b.t.sealed {
		return 0, errEnded
	}
	n := copy(p, b.t.body[b.at:])
	if b.at += n; b.at == len(b.t.body) {
		b.t.given = true
		return n, io.EOF
	}
	return n, nil
}

func (b *meteredBody) Close() error { return nil }

// seal keeps the transport from reading on after it reported an error, which it may do from its own
// goroutine: what was not handed over by now never is.
func (t *try) seal() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sealed = true
}

// holdBack prevents the message from being sent if that has not happened yet, and reports whether
// it could.
func (x *exchange) holdBack() bool {
	t := x.try.Load()
	if t == nil {
		return true // it is canceled before the first try
	}
	t.mu.Lock()
	if !t.given {
		t.sealed = true
	}
	t.mu.Unlock()
	return x.delivered() == fault.Unsent
}

// isUnproven reports whether the message was held back because its connection was a new one.
func (x *exchange) isUnproven() bool {
	t := x.try.Load()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unproven && !t.given
}

// failed handles an exchange that failed before a response arrived.
func (x *exchange) failed(err error) (reported bool) {
	if x.ctx.Err() != nil {
		return x.dropped() // gauze canceled it
	}
	if reason, dead := unreachable(err); dead && x.delivered() == fault.Unsent {
		x.w.fail(failure{err: reason})
		return false
	}
	if own := (*loginError)(nil); errors.As(err, &own) {
		loss := x.w.remote.loginLoss(own)
		loss.Delivery = x.delivered()
		x.w.lose(x.id, loss)
		return true
	}
	loss := Loss{Delivery: x.delivered(), Code: fault.OutcomeUnknown, Detail: errText(x.reason(err))}
	if loss.Delivery == fault.Unsent {
		loss.Code = fault.ServerUnreachable
	}
	x.w.lose(x.id, loss)
	return true
}

// reason returns why the last try failed.
func (x *exchange) reason(err error) error {
	t := x.try.Load()
	if t == nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.conn.reason(err)
}

// refused handles a status that is not a success. A JSON-RPC response with the request's id is the
// response, whatever the status. A lost session ends the link. Anything else is decided by the
// status.
func (x *exchange) refused(res *http.Response) (reported bool) {
	w := x.w
	var body []byte
	if contentType(res) == "text/event-stream" {
		if answered, _ := x.readEvents(res, &position{via: x.id}); answered {
			return true
		}
	} else {
		body, _ = io.ReadAll(io.LimitReader(webBytes{w, res.Body}, int64(w.maxMessage)+1))
	}
	if x.ctx.Err() != nil {
		return x.dropped()
	}
	answered := !(w.remote.mayLogIn(res) && asksForToken(res)) && containsResponse(body, x.id)
	if answered {
		w.deliverAll(body, x.id, res.StatusCode)
	}
	moved := !answered && x.hasMoved(res)
	_, named := refusesSession(res.StatusCode, body)
	gone := x.looksForgotten(res, body) && (named || !answered) && w.sessionForgotten(x.ctx)
	switch {
	case gone && !answered:
		loss := w.remote.refusal(res, body, time.Now())
		loss.Session, loss.Final = true, false
		w.lose(x.id, loss)
		return true
	case answered:
		return true
	case x.ctx.Err() != nil:
		return x.dropped()
	}
	w.noteRefusal(res, body)
	loss := w.remote.refusal(res, body, time.Now())
	if moved {
		loss.Code = fault.OutcomeUnknown
		loss.Detail += "; gauze sends later calls there"
	}
	if named && x.looksForgotten(res, body) {
		loss.Final = false
		loss.Detail += "; the server forgot the session for this request, but not for others; " + StickySessions
	}
	w.lose(x.id, loss)
	return true
}

// hasMoved looks, after a refusal, for where messages go now. It reports whether later messages go where
// this one, which is sent once, was redirected to.
func (x *exchange) hasMoved(res *http.Response) bool {
	w := x.w
	switch next := w.remote.redirected(res.Request.URL, res); {
	case next != nil && x.once:
		return w.relocate(x) && w.remote.to().String() == next.String()
	case w.remote.moved.Load() == nil || res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed:
	case x.method == "initialize" || x.method == "server/discover":
		w.remote.moved.Store(nil) // the target of an earlier redirect may no longer be right, and nothing else is under way
	default:
		w.relocate(x)
	}
	return false
}

// containsResponse reports whether body is or contains the JSON-RPC response with this id.
func containsResponse(body, id []byte) bool {
	text := bytes.TrimSpace(wire.OneLine(bytes.Clone(body)))
	if len(text) == 0 {
		return false
	}
	messages, ok := scanLine(nil, text)
	return ok && slices.ContainsFunc(messages, func(m wire.Message) bool {
		return m.Kind == wire.Response && wire.SameID(id, m.ID)
	})
}

// answeredIn delivers the response if it is in the body of res, where responses usually come on the
// standing stream.
func (x *exchange) answeredIn(res *http.Response) bool {
	body, err := io.ReadAll(io.LimitReader(webBytes{x.w, res.Body}, int64(x.w.maxMessage)+1))
	if err != nil || !containsResponse(body, x.id) {
		return false
	}
	x.w.deliverAll(body, x.id, 0)
	return true
}

// looksForgotten reports whether a response looks like the server does not know the session that
// the request named.
func (x *exchange) looksForgotten(res *http.Response, body []byte) bool {
	refused, _ := refusesSession(res.StatusCode, body)
	return refused && !x.modern() && x.namesSession(res)
}

// errText returns the text of a net/http error without the URL, which may contain a secret.
func errText(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return strings.TrimPrefix(err.Error(), "net/http: ")
}
