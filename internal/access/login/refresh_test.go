package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// first handles the first n requests to the token endpoint with f.
func first(n int, f func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
	var done atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/token" || int(done.Add(1)) > n {
			return false
		}
		f(w)
		return true
	}
}

// faults are the ways in which a token endpoint fails without saying anything about the login.
var faults = map[string]func(w http.ResponseWriter){
	"500": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
	"503 with an error of OAuth": func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"error":"invalid_grant"}`)
	},
	"429": func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) },
	"429 until a date": func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
	},
	"nothing": func(w http.ResponseWriter) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Read(make([]byte, 1)) // until the client closes it
		conn.Close()
	},
	"no response": func(w http.ResponseWriter) { panic(http.ErrAbortHandler) },
	"cut in the middle": func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"access_token":"`+canary)
	},
	"not JSON": func(w http.ResponseWriter) { fmt.Fprint(w, "<html>welcome</html>") },
	"empty":    func(w http.ResponseWriter) { fmt.Fprint(w, "{}") },
	"an error that passes": func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"temporarily_unavailable"}`)
	},
}

func TestARenewalIsTriedAgain(t *testing.T) {
	for what, fault := range faults {
		if what == "nothing" {
			continue // see TestASlowAnswerIsWaitedFor
		}
		t.Run(what, func(t *testing.T) {
			i := newIssuer(t)
			store := testStore(t, nil)
			put(t, store, i.login())
			i.set(first(2, fault))
			if status, err := i.call(t.Context(), i.source(store, Config{})); status != 200 || err != nil {
				t.Error(status, err)
			}
		})
	}
}

func TestALoginSurvivesAServerThatCannotAnswer(t *testing.T) {
	for what, fault := range faults {
		inBubble(t, what, func(t *testing.T) {
			i := newPipedIssuer(t)
			store := testStore(t, nil)
			put(t, store, i.login())
			i.set(first(1e6, fault))
			s := i.source(store, Config{Renewed: func(s Status) { t.Error("renewed or ended:", s.Ended) }})
			s.limits = defaultLimits
			status, err := i.call(t.Context(), s)
			var temporary *Temporary
			if !errors.As(err, &temporary) || status != 401 || temporary.Why == "" {
				t.Fatal(status, err)
			}
			Wait(t.Context())
			if l, err := store.Find(s.resource, ""); err != nil || l.Refresh != i.login().Refresh || l.Access != i.login().Access || l.Ended != "" {
				t.Error("the login was not kept:", l.Ended, err)
			}
			i.set(nil)
			later := i.source(store, Config{})
			if status, err := i.call(t.Context(), later); status != 200 || err != nil {
				t.Error("when it can answer:", status, err)
			}
		})
	}
}

// A call does not wait for a slow server for long, but the renewal does: a refresh token that is sent
// again while the server may still rotate it ends the login.
func TestASlowAnswerIsWaitedFor(t *testing.T) {
	for what, delay := range map[string]time.Duration{
		"the call waits":   defaultLimits.budget - 5*time.Second,
		"the call gave up": defaultLimits.budget + 5*time.Second,
	} {
		inBubble(t, what, func(t *testing.T) {
			i := newPipedIssuer(t)
			store := testStore(t, nil)
			put(t, store, i.login())
			i.set(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/token" {
					time.Sleep(delay)
				}
				return false
			})
			s := i.source(store, Config{})
			s.limits = defaultLimits
			_, err := i.call(t.Context(), s)
			if _, gaveUp := errors.AsType[*Temporary](err); gaveUp != (delay > s.limits.budget) {
				t.Error("while it is slow:", err)
			}
			Wait(t.Context())
			if status, err := i.call(t.Context(), s); status != 200 || err != nil {
				t.Error("when it has answered:", status, err)
			}
			if n := len(i.received()); n != 1 {
				t.Errorf("the refresh token was sent %d times", n)
			}
		})
	}
}

// inBubble runs a subtest with a clock of its own, so that the limits can be those of users.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func TestRetryAfterBeyondTheBudgetIsNotWaitedFor(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	put(t, store, i.login())
	var asked atomic.Int32
	i.set(first(1e6, func(w http.ResponseWriter) {
		asked.Add(1)
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	_, err := i.call(t.Context(), i.source(store, Config{}))
	var temporary *Temporary
	if !errors.As(err, &temporary) || asked.Load() != 1 {
		t.Error(err, asked.Load())
	}
}

func TestAStatusThatSaysNothingAboutTheLoginIsTemporary(t *testing.T) {
	for _, status := range []int{302, 403, 404} {
		i := newIssuer(t)
		store := testStore(t, nil)
		put(t, store, i.login())
		var asked atomic.Int32
		i.set(first(1e6, func(w http.ResponseWriter) {
			asked.Add(1)
			w.Header().Set("Location", i.URL+"/elsewhere")
			w.WriteHeader(status)
		}))
		s := i.source(store, Config{})
		s.config.Client = nil // the default one
		_, err := i.call(t.Context(), s)
		var temporary *Temporary
		if !errors.As(err, &temporary) || asked.Load() != 1 || !strings.Contains(temporary.Why, fmt.Sprint("HTTP ", status)) || len(i.received()) != 0 {
			t.Error(status, err, asked.Load())
		}
	}
}

func TestOnlyARefusalEndsALogin(t *testing.T) {
	reply := func(text string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadRequest); fmt.Fprint(w, text) }
	}
	for what, c := range map[string]struct {
		reply func(w http.ResponseWriter)
		ends  bool
		says  string
	}{
		"invalid_grant":       {reply(`{"error":"invalid_grant","error_description":"token revoked"}`), true, "no longer accepts the login (invalid_grant: token revoked)"},
		"with status 200":     {func(w http.ResponseWriter) { fmt.Fprint(w, `{"error":"invalid_grant"}`) }, true, "no longer accepts"},
		"invalid_client":      {reply(`{"error":"invalid_client"}`), true, "no longer recognizes this installation of gauze"},
		"unauthorized_client": {reply(`{"error":"unauthorized_client"}`), false, "refused to renew the login (unauthorized_client)"},
		"a different type":    {func(w http.ResponseWriter) { fmt.Fprint(w, `{"access_token":"x","token_type":"DPoP"}`) }, false, "unsupported_token_type: DPoP"},
		"a line break":        {func(w http.ResponseWriter) { fmt.Fprint(w, `{"access_token":"x\r\nX-Evil: 1","expires_in":9}`) }, false, "a token that cannot be sent in a header"},
	} {
		t.Run(what, func(t *testing.T) {
			i := newIssuer(t)
			store := testStore(t, nil)
			put(t, store, i.login())
			i.set(first(1e6, c.reply))
			var renewed []Status
			s := i.source(store, Config{Renewed: func(s Status) { renewed = append(renewed, s) }})
			_, err := i.call(t.Context(), s)
			var needed *Needed
			if !errors.As(err, &needed) || !strings.Contains(needed.Why, c.says) {
				t.Fatal(err)
			}
			l, err := store.Find(s.resource, "")
			if err != nil || (l.Ended != "") != c.ends || (l.Access+l.Refresh+l.Previous == "") != c.ends || (len(renewed) == 1) != c.ends {
				t.Error(l.Status(), renewed, err)
			}
			if header, err := s.header(t.Context()); err != nil || (header == nil) != c.ends {
				t.Error("a token is sent:", header != nil, err)
			}
			if !c.ends {
				return
			}
			if _, err = i.call(t.Context(), s); !errors.As(err, &needed) || !strings.Contains(needed.Why, c.says) {
				t.Error("the next call:", err)
			}
		})
	}
}

func TestARejectedSecretOfTheUserDoesNotEndTheLogin(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	l := i.login()
	l.Client = Client{ID: "mine", Secret: canary + "old"}
	put(t, store, l)
	s := i.source(store, Config{})
	i.set(func(w http.ResponseWriter, r *http.Request) bool {
		id, secret, _ := r.BasicAuth()
		if r.URL.Path != "/token" || id == "mine" && secret == "new+secret%26" {
			return false
		}
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"invalid_client"}`)
		return true
	})
	_, err := i.call(t.Context(), s)
	var needed *Needed
	if !errors.As(err, &needed) || !strings.Contains(needed.Why, "rejected the client ID or its secret") {
		t.Fatal(err)
	}
	s = New(s.url, launch.Login{ClientID: "mine", ClientSecret: "new secret&"}, Config{Store: store, Client: i.Client()})
	if status, err := i.call(t.Context(), s); status != 200 || err != nil {
		t.Error("with the new secret:", status, err)
	}
}

