package web

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

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Sending is how a message is sent over HTTP.
type Sending struct {
	Header http.Header // repeats parts of the message
	Once   bool        // it may have an effect, so it is sent at most once, whatever the server answers
}

// exchange is one message sent to a server at a URL, and the response if the message is a request.
// It measures how far the message got; no other file decides what was sent over HTTP.
type exchange struct {
	s        *Session
	end      int64
	kind     wire.Kind
	id       []byte // the raw id of a request
	method   string
	body     []byte
	once     bool            // see Sending
	sure     bool            // the session was confirmed for this message
	cuts     int             // of the standing stream when the message was last sent, see standingCuts
	header   http.Header     // the headers that repeat parts of the body
	after    <-chan struct{} // closed when the messages that must arrive first have arrived
	settling sync.Once
	settled  chan struct{} // closed once the message was accepted or never will be
	ctx      context.Context
	cancel   context.CancelCauseFunc
	// Guarded by Session.mu.
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

func newExchange(s *Session, end int64, m wire.Message, how Sending) *exchange {
	x := &exchange{s: s, end: end, once: how.Once, kind: m.Kind, method: m.Method, body: m.Raw, header: how.Header, settled: make(chan struct{})}
	if m.Kind == wire.Request {
		x.id = m.ID
	}
	x.ctx, x.cancel = context.WithCancelCause(s.ctx)
	x.mirror(&m)
	return x
}

// mirror sets the headers that protocol version 2026-07-28 requires to repeat parts of the body.
func (x *exchange) mirror(m *wire.Message) {
	meta, _ := wire.Field(m.Params, "_meta")
	raw, _ := wire.Field(meta, wire.MetaVersion)
	version, ok := wire.Text(raw)
	if !ok || m.Method == "" {
		return
	}
	header := http.Header{"Mcp-Protocol-Version": {wire.EncodeHeader(version)}, "Mcp-Method": {wire.EncodeHeader(m.Method)}}
	if name, mirrored := wire.MirroredName(m.Method, m.Params); mirrored {
		header["Mcp-Name"] = []string{wire.EncodeHeader(name)}
	}
	maps.Copy(header, x.header)
	x.header = header
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
			x.s.close(x, reported)
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

func (x *exchange) settle() { x.settling.Do(func() { close(x.settled) }) }

func (x *exchange) isParked() bool {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
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
					x.s.openStanding(x.ctx)
				}
				return
			case x.looksForgotten(res, body) && x.s.check.sessionForgotten(x.ctx):
				x.s.fail(failure{err: errors.New(x.s.remote.statusLine(res, body)), gone: true})
				return
			case x.looksForgotten(res, body):
				// One of several replicas does not know the session; the next may.
			case res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests:
				x.s.deliverStray([]byte("(" + x.method + " was rejected: " + x.s.remote.statusLine(res, body) + ")"))
				return
			}
		} else {
			cancel()
			if reason, dead := unreachable(err); dead {
				x.s.fail(failure{err: reason})
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
	return res.Request.Header.Get("Mcp-Session-Id") != "" || x.s.remote.transport.Load() == httpSSE
}

// ask sends a request and reads its response. reported says whether the reader knows the outcome;
// if not, it is decided when the link has ended.
func (x *exchange) ask() (reported bool) {
	s := x.s
	if !s.awaitTransport(x) {
		return x.dropped()
	}
	if s.hasFailed() {
		return x.held(false)
	}
	if x.once && s.check.provable() && !s.check.isProven() {
		if ok, reported := s.check.confirm(x); !ok {
			return x.held(reported)
		}
	}
	res, err := x.send(x.ctx)
	if err != nil && x.isUnproven() {
		if ok, reported := s.check.confirm(x); !ok {
			return x.held(reported)
		}
		res, err = x.send(x.ctx)
	}
	if err != nil {
		s.transportTried()
		return x.failed(err)
	}
	defer res.Body.Close()
	s.rec.NoteByte()
	if s.remote.transport.Load() == untried && !x.once {
		if x.answersElsewhere(res) {
			if res, err = x.send(x.ctx); err != nil {
				s.transportTried()
				return x.failed(err)
			}
			defer res.Body.Close()
		}
	}
	s.found(res)
	switch kind := contentType(res); {
	case res.StatusCode >= 300:
		return x.refused(res)
	case s.remote.transport.Load() == httpSSE && kind == "application/json" && res.ContentLength > 0 && x.answeredIn(res):
		return true
	case s.remote.transport.Load() == httpSSE, res.StatusCode == http.StatusAccepted && s.hasStood():
		return s.park(x) // the response comes on the standing stream
	case res.StatusCode == http.StatusAccepted:
		s.lose(x.id, missing)
		return true
	case kind == "text/event-stream":
		return x.readStream(res)
	case kind == "application/json":
		return x.readBody(res)
	default:
		s.noteRefusal(res, readHead(res))
		s.lose(x.id, s.remote.refusal(res, nil, time.Now()))
		return true
	}
}

// held waits for the end of the link, which has failed before the message was sent.
func (x *exchange) held(reported bool) bool {
	x.s.transportTried()
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
	x.s.rec.NoteByte() // authorization can take a while
	if x.once {
		x.blameLogin(ctx, res)
		return res, nil
	}
	if !x.s.remote.authorized(ctx, res) {
		return res, nil
	}
	res.Body.Close()
	if res, err = x.sendOnce(ctx); err == nil {
		x.s.remote.noteStillRefused(res)
	}
	return res, err
}

// sendOnce makes one HTTP request for the message. It follows one redirect that keeps the method
// and stays on the same origin, if the message may be sent again.
func (x *exchange) sendOnce(ctx context.Context) (*http.Response, error) {
	to := x.s.postTo()
	res, err := x.sendTo(ctx, to)
	next := x.s.remote.redirected(to, res)
	if err != nil || next == nil || x.once {
		return res, err
	}
	res.Body.Close()
	if res, err = x.sendTo(ctx, next); err == nil && res.StatusCode < 300 {
		x.s.remote.moved.Store(next) // GET and DELETE must go there also
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
	x.cuts = x.s.standingCuts()
	when, hold := x.s.check.now(), x.once && !x.sure && x.s.check.provable()
	var responded atomic.Bool
	var slow atomic.Pointer[time.Timer] // set by a goroutine of the transport
	trace := &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			// A new connection may lead to a new process: the end of the old one may not have been noticed yet.
			unproven := hold && (!info.Reused && x.s.remote.closes.Load() < habit || !x.s.check.isProven())
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
			slow.Store(time.AfterFunc(x.s.remote.headerWait, func() { cancel(errSlowHeader) }))
		},
	}
	if x.s.remote.opaque {
		// A caller's transport may buffer the body or resend it, so only a closing brace that was
		// never read proves that nothing was sent.
		trace.GotConn, trace.WroteRequest = nil, nil
	}
	req := x.s.remote.request(httptrace.WithClientTrace(ctx, trace), http.MethodPost, to)
	x.s.annotate(req.Header)
	for name, values := range x.header {
		req.Header[name] = values
	}
	req.Header["Content-Type"], req.Header["Accept"] = sendsJSON, acceptsBoth
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
	res, err := x.s.remote.send(req)
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
		x.s.check.prove(when)
		x.s.remote.answers.Store(x.method, true)
		if x.method == "ping" || x.method == "tools/list" {
			x.s.remote.learned.Store(true)
		}
	}
	if res.Close {
		x.s.remote.closes.Add(1)
	} else {
		x.s.remote.closes.Store(0)
	}
	return res, nil
}

