package web

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// A message that may have an effect is sent once: no status proves that the server did not act on it.
// So the session and the token are looked at before. A server forgets sessions when it is redeployed,
// and some that were idle; a harmless question finds that out. It costs a round trip, so it is asked only
// if the last proof is old, or if a connection broke since.

// Confirm says when a session over HTTP is confirmed.
type Confirm struct {
	After   time.Duration // how long a proof holds; default 5s; negative: not at all
	Timeout time.Duration // how long the server has to answer; default 2s: one that is busy with a call may answer nothing else
}

const (
	defaultConfirmAfter   = 5 * time.Second
	defaultConfirmTimeout = 2 * time.Second
	// renewalTimeout limits the wait if the login has to be renewed for the question.
	renewalTimeout = 30 * time.Second
	// habit is after how many responses in a row that end their connection the end of one says nothing.
	habit = 3
	// questionID is the id of every question. It is a number, which every server accepts, and none that a
	// session uses.
	questionID = "9007199254740991"
	// maxAnswer is how much of an answer is read, to use the connection again.
	maxAnswer = 1 << 20
)

// confirmer finds out whether the server still knows the session and accepts the token.
type confirmer struct {
	Confirm
	s        *Session
	checking sync.Mutex // held while the session is checked
	looked   time.Time  // when a check last ended that let messages pass; guarded by checking

	mu    sync.Mutex
	known bool // see setKnown
	proof proof
}

// proof is when the server last accepted a request of the session.
type proof struct {
	sent   time.Time // when that request was sent
	breaks int64     // how many connections had broken by then
}

// now returns the proof that a request sent now will be, if it is accepted.
func (c *confirmer) now() proof { return proof{sent: time.Now(), breaks: c.s.remote.breaks.Load()} }

func (c *confirmer) prove(p proof) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.sent.After(c.proof.sent) {
		c.proof = p
	}
}

// isProven reports whether the last proof still holds. It does not as long as it is not known which question
// the server answers: after the end of the session that could not be found out.
func (c *confirmer) isProven() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.s.remote.learned.Load() || c.s.remote.expires.Load() || time.Since(c.proof.sent) >= c.After {
		return false
	}
	return c.proof.breaks == c.s.remote.breaks.Load() || c.s.remote.closes.Load() >= habit
}

// provable reports whether there is anything to confirm: a session, or a token.
func (c *confirmer) provable() bool {
	return c.s.hasSession() || c.s.remote.transport.Load() == httpSSE || c.s.remote.authorize != nil
}

// confirm makes sure, before a message that is sent once, that the server knows the session and accepts
// the token. It reports whether the message can be sent. If not, the link has failed, or the reader knows
// that it was not sent.
func (c *confirmer) confirm(x *exchange) (ok, reported bool) {
	x.sure = true
	asked := time.Now()
	c.checking.Lock()
	defer c.checking.Unlock()
	if c.looked.After(asked) { // for another message, while this one waited
		return !c.s.hasFailed(), false
	}
	switch state, loss := c.look(x.ctx, x); {
	case state == forgotten:
		return false, false
	case loss != nil && loss.OfLogin():
		loss.Delivery = fault.Unsent
		c.s.lose(x.id, *loss)
		return false, true
	}
	if x.ctx.Err() == nil {
		c.looked = time.Now()
	}
	return true, false
}

// sessionForgotten reports whether the server no longer knows the session, after a request was refused as
// if. The refusal alone does not prove it: a server may act and then answer 404, and one of several
// replicas may not know the session. It says nothing about the request that was refused.
func (c *confirmer) sessionForgotten(ctx context.Context) bool {
	if c.s.hasFailed() && c.s.failure.gone {
		return true
	}
	c.checking.Lock()
	defer c.checking.Unlock()
	if state, _ := c.look(ctx, nil); state == forgotten {
		return true
	}
	if c.setKnown(true) {
		// The same happened before. If requests alternate between two replicas, one more question lets
		// the next try reach the other replica.
		c.inquire(ctx, "ping", nil)
	}
	return false
}

// knowledge is what a look at the session shows.
type knowledge int

const (
	unclear knowledge = iota
	known
	forgotten // the link has failed
)

// look asks harmless questions in the session. x is the message that waits for it, or nil.
//
// A refusal counts only if the server answered that question before: it may not know the question, so
// the next is asked. If it refuses all and has answered none, nothing is known.
func (c *confirmer) look(ctx context.Context, x *exchange) (knowledge, *life.Loss) {
	r := c.s.remote
	for _, method := range c.questions(x) {
		a := c.inquire(ctx, method, x)
		if reason, dead := unreachable(a.err); a.err != nil && dead {
			c.s.fail(failure{err: reason})
			return forgotten, nil
		}
		switch {
		case a.err != nil:
			return unclear, nil
		case a.answered:
			r.pingless.Store(method == "tools/list")
			r.answers.Store(method, true)
			r.learned.Store(true)
			return known, nil
		case !a.refused:
			return unclear, a.loss
		}
		if _, understood := r.answers.Load(method); understood {
			c.s.fail(failure{err: errors.New(a.said), gone: true})
			return forgotten, nil
		}
	}
	r.learned.Store(true) // it answers none
	return unclear, nil
}

// questions returns the questions that the server may answer, in the order in which they are asked.
func (c *confirmer) questions(x *exchange) []string {
	switch {
	case x != nil && x.modern():
		return []string{"server/discover"}
	case c.s.remote.pingless.Load():
		return []string{"tools/list"}
	}
	return []string{"ping", "tools/list"}
}

