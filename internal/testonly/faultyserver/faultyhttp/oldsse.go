package faultyhttp

import (
	"net/http"
)

// The transport of 2024-11-05: a session is a GET stream and ends with it. Messages are posted to a
// different endpoint, and all responses are sent on the stream, so a broken POST does not break the
// response.

func (x *exchange) serveOld() {
	switch {
	case x.r.Method == http.MethodGet && x.r.URL.Path == "/sse":
		x.getOld()
	case x.r.Method == http.MethodPost && (x.r.URL.Path == "/messages" || x.r.URL.Path == moved):
		x.postOld()
	case x.r.URL.Path == "/sse":
		x.notAllowed()
	default:
		http.NotFound(x.w, x.r)
	}
}

func (x *exchange) getOld() {
	if _, ok := x.read(); !ok {
		return
	}
	if row := x.armedFor(nil, before); row != nil {
		row.do(x, nil)
		return
	}
	session := x.s.newSession(newID(), "")
	x.s.mu.Lock()
	x.g.sessions[session.id] = session
	x.s.mu.Unlock()
	defer x.s.endSession(x.g, session)
	defer x.markLongLived()()
	session.standalone.add(event{name: "endpoint", data: []byte("/messages?session=" + session.id)})
	x.pump(session.standalone, 0, plain)
}

func (x *exchange) postOld() {
	m, ok := x.read()
	if !ok {
		return
	}
	session := x.s.findSession(x.g, x.r.URL.Query().Get("session"))
	if session == nil {
		http.Error(x.w, "session not found", http.StatusNotFound)
		return
	}
	c := &call{s: x.s, gen: x.g, session: session, msg: m, version: session.version}
	if m.Method == "initialize" {
		c.version = negotiateVersion(m)
	}
	session.saw(m.Method)
	if !m.isRequest() {
		x.accept(c)
		return
	}
	if no := c.prepare(); no != nil {
		x.w.WriteHeader(http.StatusAccepted)
		session.standalone.add(event{data: refused(m.ID, no)})
		return
	}
	row, no := x.fault(c)
	switch {
	case no != nil:
		x.w.WriteHeader(http.StatusAccepted)
		session.standalone.add(event{data: refused(m.ID, no)})
		return
	case row == nil:
		row = &Row{stage: onStream}
	case row.stage == before:
		row.do(x, nil)
		return
	}
	c.out = newStream("")
	c.bend(row)
	x.start(c)
	if row.stage == after && row.style == plain {
		if e, ok := c.out.answer(x.ctx); ok {
			row.do(x, e.data)
		}
	} else {
		x.w.WriteHeader(http.StatusAccepted)
	}
	x.g.work.Go(func() {
		for number := 0; ; number++ {
			e, _, ok := c.out.next(x.g.ctx, number)
			if !ok {
				return
			}
			e.last = false // the last message of the call, not of the stream
			session.standalone.add(e)
		}
	})
}
