package faultyhttp

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// exchange is one HTTP request and its response.
type exchange struct {
	s   *Server
	g   *generation
	w   http.ResponseWriter
	r   *http.Request
	c   *conn
	ctx context.Context // ends when the client disconnects or the server is killed
}

// moved is the path that redirects lead to.
const moved = "/moved"

func (s *Server) serve(g *generation, w http.ResponseWriter, r *http.Request) {
	if !s.enter(g) {
		connOf(r).reset()
		return
	}
	defer g.work.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	x := &exchange{s: s, g: g, w: w, r: r, c: connOf(r), ctx: ctx}
	switch {
	case s.cfg.Transport == OldSSE:
		x.serveOld()
	case r.URL.Path != "/mcp" && r.URL.Path != moved && s.cfg.Logins:
		x.serveLogin()
	case r.URL.Path != "/mcp" && r.URL.Path != moved:
		http.NotFound(w, r)
	case r.Method == http.MethodPost:
		x.post()
	case r.Method == http.MethodGet:
		x.get()
	case r.Method == http.MethodDelete:
		x.delete()
	default:
		x.notAllowed()
	}
}

// read reads the whole request, or resets the connection in the middle if that is armed. It records
// the request before checking anything.
func (x *exchange) read() (m *message, ok bool) {
	if x.r.Method == http.MethodPost && x.armedFor(nil, inBody) != nil {
		_ = x.c.SetReadBuffer(1 << 16)                                                 // Linux lets it grow to tens of MB
		_, _ = io.CopyN(io.Discard, x.r.Body, min(max(1, x.r.ContentLength/2), 1<<16)) // far from the end
		x.c.reset()
		return nil, false
	}
	body, err := io.ReadAll(x.r.Body)
	if err != nil {
		return nil, false
	}
	m, bad := (*message)(nil), error(nil)
	if x.r.Method == http.MethodPost {
		m, bad = readMessage(body)
	}
	x.s.record(x.r, body, m)
	if !x.admitted() {
		unauthorized("")(x, nil)
		return nil, false
	}
	if x.s.cfg.NoPing && m != nil && m.Method == "ping" {
		http.NotFound(x.w, x.r)
		return nil, false
	}
	if bad != nil {
		x.refuse(nil, refuse(http.StatusBadRequest, -32700, "parse error: %v", bad))
		return nil, false
	}
	return m, true
}

func (x *exchange) post() {
	m, ok := x.read()
	if !ok {
		return
	}
	accept := strings.Join(x.r.Header.Values("Accept"), ",")
	switch {
	case !strings.HasPrefix(x.r.Header.Get("Content-Type"), "application/json"):
		x.refuse(m.ID, refuse(http.StatusUnsupportedMediaType, -32000, "Content-Type must be application/json"))
		return
	case !strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream"):
		x.refuse(m.ID, refuse(http.StatusNotAcceptable, -32000, "Accept must include application/json and text/event-stream"))
		return
	}
	c, no := x.admit(m)
	if no != nil {
		id := m.ID
		if no.session {
			id = nil // as SDKs do: the error is about the session and not a response to the request
		}
		x.refuse(id, no)
		return
	}
	c.session.saw(m.Method)
	if !m.isRequest() {
		x.accept(c)
		return
	}
	if no := c.prepare(); no != nil {
		x.refuse(m.ID, no, c)
		return
	}
	x.answer(c)
}

