package upstream

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// asked is what is asked of the goroutine that runs Serve.
type asked struct {
	again  chan struct{} // see Ask
	now    chan struct{} // see TryNow
	needed chan struct{} // see Wake
	asleep atomic.Bool   // see Sleep

	spec atomic.Pointer[launch.Spec] // see Change; nil: the one that is used
}

func newAsked() asked {
	return asked{again: make(chan struct{}, 1), now: make(chan struct{}, 1), needed: make(chan struct{}, 1)}
}

// Sleep stops the server of a connection because nothing needs it: it reads the end of its input and exits. That
// is not a failure, and no server follows before Wake is called.
func (u *Upstream) Sleep(c *Conn) {
	u.asked.asleep.Store(true)
	c.End(NotNeeded, false)
}

// Wake starts the server if it sleeps. One that is still being stopped is followed by the next.
func (u *Upstream) Wake() {
	u.asked.asleep.Store(false)
	signal(u.asked.needed)
}

// untilNeeded waits while the server sleeps. It returns false if ctx has ended.
func (u *Upstream) untilNeeded(ctx context.Context) bool {
	for u.asked.asleep.Load() {
		u.rested(time.Now())
		select {
		case <-ctx.Done():
			return false
		case <-u.asked.needed: // perhaps of a sleep before this one
		}
	}
	return true
}

// rested records that the server sleeps, also if it failed at the moment at which it was to be stopped.
func (u *Upstream) rested(at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tracker.Rested(at)
	u.outages.died = time.Time{}
}

func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

func drain(from chan struct{}) {
	select {
	case <-from:
	default:
	}
}
