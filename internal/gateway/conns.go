package gateway

import (
	"net"
	"sync"
)

// limited takes no more than mostConns connections at once from l. Those that
// say nothing are closed soon, so whoever waits gets a turn.
func limited(l net.Listener) net.Listener {
	return &limitedListener{Listener: l, places: make(chan struct{}, mostConns), closed: make(chan struct{})}
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
	return &placed{Conn: conn, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

func (l *limitedListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// placed gives its place back when it is closed.
type placed struct {
	net.Conn
	leave func()
}

func (c *placed) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
