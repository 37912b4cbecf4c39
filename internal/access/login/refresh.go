package login

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// limits are how long things take. Tests shorten them.
type limits struct {
	budget  time.Duration // how long one renewal is waited for, and how long new attempts start
	attempt time.Duration // how long one request may take. It is longer than the budget, so that no token is sent again while the server may still rotate it.
	backoff time.Duration // the pause after the first failed attempt
	pause   time.Duration // how long Header does not renew a token again after it failed
	wait    time.Duration // how long a token must be valid to be used while it is renewed
	poll    time.Duration // how often Changed looks at the store
}

var defaultLimits = limits{
	budget:  20 * time.Second,
	attempt: 30 * time.Second,
	backoff: 250 * time.Millisecond,
	pause:   10 * time.Second,
	wait:    10 * time.Second,
	poll:    time.Second,
}

const (
	failedNowTime = 2 * time.Second // how long the failure of a renewal is the answer to other requests for it
	maxFresh      = 2               // how many tokens in a row the server may reject right after they were renewed
	freshTime     = time.Minute     // how long a token with a longer lifetime counts as just renewed
)

// A renewal is in progress. All requests that need it wait for the same one.
type renewal struct {
	done chan struct{}
	err  error
}

// failure is the last renewal that failed.
type failure struct {
	token string
	err   error
	at    time.Time
}

// unsaved is a renewed login that could not be stored.
type unsaved struct {
	login Login
	over  string // the access token in the store, which login replaces; empty if it has none
	tried time.Time
}

// replaces reports whether u is newer than what the store has, or unknown because it cannot be read.
func (u *unsaved) replaces(l Login, err error) bool {
	if err != nil && !errors.Is(err, ErrNone) {
		return true
	}
	return l.Access == u.over
}

// renewals counts the renewals of this process that are in progress.
var renewals struct {
	sync.Mutex
	number int
	idle   chan struct{} // closed when number becomes 0; nil unless Wait waits
}

// Wait waits until this process renews no login. A process that exits during a renewal may lose the
// only copy of a token.
func Wait(ctx context.Context) {
	renewals.Lock()
	if renewals.number == 0 {
		renewals.Unlock()
		return
	}
	if renewals.idle == nil {
		renewals.idle = make(chan struct{})
	}
	idle := renewals.idle
	renewals.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

func countRenewals(change int) {
	renewals.Lock()
	defer renewals.Unlock()
	renewals.number += change
	if renewals.number == 0 && renewals.idle != nil {
		close(renewals.idle)
		renewals.idle = nil
	}
}

// renew replaces the token stale, or waits for the renewal that does. Its end does not depend on
// ctx: a request that is cancelled does not cancel the renewal that others wait for.
func (s *Source) renew(ctx context.Context, stale string, rejected bool) error {
	r := s.begin(stale, rejected)
	limit := time.NewTimer(s.limits.budget)
	defer limit.Stop()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		return &Temporary{Why: fmt.Sprintf("the renewal did not finish within %v", s.limits.budget)}
	}
}

// begin starts a renewal unless there is one.
func (s *Source) begin(stale string, rejected bool) *renewal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.renewal != nil {
		return s.renewal
	}
	r := &renewal{done: make(chan struct{})}
	s.renewal = r
	countRenewals(1)
	go func() {
		defer countRenewals(-1)
		defer close(r.done)
		before := s.look(false).login
		r.err = s.renewOnce(stale, rejected)
		if n, ok := errors.AsType[*Needed](r.err); ok && rejected {
			s.explainMove(n, before)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.renewal, s.failed = nil, failure{}
		if r.err != nil {
			s.failed = failure{stale, r.err, time.Now()}
		}
	}()
	return r
}

// failedLately reports whether a renewal of the token failed within the last d.
func (s *Source) failedLately(token string, d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed.err != nil && s.failed.token == token && time.Since(s.failed.at) < d
}

