package upstream

import "github.com/gauze-mcp/gauze/internal/wrap/upstream/web"

// A server at a URL that accepted no connection is not connected to again before it does: what is
// not there is neither up nor down, it is only waited for.

// unreached reports whether a generation ended because nothing accepted a connection at the URL.
func unreached(e Evidence) bool {
	return e.Remote && e.Spawn != nil && !e.Gone && e.Refused == nil
}

// unreachedError is why there is nothing to connect to.
type unreachedError struct{ error }

func (e *unreachedError) Unwrap() error { return e.error }

// notConnected returns the evidence of a generation that did not begin.
func notConnected(err error) Evidence {
	away, remote := err.(*unreachedError)
	switch {
	case !remote:
		return Evidence{Stage: Nowhere, Spawn: err}
	case web.HostNotFound(err):
		return Evidence{Stage: Nowhere, Remote: true, Spawn: away.error}
	}
	return Evidence{Stage: Located, Remote: true, Spawn: away.error}
}

// whenReady calls ready once the server is: a process that is prepared is, a URL only when
// something that speaks MCP has answered there.
func (u *Upstream) whenReady(conn *Conn, ready func()) {
	if conn.Remote() && !conn.Spoke() { // nothing was sent yet, so nothing can arrive now
		conn.rec.OnMessage = ready
		return
	}
	ready()
}
