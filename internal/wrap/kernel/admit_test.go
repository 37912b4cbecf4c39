package kernel

import (
	"testing"
	"time"
)

// The window appears with a crash, widens with every success, and goes away.
func TestTheWindowFollowsACrash(t *testing.T) {
	t.Parallel()
	start := time.Now()
	allowed := func(a *admission, now time.Time) (n int) {
		for a.unsafe = 0; a.allows(now) && n < 1000; n++ {
			a.unsafe++
		}
		a.unsafe = 0
		return n
	}
	a := &admission{}
	if n := allowed(a, start); n != 1000 {
		t.Errorf("%d calls before any crash", n)
	}
	a.crash(start)
	if n := allowed(a, start); n != 1 {
		t.Errorf("%d calls after a crash", n)
	}
	for range growAfter {
		a.grow()
	}
	if n := allowed(a, start); n != 2 {
		t.Errorf("%d calls after %d successes", n, growAfter)
	}
	if n := allowed(a, start.Add(crashedFor)); n != 1000 {
		t.Errorf("%d calls long after the crash", n)
	}
	for range growAfter * maxWindow {
		a.grow()
	}
	if n := allowed(a, start); n != 1000 {
		t.Errorf("%d calls after many successes", n)
	}
	a.fixed = 3
	if n := allowed(a, start); n != 3 {
		t.Errorf("%d calls in a window of 3", n)
	}
}