// failedNow returns the error of a renewal that failed a moment ago: that for the same request, if
// Header waited for it.
func (s *Source) failedNow(token string) error {
	if token == "" || !s.failedLately(token, min(failedNowTime, s.limits.pause)) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed.err
}

// renewOnce replaces the token stale while no other process does. It returns nil if there is a
// different one, whichever process obtained it.
func (s *Source) renewOnce(stale string, rejected bool) error {
	store, err := s.store()
	if err != nil {
		return s.needed(err.Error())
	}
	if n := s.unrenewable(s.look(true)); n != nil {
		return n
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.limits.budget)
	defer cancel()
	unlock, err := store.Lock(ctx, s.resource, s.options.Account)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return &Temporary{Why: "another gauze process is renewing it", err: err}
	default:
		unlock = func() {} // The directory cannot be written to. What is renewed stays in memory.
	}
	defer func() { unlock() }()

	h := s.look(true)
	if h.token() != "" && h.token() != stale && h.login.usable(s.now()) {
		return nil
	}
	if s.options.Grant != "" {
		l, err := s.machineToken(ctx, h.login.Issuer)
		if err != nil {
			return err
		}
		// It has no refresh token, so nothing is lost if it is not stored, and no request waits until
		// it is: a keyring may not respond.
		first := s.hold(l, h.login.Access)
		s.look(true)
		countRenewals(1)
		go func(unlock func()) {
			defer countRenewals(-1)
			defer unlock()
			s.adopted(l, store.Put(l), first)
		}(unlock)
		unlock = func() {}
		return nil
	}
	if n := s.unrenewable(h); n != nil {
		return n
	}
	if rejected && s.tooFresh(h.login) {
		return s.needed("the server rejects the login although it was just renewed")
	}
	return s.exchangeAny(ctx, store, h.login, stale)
}

// unrenewable returns why a person is needed, or nil.
func (s *Source) unrenewable(h *held) error {
	switch {
	case s.options.Grant != "":
		return nil
	case errors.Is(h.err, ErrNone):
		return s.needed(NotLoggedIn)
	case h.err != nil:
		return s.needed(h.err.Error())
	case h.login.Ended != "":
		return s.needed(h.login.Ended)
	case h.login.Grant != "":
		return s.needed("the login is no longer accepted; to let gauze renew it, start gauze with --grant " + h.login.Grant + " and the client secret that you logged in with")
	case h.login.Refresh == "":
		return s.needed("the login is no longer accepted, and the authorization server did not issue a refresh token to renew it")
	}
	return nil
}

// tooFresh reports whether the server seems to reject whatever token it gets: l was just renewed and
// never accepted, and so was the one before.
func (s *Source) tooFresh(l Login) bool {
	age := s.now().Sub(l.Refreshed)
	limit := freshTime
	if lifetime := l.lifetime(); lifetime > 0 {
		limit = min(limit, lifetime/2)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case l.Refreshed.IsZero() || age < 0 || age > limit || s.wasAccepted(l.Access):
		s.numFresh = 0
	case s.givenUp == l.Access:
		return true
	default:
		s.numFresh++
	}
	if s.numFresh > maxFresh {
		s.givenUp = l.Access
		return true
	}
	return false
}

