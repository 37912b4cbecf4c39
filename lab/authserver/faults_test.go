package authserver

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestRevokedToken: an access token that is revoked before its time is renewed once, also for calls at
// the same time.
func TestRevokedToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour, 0)
	w.login()
	g := w.start("one")
	g.adds(3)
	for range 3 {
		w.provider.RevokeAccess()
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() { g.adds(1) })
		}
		wait.Wait()
	}
	w.once(g)
	w.counts(Counts{Logins: 1, Renewals: 3})
}

// TestEndedLogin: a login that was ended at the provider is answered with one question, and a new one
// is used by the processes that run.
func TestEndedLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour, 0)
	w.login()
	all := []*wrap{w.start("one"), w.start("two")}
	for _, g := range all {
		g.adds(2)
	}
	if err := w.provider.EndLogin(); err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		g.asks()
	}
	w.counts(Counts{Logins: 1})
	w.login()
	for _, g := range all {
		g.adds(2)
	}
	w.once(all...)
	w.counts(Counts{Logins: 2})
}

// TestFailingProvider: a renewal that fails is tried again while a call waits for it, and the login is
// kept.
func TestFailingProvider(t *testing.T) {
	for name, fail := range map[string]http.HandlerFunc{
		"unavailable": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "try again", http.StatusServiceUnavailable)
		},
		"too many": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "try again", http.StatusTooManyRequests) },
		"cut":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"half an answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"access_token": "`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, time.Hour, 0)
			w.login()
			g := w.start("one")
			g.adds(2)
			var failures atomic.Int32
			w.provider.Intercept(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.URL.Path == TokenPath && failures.Add(1) <= 2 {
					fail(rw, r)
					return
				}
				next.ServeHTTP(rw, r)
			})
			w.provider.RevokeAccess()
			g.adds(2)
			if failures.Load() < 3 {
				t.Errorf("%d token requests", failures.Load())
			}
			w.once(g)
			w.counts(Counts{Logins: 1, Renewals: 1})
		})
	}
}

// TestUnreachableProvider: while the provider is down, a call that needs a new token fails with a
// temporary fault and no effect. The login is kept and used once the provider is back.
func TestUnreachableProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour, 0)
	w.login()
	g := w.start("one")
	g.adds(2)
	w.provider.Stop()
	g.adds(2) // the token is valid
	w.provider.RevokeAccess()
	if key, ok := g.tries(); ok {
		t.Fatalf("%s succeeded without a valid token", key)
	}
	if err := w.provider.Start(); err != nil {
		t.Fatal(err)
	}
	for ok := false; !ok; { // for a moment, calls fail without another attempt to renew the token
		_, ok = g.tries()
	}
	g.adds(2)
	w.once(g)
	w.counts(Counts{Logins: 1, Renewals: 1})
}

// TestKilledBeforeTheAnswer kills a process whose renewal has not reached the provider: the others
// renew the token.
func TestKilledBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour, 0)
	w.login()
	others := w.killInRenewal(func(rw http.ResponseWriter, r *http.Request, _ http.Handler) { io.Copy(io.Discard, r.Body) })
	for _, g := range others {
		g.adds(3)
	}
	w.counts(Counts{Logins: 1, Renewals: 1})
}

// TestKilledAfterTheAnswer kills a process after the provider replaced its refresh token and before
// it was stored. The old one is tried; then each other process asks for a login, and uses it.
func TestKilledAfterTheAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour, 0)
	w.login()
	others := w.killInRenewal(func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
	})
	for _, g := range others {
		g.asks()
	}
	if c := w.provider.Counts(); c.Logins != 1 || c.Renewals != 1 || c.UsedTwice != 1 {
		t.Errorf("want the old refresh token to be tried once: %+v", c)
	}
	w.login()
	for _, g := range others {
		g.adds(3)
	}
}

// killInRenewal starts four processes and kills the first while it renews a token: take gets its
// request, whose response is never sent. It returns the others.
func (w *world) killInRenewal(take Interceptor) []*wrap {
	w.Helper()
	var all []*wrap
	for n := range 4 {
		g := w.start(fmt.Sprintf("process%d", n))
		g.adds(1)
		all = append(all, g)
	}
	arrived, gone := make(chan struct{}), make(chan struct{})
	var taken atomic.Bool
	w.provider.Intercept(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Path != TokenPath || taken.Swap(true) {
			next.ServeHTTP(rw, r)
			return
		}
		take(rw, r, next)
		close(arrived)
		<-r.Context().Done() // the process was killed
		close(gone)
	})
	w.provider.RevokeAccess()
	go all[0].add(w.Context())
	<-arrived
	if err := all[0].cmd.Process.Kill(); err != nil {
		w.Fatal(err)
	}
	<-gone
	return all[1:]
}

// tries reports whether a call succeeds. If not, it must fail with the fault for a login that cannot be
// renewed at the moment.
func (g *wrap) tries() (key string, ok bool) {
	g.world.Helper()
	key, err := g.add(g.world.Context())
	if err == nil {
		return key, true
	}
	g.failed++
	if !strings.Contains(err.Error(), "login-unavailable") || strings.Contains(err.Error(), "gauze login") {
		g.world.Fatalf("%s: want a temporary fault: %v\n%s", key, err, g.stderr)
	}
	return key, false
}

// asks checks that a call fails with a fault that names the command to log in, and has no effect.
func (g *wrap) asks() {
	g.world.Helper()
	key, err := g.add(g.world.Context())
	if err == nil || !strings.Contains(err.Error(), "gauze login "+g.world.resource.URL) {
		g.world.Errorf("%s: want a fault that names gauze login: %v\n%s", key, err, g.stderr)
	}
	g.failed++
	if n := g.world.resource.Effects()[key]; n != 0 {
		g.world.Errorf("%s took effect %d times", key, n)
	}
}

// counts checks what the provider did. How many tokens were rejected does not matter.
func (w *world) counts(want Counts) {
	w.Helper()
	got := w.provider.Counts()
	got.Rejected = 0
	if got != want {
		w.Errorf("the provider: %+v, want %+v", got, want)
	}
}