func TestThePreviousTokenIsTriedLast(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	l := i.login()
	l.Refresh, l.Previous = canary+"lost", canary+"refresh-0"
	put(t, store, l)
	i.set(func(w http.ResponseWriter, r *http.Request) bool { // a server that forgot the last rotation
		if r.PostForm.Get("refresh_token") != canary+"lost" {
			return false
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant"}`)
		return true
	})
	s := i.source(store, Config{})
	if status, err := i.call(t.Context(), s); status != 200 || err != nil {
		t.Fatal(status, err)
	}
	if l, err := store.Find(s.resource, ""); err != nil || l.Refresh != canary+"refresh-1" || l.Ended != "" {
		t.Error(l.Status(), err)
	}
}

// A program that does not lock the store renewed the login after it was read.
func TestATokenRotatedByADifferentProgramIsUsed(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	put(t, store, i.login())
	i.set(first(1, func(w http.ResponseWriter) {
		i.mu.Lock()
		l := i.login()
		l.Access, l.Refresh, l.Previous = canary+"access-theirs", canary+"refresh-theirs", l.Refresh
		i.valid[l.Access], i.refresh = time.Now().Add(time.Hour), l.Refresh
		i.mu.Unlock()
		if err := store.Put(l); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant"}`)
	}))
	s := i.source(store, Config{})
	if status, err := i.call(t.Context(), s); status != 200 || err != nil || len(i.received()) != 0 {
		t.Error(status, err, len(i.received()))
	}
}

func TestALoginMadeOrRemovedMeanwhileIsNotOverwritten(t *testing.T) {
	for _, what := range []string{"a new login", "logged out"} {
		t.Run(what, func(t *testing.T) {
			i := newIssuer(t)
			store := testStore(t, nil)
			put(t, store, i.login())
			s := i.source(store, Config{})
			s.answered = func() {
				store.Remove(i.login().Key)
				if what == "logged out" {
					return
				}
				l := i.login()
				l.Began = l.Began.Add(time.Minute)
				l.Access = canary + "access-person"
				i.mu.Lock()
				i.valid[l.Access] = time.Now().Add(time.Hour)
				i.mu.Unlock()
				if err := store.Put(l); err != nil {
					t.Error(err)
				}
			}
			status, err := i.call(t.Context(), s)
			l, found := store.Find(s.resource, "")
			if what == "logged out" {
				if !errors.Is(found, ErrNone) || status != 401 {
					t.Error("the login is back:", status, found)
				}
			} else if found != nil || status != 200 || l.Access != canary+"access-person" {
				t.Error(l.Status(), found, status, err)
			}
		})
	}
}

func TestClocksThatAreOffDoNotMatter(t *testing.T) {
	i := newIssuer(t)
	i.lifetime = 5 * time.Minute
	store := testStore(t, nil)
	put(t, store, i.login())
	ahead, right, late := i.source(store, Config{}), i.source(store, Config{}), i.source(store, Config{})
	ahead.now = func() time.Time { return time.Now().Add(10 * time.Minute) }
	late.now = func() time.Time { return time.Now().Add(-10 * time.Minute) }
	sources := []*Source{late, right, ahead, right, late, ahead}
	for range 4 {
		for n, s := range sources {
			if status, err := i.call(t.Context(), s); status != 200 || err != nil {
				t.Fatal(n, status, err)
			}
		}
		i.mu.Lock()
		clear(i.valid) // all expire
		i.mu.Unlock()
	}
	// Each expiry is noticed once, and the clock that is ahead takes the tokens of the others for expired.
	if n := len(i.received()); n > 4*3 {
		t.Errorf("%d renewals", n)
	}
}

func TestADueTokenIsRenewedBeforeItExpires(t *testing.T) {
	for what, c := range map[string]struct {
		left   time.Duration
		waited bool // the request had the new token
	}{"in the background": {5 * time.Minute, false}, "before the request": {5 * time.Second, true}, "expired": {-time.Hour, true}} {
		t.Run(what, func(t *testing.T) {
			i := newIssuer(t)
			store := testStore(t, nil)
			l := i.login()
			l.Began, l.Expires = time.Now().Add(c.left-time.Hour), time.Now().Add(c.left)
			put(t, store, l)
			s := i.source(store, Config{})
			header, err := s.header(t.Context())
			if err != nil || (header.Get("Authorization") == "Bearer "+canary+"access-1") != c.waited {
				t.Error(err)
			}
			Wait(t.Context())
			if header, err := s.header(t.Context()); err != nil || header.Get("Authorization") != "Bearer "+canary+"access-1" {
				t.Error("after it:", err)
			}
		})
	}
}

func TestADoubtfulTokenIsRenewedOnce(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	put(t, store, i.login())
	s := i.source(store, Config{})
	s.Doubt() // nothing was sent yet
	for n, want := range []string{"access-0", "access-1", "access-1"} {
		if header, err := s.header(t.Context()); err != nil || header.Get("Authorization") != "Bearer "+canary+want {
			t.Error(n, err)
		}
		if n == 0 {
			s.Doubt()
		}
	}
}

func TestRequestsRejectedTogetherWaitForOneRenewal(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	put(t, store, i.login())
	s := i.source(store, Config{})
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			if status, err := i.call(t.Context(), s); status != 200 || err != nil {
				t.Error(status, err)
			}
		})
	}
	all.Wait()
	if sent := i.received(); len(sent) != 1 {
		t.Errorf("%d renewals", len(sent))
	}
}