// exchangeAny renews l with its refresh token; if that is rejected, with one that a different program
// stored meanwhile, and then with the previous one. If all are rejected the login has ended.
func (s *Source) exchangeAny(ctx context.Context, store *Store, l Login, stale string) error {
	n, err := s.exchange(ctx, l, l.Refresh)
	if isCode(err, "invalid_grant") {
		if h := s.look(true); h.err == nil && h.login.Ended == "" && h.login.Refresh != l.Refresh {
			if l = h.login; l.Access != stale && l.usable(s.now()) {
				return nil
			}
			n, err = s.exchange(ctx, l, l.Refresh)
		}
	}
	if isCode(err, "invalid_grant") && l.Previous != "" {
		n, err = s.exchange(ctx, l, l.Previous)
	}
	if err == nil {
		if s.answered != nil {
			s.answered()
		}
		return s.replace(store, l, n)
	}
	var refused *refusal
	if !errors.As(err, &refused) {
		return &Temporary{Why: err.Error(), err: err}
	}
	switch {
	case refused.code == "invalid_grant":
		return s.end(store, l, "the authorization server no longer accepts the login"+refused.explanation())
	case refused.code == "invalid_client" && l.Client.Registered:
		return s.end(store, l, "the authorization server no longer recognizes this installation of gauze"+refused.explanation())
	case refused.code == "invalid_client":
		return s.needed("the authorization server rejected the client ID or its secret" + refused.explanation())
	case refused.code != "":
		return s.needed("the authorization server refused to renew the login" + refused.explanation())
	}
	return &Temporary{Why: refused.Error(), err: refused}
}

// replace stores the renewed login n in place of l, unless a person logged in or out meanwhile.
func (s *Source) replace(store *Store, l, n Login) error {
	h := s.look(true)
	switch {
	case errors.Is(h.err, ErrNone):
		return s.needed("the login was removed")
	case h.err == nil && h.login.Ended == "" && (h.login.Issuer != l.Issuer || !h.login.Began.Equal(l.Began)):
		return nil
	}
	s.adopt(store, n, l.Access)
	return nil
}

// adopt stores a login, and then uses it. If it cannot be stored it is kept in memory, and stored
// later.
func (s *Source) adopt(store *Store, l Login, over string) {
	err := store.Put(l)
	s.adopted(l, err, err != nil && s.hold(l, over))
}

// hold keeps a login in memory until it is stored in place of the one with the token over. first is
// false if there was one already.
func (s *Source) hold(l Login, over string) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first = s.unsaved == nil; !first {
		over = s.unsaved.over // which is still in the store
	}
	s.unsaved = &unsaved{l, over, time.Now()}
	return first
}

// adopted uses a login after the attempt to store it. The first error is reported.
func (s *Source) adopted(l Login, err error, first bool) {
	switch {
	case err == nil:
		s.mu.Lock()
		s.unsaved = nil
		s.mu.Unlock()
	case first && s.config.Unsaved != nil:
		s.config.Unsaved(err)
	}
	s.look(true)
	if s.config.Renewed != nil {
		s.config.Renewed(l.Status())
	}
}

// end records that a login can no longer be used, and why.
func (s *Source) end(store *Store, l Login, why string) error {
	l.Access, l.Refresh, l.Previous, l.Expires, l.Ended = "", "", "", time.Time{}, why
	store.Put(l) // else the next process finds out again
	s.mu.Lock()
	s.unsaved = nil
	s.mu.Unlock()
	s.look(true)
	if s.config.Renewed != nil {
		s.config.Renewed(l.Status())
	}
	return s.needed(why)
}

// save tries again to store a login that is only in memory, now and then.
func (s *Source) save() {
	s.mu.Lock()
	u := s.unsaved
	due := u != nil && time.Since(u.tried) > s.limits.pause
	if due {
		u.tried = time.Now()
	}
	s.mu.Unlock()
	if !due {
		return
	}
	countRenewals(1)
	go func() {
		defer countRenewals(-1)
		ctx, cancel := context.WithTimeout(context.Background(), s.limits.budget)
		defer cancel()
		store, _ := s.store()
		unlock, err := store.Lock(ctx, s.resource, s.options.Account)
		if err != nil {
			return
		}
		defer unlock()
		s.look(true) // drops it if a different process was faster
		s.mu.Lock()
		still := s.unsaved == u
		s.mu.Unlock()
		if !still || store.Put(u.login) != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.unsaved == u {
			s.unsaved = nil
		}
	}()
}

// jittered returns a duration between half of d and d.
func jittered(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
