package gateway

import "net/http"

// get is a client that listens for what belongs to no request, or that comes
// back for what it missed.
func (g *Gateway) get(w http.ResponseWriter, r *http.Request, who principal) {
	s, refused := g.visited(r, who)
	if refused != nil {
		refused.write(w)
		return
	}
	defer g.leave(&s.life)
	if _, events := accepts(r.Header.Values("Accept")); !events {
		plain(http.StatusNotAcceptable, "Accept has to allow text/event-stream").write(w)
		return
	}
	number, index, resume := 0, 0, len(r.Header.Values(resumeHeader)) > 0
	if resume {
		var ok bool
		number, index, ok = parseEventID(r.Header.Get(resumeHeader))
		switch {
		case !s.resumable:
			plain(http.StatusBadRequest, "streams cannot be resumed here; gauze serve --resumable lets them").write(w)
			return
		case !ok:
			plain(http.StatusBadRequest, "this Last-Event-ID is none of ours").write(w)
			return
		}
	}
	if g.isDraining() {
		stopping().write(w)
		return
	}
	l, out, refused := s.attach(number, index, resume)
	if refused != nil {
		refused.write(w)
		return
	}
	how := s.manner(l)
	// A comment at once: something has to follow the headers, or a proxy on
	// the way may hold them back.
	how.at, how.hello = true, ": listening\n\n"
	g.pour(w, r, out, how)
	s.detach(l, out)
}

// delete ends a session.
func (g *Gateway) delete(w http.ResponseWriter, r *http.Request, who principal) {
	s, refused := g.visited(r, who)
	if refused != nil {
		refused.write(w)
		return
	}
	g.leave(&s.life)
	g.dismiss(s)
	w.WriteHeader(http.StatusNoContent)
}

// visited finds the session of a request that has no body.
func (g *Gateway) visited(r *http.Request, who principal) (*session, *refusal) {
	if r.ContentLength != 0 {
		return nil, plain(http.StatusBadRequest, "a "+r.Method+" has no body")
	}
	if refused := checkVersion(r); refused != nil {
		return nil, refused
	}
	return g.find(r, who)
}