func TestACancelledRequestDoesNotCancelTheRenewal(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	put(t, store, i.login())
	s := i.source(store, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	s.answered = cancel
	s.header(ctx)
	s.Doubt()
	if _, err := s.header(ctx); !errors.Is(err, context.Canceled) && err != nil {
		t.Error(err)
	}
	Wait(t.Context())
	if l, err := store.Find(s.resource, ""); err != nil || l.Refresh != canary+"refresh-1" {
		t.Error(l.Status(), err)
	}
}

func TestAServerThatRejectsEveryTokenIsNotRenewedForEndlessly(t *testing.T) {
	i := newIssuer(t)
	i.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/mcp" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		return r.URL.Path == "/mcp"
	})
	store := testStore(t, nil)
	put(t, store, i.login())
	s := i.source(store, Config{})
	var err error
	for range 10 {
		_, err = i.call(t.Context(), s)
		s.mu.Lock()
		s.failed = failure{} // a while later
		s.mu.Unlock()
	}
	var needed *Needed
	if !errors.As(err, &needed) || !strings.Contains(needed.Why, "just renewed") || len(i.received()) != 1+maxFresh {
		t.Error(err, len(i.received()))
	}
	if l, err := store.Find(s.resource, ""); err != nil || l.Ended != "" {
		t.Error("the login was not kept:", err)
	}
}

