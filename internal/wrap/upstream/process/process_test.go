package process

import (
	"testing"
	"testing/synctest"
	"time"
)

// A server that moved to the background has exited, however long it takes to look at what it left.
func TestALeaderThatLeftOthersHasExited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &process{reaped: make(chan struct{}), exited: make(chan struct{})}
		if p.endedWithin(drainGrace, nil) {
			t.Error("it is still running")
		}
		go func() {
			close(p.reaped)
			time.Sleep(10 * drainGrace)
			close(p.exited)
		}()
		if !p.endedWithin(drainGrace, nil) {
			t.Error("it has exited, and what it left is looked at")
		}
	})
}
