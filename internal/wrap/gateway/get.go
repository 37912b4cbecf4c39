package gateway

import "net/http"

// get serves a client that listens for messages that belong to no request, or that resumes a
// stream.
func (g *Gateway) get(w http.ResponseWriter, r *http.Request, who principal) {
	s, refused := g.visited(r, who)
	if refused != nil {
		refused.write(w)
		return
	}
	defer g.table.leave(&s.life)
	if _, events := accepts(r.Header.Values("Accept")); !events {
		plain(http.StatusNotAcceptable, "the Accept header must allow text/event-stream").write(w)
		return
	}
	number, index, resume := 0, 0, len(r.Header.Values(resumeHeader)) > 0
	if resume {
		var ok bool
		number, index, ok = parseEventID(r.Header.Get(resumeHeader))
		switch {
		case !s.resumable:
			plain(http.StatusBadRequest, "streams cannot be resumed: start gauze serve with --resumable").write(w)
			return
		case !ok:
			plain(http.StatusBadRequest, "invalid Last-Event-ID").write(w)
			return
		}
	}
	if g.table.isDraining() {
		stopping().write(w)
		return
	}
	l, out, refused := s.attach(number, index, resume)
	if refused != nil {
		refused.write(w)
		return
	}
	how := s.streamOptions(l)
	// A comment immediately: a proxy may hold back headers that nothing follows.
	how.at, how.preamble = true, ": listening\n\n"
	r, stop := g.guard.whileValid(r, who)
	defer stop()
	g.writeStream(w, r, out, how)
	s.detach(l, out)
}

// delete ends a session.
func (g *Gateway) delete(w http.ResponseWriter, r *http.Request, who principal) {
	s, refused := g.visited(r, who)
	if refused != nil {
		refused.write(w)
		return
	}
	g.table.leave(&s.life)
	g.table.dismiss(s)
	w.WriteHeader(http.StatusNoContent)
}

// visited returns the session of a request without a body.
func (g *Gateway) visited(r *http.Request, who principal) (*session, *refusal) {
	if r.ContentLength != 0 {
		return nil, plain(http.StatusBadRequest, "a "+r.Method+" request must not have a body")
	}
	if refused := checkVersion(r); refused != nil {
		return nil, refused
	}
	return g.table.find(r, who)
}