// admit finds the session of a message and rejects what violates the rules of its era.
func (x *exchange) admit(m *message) (*call, *refusal) {
	s, g := x.s, x.g
	version := x.r.Header.Get(headerVersion)
	if s.cfg.Era != Legacy && (version >= modernVersion || m.version() >= modernVersion) {
		return &call{s: s, gen: g, session: g.common, msg: m, modern: true, version: modernVersion}, x.checkModern(m)
	}
	c := &call{s: s, gen: g, session: g.common, msg: m, version: version}
	id := x.r.Header.Get(headerSession)
	first := m.Method == "initialize"
	switch {
	case s.cfg.Era == Modern:
		return nil, s.unsupported(version)
	case version != "" && !slices.Contains(legacyVersions, version):
		return nil, refuse(http.StatusBadRequest, -32000, "unsupported protocol version %q", version)
	case first:
		c.version = negotiateVersion(m)
	}
	if !s.cfg.Stateful {
		return c, nil
	}
	if first && id == "" {
		c.session = s.newSession(newID(), c.version) // the session exists as soon as initialize is executed
		return c, nil
	}
	if id == "" {
		return nil, refuse(http.StatusBadRequest, -32000, "%s is required", headerSession).ofSession()
	}
	c.session = s.findSession(g, id)
	switch {
	case c.session == nil:
		return nil, refuse(http.StatusNotFound, -32001, "session not found").ofSession()
	case first:
		return nil, refuse(http.StatusBadRequest, -32600, "the session is already initialized")
	case version != "" && version != c.session.version:
		return nil, refuse(http.StatusBadRequest, -32000, "protocol version %s in a session of %s", version, c.session.version)
	}
	c.version = c.session.version
	return c, nil
}

func (s *Server) unsupported(version string) *refusal {
	no := refuse(http.StatusBadRequest, -32022, "unsupported protocol version")
	no.Data = object{"supported": s.versions(), "requested": version}
	return no
}

// checkModern checks that the headers match the body.
func (x *exchange) checkModern(m *message) *refusal {
	mismatch := func(header, got, want string) *refusal {
		return refuse(http.StatusBadRequest, -32020, "header mismatch: %s is %q, but the body has %q", header, got, want)
	}
	version := x.r.Header.Get(headerVersion)
	if version == "" || version != m.version() && (m.isRequest() || m.version() != "") {
		return mismatch(headerVersion, version, m.version())
	}
	if m.Method == "" {
		return refuse(http.StatusBadRequest, -32600, "%s does not allow responses to a server", modernVersion)
	}
	if got := x.r.Header.Get(headerMethod); got != m.Method {
		return mismatch(headerMethod, got, m.Method)
	}
	if got := plainHeader(x.r.Header.Get(headerName)); m.name != "" && got != m.name {
		return mismatch(headerName, got, m.name)
	}
	if !m.isRequest() {
		return nil
	}
	if version != modernVersion {
		return x.s.unsupported(version)
	}
	if m.meta[metaCapabilities] == nil {
		return refuse(http.StatusBadRequest, -32602, "missing _meta field %q", metaCapabilities)
	}
	return nil
}

// plainHeader decodes values that a header cannot hold as they are.
func plainHeader(value string) string {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	inner, closed := strings.CutSuffix(inner, "?=")
	if text, err := base64.StdEncoding.DecodeString(inner); ok && closed && err == nil {
		return string(text)
	}
	return value
}

// nothing is passed to a fault in place of a response if there is none to alter.
var nothing = notification("notifications/nothing", nil)

// accept handles a notification or a response, which have no response.
func (x *exchange) accept(c *call) {
	row := x.armedFor(c.msg, before, after)
	if row != nil && row.stage == before {
		row.do(x, nil)
		return
	}
	if c.msg.Method == "" {
		c.session.resolve(c.msg)
	} else {
		c.session.notified(c.msg)
	}
	if row != nil {
		row.do(x, nothing)
		return
	}
	x.w.WriteHeader(http.StatusAccepted)
}

// fault returns the fault of this call, or nil.
func (x *exchange) fault(c *call) (*Row, *refusal) {
	if x.r.URL.Path != moved { // a redirected request has already had its fault
		row, no := c.ownFault()
		if row != nil || no != nil {
			return row, no
		}
	}
	return x.armedFor(c.msg, before, after, onStream), nil
}

