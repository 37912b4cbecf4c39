package faultyhttp

import (
	"net"
	"net/http"
	"runtime"
)

// conn is a TCP connection that can be broken at any moment, whatever net/http is doing with it.
type conn struct {
	*net.TCPConn
	s         *Server
	longLived bool // guarded by Server.mu; see CutStreams
}

type connKey struct{}

func connOf(r *http.Request) *conn { return r.Context().Value(connKey{}).(*conn) }

// Close closes the connection with FIN.
func (c *conn) Close() error {
	c.s.mu.Lock()
	delete(c.s.conns, c)
	c.s.mu.Unlock()
	return c.TCPConn.Close()
}

// reset closes the connection with RST. Data that was written and not yet sent is lost.
func (c *conn) reset() {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// cut closes the connection after a part of a response that the client must see: with RST, or with
// FIN on Windows, where a reset discards what the client has received and not yet read.
func (c *conn) cut() {
	if runtime.GOOS == "windows" {
		_ = c.Close()
		return
	}
	c.reset()
}

// resettable is a listener that tracks its connections and resets some before they are read
// (rst-on-accept).
type resettable struct {
	*net.TCPListener
	s *Server
	g *generation
}

func (l *resettable) Accept() (net.Conn, error) {
	for {
		raw, err := l.AcceptTCP()
		if err != nil {
			return nil, err
		}
		// The size is fixed: a buffer that grows accepts a whole large body, and how much the
		// client could send before a reset would depend on the machine.
		_ = raw.SetReadBuffer(512 << 10) // much less than this stalls on loopback
		c := &conn{TCPConn: raw, s: l.s}
		l.s.mu.Lock()
		dead := l.g.dead
		l.s.dialled++
		broken := dead || l.s.takeArmed(func(a *armed) bool { return a.row.stage == atAccept }) != nil
		if !broken {
			l.s.conns[c] = true
		}
		l.s.mu.Unlock()
		if !broken {
			return c, nil
		}
		c.reset()
	}
}

// DropConnections resets all TCP connections. Sessions and running legacy calls remain.
func (s *Server) DropConnections() {
	s.mu.Lock()
	all := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.reset()
	}
}

// Connections returns the number of TCP connections accepted so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dialled
}
