package authserver

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// The calls of a session take long enough for so many expiries.
const (
	numCalls    = 200
	minExpiries = 20
)

// TestOneSession calls a tool two hundred times while its tokens expire twenty times.
func TestOneSession(t *testing.T) {
	for name, lifetime := range map[string]time.Duration{
		"announced":   time.Second,            // renewed ahead of time
		"unannounced": 500 * time.Millisecond, // the response has no expires_in: renewed when rejected
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, lifetime, lifetime*(minExpiries+2)/numCalls)
			w.login()
			g := w.start("one")
			g.adds(numCalls)
			w.once(g)
			w.stayedLoggedIn()
		})
	}
}

// TestEightProcesses does the same with eight processes that share a login.
func TestEightProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Second, time.Second*(minExpiries+2)/numCalls)
	w.login()
	var all []*wrap
	for n := range 8 {
		all = append(all, w.start(fmt.Sprintf("process%d", n)))
	}
	var wait sync.WaitGroup
	for _, g := range all {
		wait.Go(func() { g.adds(numCalls) })
	}
	wait.Wait()
	w.once(all...)
	w.stayedLoggedIn()
}

// stayedLoggedIn checks that the person was asked once and that many tokens were issued, each for a
// refresh token that was not used before.
func (w *world) stayedLoggedIn() {
	w.Helper()
	c := w.provider.Counts()
	w.Logf("%+v", c)
	if c.Logins != 1 || c.UsedTwice != 0 || c.Renewals < minExpiries {
		w.Errorf("want 1 login, at least %d renewals and no refresh token used twice: %+v", minExpiries, c)
	}
}
