package attach

import (
	"sync"
	"time"
)

// DefaultIdle is how long a gauze up that was started on demand waits for its next client.
const DefaultIdle = 5 * time.Minute

// lifetime ends a gauze up that was started on demand some time after its last client left, as an
// ssh-agent with a limit does. While it has a client, it does not end.
type lifetime struct {
	idle time.Duration // 0: it does not end
	end  func()

	mu      sync.Mutex
	clients int
	empty   time.Time // since when it has no client
	over    bool
	timer   *time.Timer // runs while it has no client
}

// newLifetime starts without clients.
func newLifetime(idle time.Duration, end func()) *lifetime {
	l := &lifetime{idle: idle, end: end, empty: time.Now()}
	if idle > 0 {
		l.timer = time.AfterFunc(idle, l.expire)
	}
	return l
}

// enter adds a client and reports whether there is still time for it.
func (l *lifetime) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	l.clients++
	if l.timer != nil {
		l.timer.Stop()
	}
	return true
}

// leave removes a client.
func (l *lifetime) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clients--
	l.empty = time.Now()
	if l.clients == 0 && l.timer != nil && !l.over {
		l.timer.Reset(l.idle)
	}
}

// expire ends the lifetime, unless a client was there just before.
func (l *lifetime) expire() {
	l.mu.Lock()
	if l.over || l.clients > 0 || time.Since(l.empty) < l.idle {
		l.mu.Unlock()
		return
	}
	l.over = true
	l.mu.Unlock()
	l.end()
}

// stop ends the lifetime without calling end.
func (l *lifetime) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.timer != nil {
		l.timer.Stop()
	}
}