func TestAFullDiskKeepsTheLoginInMemory(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	put(t, store, i.login())
	var full atomic.Bool
	full.Store(true)
	store.write = func(path string, content []byte) error {
		if full.Load() {
			return &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
		}
		return replaceFile(path, content)
	}
	var unsaved []error
	s := i.source(store, Config{Unsaved: func(err error) { unsaved = append(unsaved, err) }})
	for n := range 3 {
		if status, err := i.call(t.Context(), s); status != 200 || err != nil {
			t.Fatal(n, status, err)
		}
		i.mu.Lock()
		clear(i.valid)
		i.mu.Unlock()
	}
	if len(unsaved) != 1 || !errors.Is(unsaved[0], syscall.ENOSPC) || !strings.Contains(unsaved[0].Error(), "cannot write the login to "+store.dir) {
		t.Error(unsaved)
	}
	if sent := i.received(); len(sent) != 3 || len(slices.Compact(sent)) != 3 {
		t.Error("a refresh token was sent twice")
	}
	if l, err := store.Find(s.resource, ""); err != nil || l.Refresh != canary+"refresh-0" {
		t.Error(l.Status(), err)
	}
	full.Store(false)
	s.limits.pause = 0
	s.header(t.Context())
	Wait(t.Context())
	if l, err := store.Find(s.resource, ""); err != nil || l.Refresh != canary+"refresh-3" {
		t.Error("it was not stored later:", l.Status(), err)
	}
}

