package attach

import (
	"net"
	"time"
)

// SetGreetingTimeout changes how long each side waits for the other before the stream begins.
func SetGreetingTimeout(d time.Duration) { greetingTimeout = d }

// NewLifetime is newLifetime.
func NewLifetime(idle time.Duration, end func()) *Lifetime {
	return &Lifetime{newLifetime(idle, end)}
}

// Lifetime is lifetime.
type Lifetime struct{ l *lifetime }

func (l *Lifetime) Enter() bool { return l.l.enter() }
func (l *Lifetime) Leave()      { l.l.leave() }

// Files returns the paths of the announcement, the socket and the lock of a place.
func (p Place) Files() (announcement, socket, lock string) {
	return p.path(fileSuffix), p.path(socketSuffix), p.path(lockSuffix)
}

// NewConn is newConn for a test that plays gauze up.
func NewConn(raw net.Conn) *Conn { return newConn(raw, nil) }

// Leave is leave.
func (c *Conn) Leave() error { return c.leave() }