// Values of headers that all requests share. Nothing changes them.
var (
	sendsJSON   = []string{"application/json"}
	acceptsBoth = []string{"application/json, text/event-stream"}
)

var errSentOnce = errors.New("the connection failed, and gauze did not send the request again")

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
		x.s.fail(failure{err: reason})
		return false
	}
	if own, ok := errors.AsType[*loginError](err); ok {
		loss := x.s.remote.loginLoss(own)
		loss.Delivery = x.delivered()
		x.s.lose(x.id, loss)
		return true
	}
	loss := life.Loss{Delivery: x.delivered(), Code: fault.OutcomeUnknown, Detail: errText(x.reason(err))}
	if loss.Delivery == fault.Unsent {
		loss.Code = fault.ServerUnreachable
	}
	x.s.lose(x.id, loss)
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
	s := x.s
	var body []byte
	if contentType(res) == "text/event-stream" {
		if answered, _ := x.readEvents(res, &position{via: x.id}); answered {
			return true
		}
	} else {
		body, _ = s.readAll(res, new(bytes.Buffer))
	}
	if x.ctx.Err() != nil {
		return x.dropped()
	}
	answered := !(s.remote.mayLogIn(res) && asksForToken(res)) && containsResponse(body, x.id)
	if answered {
		s.deliverAll(body, x.id, res.StatusCode)
	}
	moved := !answered && x.hasMoved(res)
	_, named := refusesSession(res.StatusCode, body)
	gone := x.looksForgotten(res, body) && (named || !answered) && s.check.sessionForgotten(x.ctx)
	switch {
	case gone && !answered:
		loss := s.remote.refusal(res, body, time.Now())
		loss.Session, loss.Final = true, false
		s.lose(x.id, loss)
		return true
	case answered:
		return true
	case x.ctx.Err() != nil:
		return x.dropped()
	}
	s.noteRefusal(res, body)
	loss := s.remote.refusal(res, body, time.Now())
	if moved {
		loss.Code = fault.OutcomeUnknown
		loss.Detail += "; gauze will send later calls there"
	}
	if named && x.looksForgotten(res, body) {
		loss.Final = false
		loss.Detail += "; the server rejected the session for this request, but not for others; " + StickySessions
	}
	s.lose(x.id, loss)
	return true
}

// hasMoved looks, after a refusal, for where messages go now. It reports whether later messages go where
// this one, which is sent once, was redirected to.
func (x *exchange) hasMoved(res *http.Response) bool {
	s := x.s
	switch next := s.remote.redirected(res.Request.URL, res); {
	case next != nil && x.once:
		return s.check.relocate(x) && s.remote.to().String() == next.String()
	case s.remote.moved.Load() == nil || res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed:
	case x.method == "initialize" || x.method == "server/discover":
		s.remote.moved.Store(nil) // the target of an earlier redirect may no longer be right, and nothing else is under way
	default:
		s.check.relocate(x)
	}
	return false
}

// containsResponse reports whether body is or contains the JSON-RPC response with this id.
func containsResponse(body, id []byte) bool {
	text := bytes.TrimSpace(wire.OneLine(bytes.Clone(body)))
	if len(text) == 0 {
		return false
	}
	messages, ok := wire.ScanLine(nil, text)
	return ok && slices.ContainsFunc(messages, func(m wire.Message) bool {
		return m.Kind == wire.Response && wire.SameID(id, m.ID)
	})
}

// answeredIn delivers the response if it is in the body of res, where responses usually come on the
// standing stream.
func (x *exchange) answeredIn(res *http.Response) bool {
	body, err := x.s.readAll(res, new(bytes.Buffer))
	if err != nil || !containsResponse(body, x.id) {
		return false
	}
	x.s.deliverAll(body, x.id, 0)
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
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return strings.TrimPrefix(err.Error(), "net/http: ")
}