// answer runs the call and sends its response to the client, as far as the fault allows.
func (x *exchange) answer(c *call) {
	row, no := x.fault(c)
	if no != nil {
		x.refuse(c.msg.ID, no, c)
		return
	}
	if row == nil {
		row = &Row{stage: onStream}
	}
	if row.stage == before {
		row.do(x, nil)
		return
	}
	c.out = x.s.outFor(c)
	if c.msg.Method == "subscriptions/listen" {
		x.listen(c, row)
		return
	}
	if row.stage == onStream {
		c.bend(row)
	}
	x.start(c)
	if row.stage == after {
		if e, ok := c.out.answer(x.ctx); ok {
			row.do(x, e.data)
		}
		return
	}
	x.respond(c)
}

// start runs the call concurrently with the handler. A legacy call continues when its client
// disconnects; a modern one ends.
func (x *exchange) start(c *call) {
	parent := x.g.ctx
	if c.modern {
		parent = x.ctx
	}
	ctx, cancel := context.WithCancel(parent)
	c.ctx = ctx
	id := string(c.msg.ID)
	c.session.began(id, cancel)
	x.g.work.Go(func() {
		defer cancel()
		defer c.session.finished(id)
		c.run()
	})
}

// outFor returns the stream of a response. It can be resumed if events have ids, which requires a
// session.
func (s *Server) outFor(c *call) *stream {
	if c.modern || !s.cfg.EventIDs || c.session.id == "" || s.cfg.Transport == OldSSE {
		return newStream("")
	}
	t := c.session.openStream()
	if s.cfg.Answers == SSE && c.version >= newestLegacy {
		t.add(event{}) // gives the client an id before anything happens
	}
	return t
}

// bend prepares the stream of a response with a fault. A stream that is cut sends a message first.
func (c *call) bend(row *Row) {
	c.bent = row.style
	c.out.again, c.out.mute = row.Fault == ReplaySeen, row.Fault == MuteSSE
	if row.style != cut && row.style != hangup {
		return
	}
	switch {
	case c.token != nil:
		c.notify("notifications/progress", object{"progressToken": c.token, "progress": 0, "message": "working"})
	case !c.modern:
		c.notify("notifications/message", object{"level": "info", "data": "working"})
	}
}

// respond sends the messages of the call: as JSON if there is only the response, otherwise as a
// stream.
func (x *exchange) respond(c *call) {
	if c.msg.Method == "initialize" && c.session.id != "" {
		x.w.Header().Set(headerSession, c.session.id)
	}
	if c.tool == nil && c.modern || x.s.cfg.Answers == JSON && c.bent == plain {
		e, _, ok := c.out.next(x.ctx, 0)
		switch {
		case !ok && x.ctx.Err() != nil:
			return
		case !ok: // cancelled, but HTTP requires a response
			x.json(http.StatusOK, refused(c.msg.ID, refuse(0, -32603, "cancelled")))
			return
		case e.status != 0 || e.last && x.s.cfg.Answers == JSON && c.bent == plain:
			x.json(max(e.status, http.StatusOK), e.data)
			return
		}
	}
	x.pump(c.out, 0, c.bent)
}

// listen serves subscriptions/listen, the only modern request whose response is always a stream.
func (x *exchange) listen(c *call, row *Row) {
	if row.do != nil {
		row.do(x, nothing)
		return
	}
	l, no := c.openListen()
	if no != nil {
		x.refuse(c.msg.ID, no, c)
		return
	}
	defer c.closeListen(l)
	switch row.style {
	case cut:
		c.out.add(event{style: cut})
	case hangup:
		c.out.end()
	}
	defer x.markLongLived()()
	x.pump(c.out, 0, row.style)
}

func (x *exchange) json(status int, body []byte) {
	x.w.Header().Set("Content-Type", "application/json")
	x.w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body)
}

// refuse responds with an error. c is given if the client's era is known.
func (x *exchange) refuse(id []byte, no *refusal, c ...*call) {
	x.json(statusOf(no, len(c) > 0 && c[0].modern), refused(id, no))
}

func (x *exchange) notAllowed() {
	x.w.Header().Set("Allow", "POST")
	http.Error(x.w, "method not allowed", http.StatusMethodNotAllowed)
}
