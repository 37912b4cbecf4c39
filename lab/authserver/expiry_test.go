package authserver

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

const (
	numExpiries = 20
	roundCalls  = 5 // calls of each process during and after an expiry
)

// TestAnnouncedExpiry: tokens are renewed before the end that the provider announced for them. The
// calls of the session take long enough for so many renewals, on a slow machine for more.
func TestAnnouncedExpiry(t *testing.T) {
	t.Parallel()
	const numCalls, expiresIn = 200, time.Second
	w := newWorld(t, expiresIn, expiresIn*(numExpiries+2)/numCalls)
	w.login()
	g := w.start("one")
	g.adds(numCalls)
	w.once(g)
	c := w.provider.Counts()
	t.Logf("%+v", c)
	if c.Logins != 1 || c.UsedTwice != 0 || c.Renewals < numExpiries {
		t.Errorf("want 1 login, at least %d renewals and no refresh token used twice: %+v", numExpiries, c)
	}
}

// TestUnannouncedExpiry: the response has no expires_in, and tokens are renewed when rejected.
func TestUnannouncedExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0, 0)
	w.login()
	w.callThroughExpiries(w.start("one"))
}

// TestEightProcesses does the same with eight processes that share a login.
func TestEightProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0, 0)
	w.login()
	var all []*wrap
	for n := range 8 {
		all = append(all, w.start(fmt.Sprintf("process%d", n)))
	}
	w.callThroughExpiries(all...)
}

// callThroughExpiries calls the tool while the tokens expire, again and again. The user stays logged
// in, and each expiry costs one renewal, for a refresh token that was not used before.
func (w *world) callThroughExpiries(all ...*wrap) {
	w.Helper()
	for range numExpiries {
		together(all, w.provider.RevokeAccess)
		together(all, func() {}) // all have the new token: the next expiry rejects no call twice
	}
	for _, g := range all {
		if g.failed > numExpiries {
			w.Errorf("%s: %d calls met one of %d expiries", g.name, g.failed, numExpiries)
		}
	}
	w.once(all...)
	w.counts(Counts{Logins: 1, Renewals: numExpiries})
}

// together lets all wraps call the tool while something happens.
func together(all []*wrap, happens func()) {
	var wait sync.WaitGroup
	for _, g := range all {
		wait.Go(func() { g.adds(roundCalls) })
	}
	wait.Go(happens)
	wait.Wait()
}
