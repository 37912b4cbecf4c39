package httpguard

import (
	"net"
	"sync"
)

// LimitConns returns a listener that has at most n connections open. Idle ones are closed soon, so
// waiting clients get a turn.
func LimitConns(l net.Listener, n int) net.Listener {
	return &limitedListener{Listener: l, places: make(chan struct{}, n), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	places  chan struct{}
	closing sync.Once
	closed  chan struct{}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &limitedConn{Conn: conn, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

func (l *limitedListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// limitedConn is a connection that frees its place when it is closed.
type limitedConn struct {
	net.Conn
	leave func()
}

func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