// relocate finds out where messages go, after x was refused as if they went elsewhere. A question to the
// address that the user gave follows its redirect; x is not sent again. It reports whether there is one.
func (c *confirmer) relocate(x *exchange) (redirects bool) {
	if c.s.remote.transport.Load() == httpSSE {
		return false // the server says where to post
	}
	c.checking.Lock()
	defer c.checking.Unlock()
	for _, method := range c.questions(x) {
		switch a := c.inquireAt(x.ctx, c.s.remote.address.Load(), method, x); {
		case a.answered:
			c.s.remote.moved.Store(a.moved)
			return a.moved != nil
		case !a.refused:
			return false // nothing is learned
		}
	}
	c.s.remote.moved.Store(nil)
	return false
}

// answer is what came back for a question.
type answer struct {
	answered bool       // by a JSON-RPC response, or the question was accepted
	refused  bool       // as if the session were not known
	said     string     // the status line
	loss     *life.Loss // of other refusals
	err      error
	moved    *url.URL // where the question was redirected to; nil: it was not
}

// inquire asks one question where messages go. If it is redirected and answered, they go there from now on.
func (c *confirmer) inquire(ctx context.Context, method string, x *exchange) answer {
	a := c.inquireAt(ctx, c.s.postTo(), method, x)
	if a.answered && a.moved != nil {
		c.s.remote.moved.Store(a.moved)
	}
	return a
}

// inquireAt asks one question. It is asked again after the login was renewed.
func (c *confirmer) inquireAt(ctx context.Context, to *url.URL, method string, x *exchange) (a answer) {
	ctx, cancel := context.WithTimeout(ctx, renewalTimeout)
	defer cancel()
	alarm := time.AfterFunc(renewalTimeout, cancel) // it is set once the login, which may have to be renewed, is known
	defer alarm.Stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { alarm.Reset(c.Timeout) }})
	send := func(req *http.Request) (*http.Response, error) {
		defer alarm.Stop()
		return c.s.remote.send(req)
	}
	text, header := x.question(method)
	when := c.now()
	res, err := c.s.remote.do(c.ask(ctx, to, text, header), send)
	if a.moved = c.s.remote.redirected(to, res); a.moved != nil {
		res.Body.Close()
		res, err = c.s.remote.do(c.ask(ctx, a.moved, text, header), send)
	}
	if own, ok := errors.AsType[*loginError](err); ok {
		loss := c.s.remote.loginLoss(own)
		return answer{loss: &loss}
	}
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	alarm.Reset(c.Timeout)
	body := readAnswer(res)
	refused, named := refusesSession(res.StatusCode, body)
	switch a.said = c.s.remote.statusLine(res, body); {
	case res.StatusCode < 300, !named && containsResponse(body, []byte(questionID)):
		a.answered = true
		c.prove(when)
	case refused && header.Get("Mcp-Method") == "":
		a.refused = true
	default:
		loss := c.s.remote.refusal(res, body, time.Now())
		a.loss = &loss
	}
	return a
}

// question returns a request, and the headers that repeat parts of it. A modern server is asked with the
// protocol version of x.
func (x *exchange) question(method string) (text string, header http.Header) {
	if x == nil || !x.modern() {
		return `{"jsonrpc":"2.0","id":` + questionID + `,"method":"` + method + `"}`, nil
	}
	m, _, _ := wire.Scan(x.body)
	meta, _ := wire.Field(m.Params, "_meta")
	text = `{"jsonrpc":"2.0","id":` + questionID + `,"method":"` + method + `","params":{"_meta":` + string(meta) + `}}`
	m, _, _ = wire.Scan([]byte(text))
	asks := &exchange{}
	asks.mirror(&m)
	return text, asks.header
}

// blameLogin finds out what it means that a message that is sent once was answered with 401 or 403, and
// renews the login for later messages if that helps. The token may have expired while the message was on
// its way or was handled; or the server accepts it, but not for this message.
func (x *exchange) blameLogin(ctx context.Context, res *http.Response) {
	r := x.s.remote
	switch {
	case res.StatusCode == http.StatusUnauthorized && r.logins != nil && x.s.check.acceptsToken(ctx, x, res.Request):
		r.noteRefusedAlone(res)
	case r.authorized(ctx, res):
		r.expires.Store(true)
		res.Body = &renewedBody{res.Body}
	}
}

// acceptsToken reports whether the server answers a harmless question that has the same token as sent.
func (c *confirmer) acceptsToken(ctx context.Context, x *exchange, sent *http.Request) bool {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	text, header := x.question(c.questions(x)[0])
	res, err := c.s.remote.send(c.ask(ctx, c.s.postTo(), text, header))
	if err != nil {
		return false
	}
	defer res.Body.Close()
	body := readAnswer(res)
	return (res.StatusCode < 300 || containsResponse(body, []byte(questionID))) &&
		res.Request.Header.Get("Authorization") == sent.Header.Get("Authorization")
}

// ask returns a request that has no effect.
func (c *confirmer) ask(ctx context.Context, to *url.URL, text string, header http.Header) *http.Request {
	req := c.s.remote.request(ctx, http.MethodPost, to)
	c.s.annotate(req.Header)
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	req.Body, _ = req.GetBody()
	req.ContentLength = int64(len(text))
	return req
}

// readAnswer reads a response to its end, so that the connection can be used again. A stream is read up to
// the answer: some servers never end it.
func readAnswer(res *http.Response) []byte {
	if contentType(res) != "text/event-stream" {
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		return body
	}
	events := newSSEReader(res.Body, standingBuffer, wire.MaxLine)
	for {
		e, err := events.next()
		if err != nil || containsResponse(e.data, []byte(questionID)) {
			return e.data
		}
	}
}

// setKnown records whether a ping has shown, since the last request that succeeded, that the
// session is known. It returns the previous value.
func (c *confirmer) setKnown(known bool) (before bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.known = c.known, known
	return before
}
