package faultyhttp

import (
	"context"
	"net/http"
	"strings"
)

// get opens the GET stream of a session, or resumes a stream.
func (x *exchange) get() {
	session := x.sessionOnly()
	if session == nil {
		return
	}
	if !strings.Contains(x.r.Header.Get("Accept"), "text/event-stream") {
		x.refuse(nil, refuse(http.StatusNotAcceptable, -32000, "Accept must include text/event-stream"))
		return
	}
	bent := plain
	if row := x.armedFor(nil, before, onStream); row != nil {
		if row.do != nil {
			row.do(x, nil)
			return
		}
		bent = row.style
	}
	session.saw("GET")
	t, from := session.standalone, session.standalone.length()
	if last := x.r.Header.Get(headerLast); last != "" && x.s.cfg.EventIDs {
		id, number, ok := splitEventID(last)
		if ok {
			t = session.findStream(id)
		}
		if !ok || t == nil {
			x.refuse(nil, refuse(http.StatusBadRequest, -32000, "unknown event %q", last))
			return
		}
		if from = number + 1; t.again {
			from = 0
		}
	}
	if t.mute {
		t = newStream("") // which never ends
	}
	if t == session.standalone {
		ctx, cancel := context.WithCancel(x.ctx)
		defer cancel()
		x.ctx = ctx
		session.takeOver(cancel)
		defer x.markLongLived()()
	}
	if bent == cut || bent == hangup {
		broken := newStream("")
		broken.add(event{style: bent})
		broken.end()
		x.pump(broken, 0, bent)
		return
	}
	x.resume(t, from, bent)
}

// delete ends a session at its client's request.
func (x *exchange) delete() {
	if session := x.sessionOnly(); session != nil {
		x.s.endSession(x.g, session)
		x.w.WriteHeader(http.StatusNoContent)
	}
}

// sessionOnly returns the session of a request that requires one. If there is none, it responds
// with an error and returns nil.
func (x *exchange) sessionOnly() *session {
	if _, ok := x.read(); !ok {
		return nil
	}
	if !x.s.cfg.Stateful || x.s.cfg.Era == Modern || x.r.Header.Get(headerVersion) >= modernVersion {
		x.notAllowed()
		return nil
	}
	id := x.r.Header.Get(headerSession)
	if id == "" {
		x.refuse(nil, refuse(http.StatusBadRequest, -32000, "%s is required", headerSession))
		return nil
	}
	session := x.s.findSession(x.g, id)
	if session == nil {
		x.refuse(nil, refuse(http.StatusNotFound, -32001, "session not found"))
	}
	return session
}