// Neither the lock nor the login can be written.
func TestAReadOnlyStoreKeepsTheLoginInMemory(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	if err := store.makeDir(); err != nil {
		t.Fatal(err)
	}
	l := i.login()
	if err := os.Mkdir(filepath.Join(store.dir, fileName(l.Resource, "")+".lock"), 0o500); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(l); err != nil {
		t.Fatal(err)
	}
	store.write = func(path string, _ []byte) error { return &os.PathError{Op: "open", Path: path, Err: syscall.EROFS} }
	s := i.source(store, Config{})
	for n := range 2 {
		if status, err := i.call(t.Context(), s); status != 200 || err != nil {
			t.Error(n, status, err)
		}
	}
	if len(i.received()) != 1 {
		t.Error(len(i.received()))
	}
}

func TestAnUnreadableStoreIsExplained(t *testing.T) {
	i := newIssuer(t)
	for what, spoil := range map[string]func(t *testing.T, store *Store){
		"damaged":      func(t *testing.T, store *Store) { os.WriteFile(onlyFile(t, store), []byte("{"), 0o600) },
		"not readable": func(t *testing.T, store *Store) { f := onlyFile(t, store); os.Remove(f); os.Mkdir(f, 0o700) },
		"locked":       func(t *testing.T, store *Store) { store.key = &keyring{ring: &memory{err: errors.New("locked")}} },
	} {
		t.Run(what, func(t *testing.T) {
			store := testStore(t, &memory{})
			put(t, store, i.login())
			spoil(t, store)
			file := onlyFile(t, store)
			s := i.source(store, Config{})
			if header, err := s.header(t.Context()); header != nil || err != nil {
				t.Error("a server that requires no login would fail:", header, err)
			}
			_, err := i.call(t.Context(), s)
			var needed *Needed
			if !errors.As(err, &needed) || !strings.Contains(needed.Why, file) {
				t.Error(err)
			}
			if _, err := os.Stat(file); err != nil {
				t.Error("the file is gone:", err)
			}
		})
	}
	if len(i.received()) != 0 {
		t.Error("a token was sent")
	}
}

// The keyring is locked after the login was read: what is renewed is still stored.
func TestAKeyringLockedMeanwhileDoesNotMatter(t *testing.T) {
	i := newIssuer(t)
	r := &memory{}
	store := testStore(t, r)
	put(t, store, i.login())
	r.err = errors.New("locked")
	s := i.source(store, Config{})
	if status, err := i.call(t.Context(), s); status != 200 || err != nil {
		t.Error(status, err)
	}
	r.err = nil
	again := Open(filepath.Dir(store.dir))
	again.key.ring = r
	if l, err := again.Find(s.resource, ""); err != nil || l.Refresh != canary+"refresh-1" {
		t.Error(l.Status(), err)
	}
}

func TestInsufficientScope(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	l := i.login()
	put(t, store, l)
	s := i.source(store, Config{})
	reject := func(challenge string) error {
		req, _ := http.NewRequest(http.MethodPost, i.URL+"/mcp", nil)
		req.Header.Set("Authorization", "Bearer "+l.Access)
		return s.Authorize(t.Context(), req, &http.Response{StatusCode: 403, Header: http.Header{"Www-Authenticate": {challenge}}})
	}
	var needed *Needed
	if err := reject(`Bearer error="invalid_request"`); !errors.Is(err, errForbidden) || s.challenge.Load() != nil {
		t.Error("a 403 for a different reason:", err)
	}
	if err := reject(`Bearer error="insufficient_scope", scope="read write"`); !errors.As(err, &needed) || !slices.Equal(needed.Scopes, []string{"write"}) {
		t.Error(err)
	}
	if err := reject(`Bearer error="insufficient_scope", scope="read"`); !errors.As(err, &needed) || !slices.Equal(needed.Scopes, []string{"read"}) {
		t.Error("granted, but not effective:", err)
	}
	if err := reject("Bearer error=\"insufficient_scope\", scope=\"x` \u202ey write\""); !errors.As(err, &needed) || !slices.Equal(needed.Scopes, []string{"write"}) {
		t.Errorf("text that is not a scope: %q", needed.Scopes)
	}
	granted := l
	granted.Access, granted.Scopes = canary+"more", []string{"read", "write"}
	put(t, store, granted)
	if err := reject(`Bearer error="insufficient_scope", scope="read write"`); err != nil {
		t.Error("granted meanwhile:", err)
	}
	if len(i.received()) != 0 {
		t.Error("it was renewed")
	}
}

func TestReducedScopesAreRecorded(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	l := i.login()
	l.Scopes = []string{"read", "write"}
	put(t, store, l)
	i.set(first(1, func(w http.ResponseWriter) {
		fmt.Fprint(w, `{"access_token":"a","expires_in":"3600","scope":"read","token_type":"bearer","error_description":null}`)
	}))
	s := i.source(store, Config{})
	i.valid["a"] = time.Now().Add(time.Hour)
	if status, err := i.call(t.Context(), s); status != 200 || err != nil {
		t.Fatal(status, err)
	}
	if l, err := store.Find(s.resource, ""); err != nil || !slices.Equal(l.Scopes, []string{"read"}) || l.Refresh != canary+"refresh-0" || l.lifetime() != time.Hour {
		t.Error(l.Status(), err)
	}
}

// File systems have times of a limited resolution: two writes can have the same.
func TestALoginReplacedWithinOneTickIsNoticed(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	l := i.login()
	put(t, store, l)
	s := i.source(store, Config{})
	if _, err := s.header(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(onlyFile(t, store))
	if err != nil {
		t.Fatal(err)
	}
	l.Access = canary + "access-9"
	put(t, store, l)
	if err := os.Chtimes(onlyFile(t, store), before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	if header, err := s.header(t.Context()); err != nil || header.Get("Authorization") != "Bearer "+l.Access {
		t.Error(err)
	}
}

func TestChangedEndsWhenThereIsANewLogin(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	s := i.source(store, Config{})
	i.call(t.Context(), s)
	changed := s.Changed(t.Context())
	select {
	case <-changed:
		t.Fatal("nothing changed")
	default:
	}
	put(t, store, i.login())
	<-changed
	l := i.login()
	l.Refresh = ""
	put(t, store, l)
	if _, err := i.call(t.Context(), s); err == nil {
		t.Fatal("the token is accepted")
	}
	changed = s.Changed(t.Context())
	l.Access = canary + "new"
	put(t, store, l)
	<-changed
}

func TestNoMessageShowsAToken(t *testing.T) { synctest.Test(t, testNoMessageShowsAToken) }

func testNoMessageShowsAToken(t *testing.T) {
	i := newPipedIssuer(t)
	store := testStore(t, nil)
	var shown []any
	show := func(v ...any) { shown = append(shown, v...) }
	for _, fault := range faults {
		put(t, store, i.login())
		i.set(first(1e6, fault))
		s := i.source(store, Config{Renewed: func(s Status) { show(s) }, Unsaved: func(err error) { show(err) }})
		s.limits = defaultLimits
		_, err := i.call(t.Context(), s)
		show(err, s)
		Wait(t.Context())
	}
	i.set(nil)
	i.mu.Lock()
	i.refresh = "" // its error repeats the token
	i.mu.Unlock()
	s := i.source(store, Config{Renewed: func(s Status) { show(s) }})
	_, err := i.call(t.Context(), s)
	var needed *Needed
	if !errors.As(err, &needed) || !strings.Contains(needed.Why, "is not valid") {
		t.Error("the error of the server is missing:", err)
	}
	l := sample()
	show(err, s, *needed, l, &l, l.Client, &l.Client, l.Status(), []Login{l}, store, map[string]Login{"x": l}, struct{ L Login }{l})
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	for _, v := range shown {
		text := fmt.Sprintf("%v %+v %#v %s %q %d %x", v, v, v, v, v, v, v)
		logger.Info("x", "v", v)
		if raw, err := json.Marshal(v); err == nil {
			if _, isClient := v.(Client); !isClient {
				if _, isClient := v.(*Client); !isClient { // the store writes clients as they are
					text += string(raw)
				}
			}
		}
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("%T shows a token", v)
		}
	}
	if strings.Contains(log.String(), canary) {
		t.Error("the log has a token")
	}
}

func TestATokenResponseMatchesByExactNames(t *testing.T) {
	got, err := parseToken([]byte(`{"access_token":"a","Access_Token":"b","Refresh_Token":"r","Error":"invalid_grant","scope":"s","SCOPE":"x"}`))
	if want := (tokenResponse{Access: "a", Scope: "s"}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{`{"access_token":"a","access_token":"b"}`, `{"access_token":"a","refresh_token":"r","refresh_token":"r"}`} {
		if got, err := parseToken([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
