package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
)

// Source provides the token for the requests to one server. It is safe for concurrent use.
type Source struct {
	url      string
	resource string
	options  launch.Login
	config   Config
	store    func() (*Store, error)
	jitter   float64 // between 0 and 1: processes renew at different times
	limits   limits
	now      func() time.Time
	answered func() // called between the response to a renewal and its storage; tests set it

	held      atomic.Pointer[held] // what was read last
	doubted   atomic.Pointer[string]
	accepted  atomic.Pointer[string]      // the last token that the server accepted
	challenge atomic.Pointer[http.Header] // the header of the last response that Authorize handled

	reading sync.Mutex // held while the store is read

	mu       sync.Mutex
	renewal  *renewal
	failed   failure
	unsaved  *unsaved
	rejected string // the token of the last request that was answered with 401 or 403
	numFresh int    // tokens in a row that were rejected right after they were renewed, and never accepted
	givenUp  string // the last of too many
}

// Config is what a Source works with. The zero value is the default of each.
type Config struct {
	Store  *Store       // has the logins; default: that of the user's state directory
	Typed  launch.Login // has the issuer and the endpoints that the person who logs in typed: they agree to them
	Client *http.Client // sends the requests to authorization servers, guarded (guard.go); default: one of its own
	// Renewed is called when this process renewed a login, or found that it has ended. It must not
	// block.
	Renewed func(Status)
	// Unsaved is called when a renewed login could not be stored and is only in memory, once until it
	// can be stored. It must not block.
	Unsaved func(error)
}

// New returns the source for the server at url. It does nothing until a request is sent.
func New(url string, o launch.Login, c Config) *Source {
	s := &Source{url: url, resource: Resource(url), options: o, config: c, jitter: rand.Float64(), limits: defaultLimits, now: time.Now}
	s.store = sync.OnceValues(func() (*Store, error) {
		if c.Store != nil {
			return c.Store, nil
		}
		dir, err := backup.StateDir()
		switch {
		case err != nil && o.Grant != "":
			return &Store{refused: err}, nil // a program logs in again whenever it has no token
		case err != nil:
			return nil, err
		}
		return Open(dir), nil
	})
	return s
}

// Format keeps tokens out of messages.
func (s *Source) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "login to %s", s.resource) }

// held is what was found in the store.
type held struct {
	login Login
	err   error // ErrNone, or why the login could not be read
	seen  stamp
	until time.Time // when it is read again although nothing changed; zero: never
}

// token returns the access token; empty if there is none.
func (h *held) token() string {
	if h.err != nil || h.login.Ended != "" {
		return ""
	}
	return h.login.Access
}

// look returns the login, and reads the store if it changed, or always if again is set.
func (s *Source) look(again bool) *held {
	if h := s.held.Load(); !again && h.current() {
		return h
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	if h := s.held.Load(); !again && h.current() {
		return h
	}
	s.mu.Lock()
	before := s.unsaved // it may be stored while the store is read
	s.mu.Unlock()
	h := &held{}
	if store, err := s.store(); err != nil {
		h.err = err
	} else {
		h.login, h.seen, h.err = store.find(s.resource, s.options.Account)
	}
	if h.err != nil && !errors.Is(h.err, ErrNone) {
		h.until = time.Now().Add(keyringPause)
	}
	s.mu.Lock()
	if u := cmp.Or(s.unsaved, before); u != nil {
		if u.replaces(h.login, h.err) {
			h.login, h.err = u.login, nil
		} else {
			s.unsaved = nil // a different process or person was faster
		}
	}
	s.mu.Unlock()
	s.held.Store(h)
	return h
}

func (h *held) current() bool {
	return h != nil && (h.until.IsZero() || time.Now().Before(h.until)) && h.seen.current()
}

// Header returns the Authorization header for one request to an address, renewing the token if it is about
// to expire; nothing if the user is not logged in, or if the token is not for that address. It never asks a
// person, and an error to renew is not an error while the token may still be valid: the server decides, and
// Authorize explains.
func (s *Source) Header(ctx context.Context, to *url.URL) (http.Header, error) {
	h := s.look(false)
	if h.token() == "" || !s.covers(h, to) {
		return nil, nil
	}
	s.save()
	stale := h.login.Access
	doubt := s.doubted.Load()
	doubtful := doubt != nil && *doubt == stale
	left, due := s.due(h.login)
	switch {
	case !doubtful && !due || s.failedLately(stale, s.limits.pause):
	case !doubtful && left > s.limits.wait:
		s.begin(stale, false)
	default:
		if err := s.renew(ctx, stale, false); ctx.Err() != nil {
			return nil, ctx.Err()
		} else if err == nil {
			h = s.look(false)
		}
		s.doubted.CompareAndSwap(doubt, nil)
		if !s.covers(h, to) {
			return nil, nil
		}
	}
	token := h.token()
	if token == "" {
		return nil, nil
	}
	return http.Header{"Authorization": {"Bearer " + token}}, nil
}

// Follows reports whether a request may go to an address: without a token, or with one that is for it too.
func (s *Source) Follows(to *url.URL) bool {
	h := s.look(false)
	return h.token() == "" || s.covers(h, to)
}

// covers reports whether a token may be sent to an address: that of the server, or one that the token
// was asked for as well.
func (s *Source) covers(h *held, to *url.URL) bool {
	return Resource(to.String()) == s.resource || h.login.Indicator != "" && covers(h.login.Indicator, to)
}

// due reports whether a token is to be renewed, and how long it is still valid.
func (s *Source) due(l Login) (left time.Duration, due bool) {
	if l.Expires.IsZero() || l.Refresh == "" && s.options.Grant == "" {
		return 0, false
	}
	left = l.Expires.Sub(s.now())
	lifetime := l.lifetime()
	margin := max(time.Minute, lifetime/10)
	if lifetime < 5*time.Minute {
		margin = lifetime / 5
	}
	margin += time.Duration(s.jitter * float64(margin) / 4)
	return left, left < margin
}

// Authorize handles a response of status 401 or 403. It returns nil if the request can be sent
// again with a different token: a newer one in the store, or a renewed one. It returns *Needed if a
// person has to log in, and *Temporary if the login could not be renewed now. Requests that are
// rejected together wait for one renewal.
func (s *Source) Authorize(ctx context.Context, req *http.Request, res *http.Response) error {
	sent := bearer(req)
	scopes, insufficient := insufficientScope(res.Header)
	if res.StatusCode == http.StatusForbidden && !insufficient {
		return errForbidden
	}
	header := res.Header.Clone()
	s.challenge.Store(&header)
	s.mu.Lock()
	s.rejected = sent
	s.mu.Unlock()
	if res.StatusCode == http.StatusForbidden {
		return s.stepUp(sent, scopes)
	}
	h := s.look(true)
	if h.token() != "" && h.token() != sent && h.login.usable(s.now()) {
		return nil
	}
	if n := s.unrenewable(h); n != nil {
		return n
	}
	if err := s.failedNow(h.token()); err != nil {
		return err
	}
	if err := s.renew(ctx, sent, true); err != nil {
		return err
	}
	if h = s.look(false); h.token() == "" {
		return s.needed("the server does not accept the login")
	}
	return nil // a renewed token may be the same string
}

// stepUp handles a request that the scopes of the token it had do not suffice for.
func (s *Source) stepUp(sent string, scopes []string) error {
	h := s.look(true)
	missing := without(scopes, h.login.Scopes)
	if h.token() != "" && h.token() != sent && len(scopes) > 0 && len(missing) == 0 && h.login.usable(s.now()) {
		return nil // a person granted them meanwhile
	}
	if len(missing) == 0 {
		missing = scopes // granted, but not effective
	}
	n := s.needed("the server requires more permissions than the login has")
	n.Scopes = missing
	return n
}

func (s *Source) needed(why string) *Needed {
	why, next, _ := strings.Cut(why, "\nnext: ")
	return &Needed{URL: s.url, Account: s.options.Account, Why: why, Next: next, Grant: s.options.Grant}
}

// Accepted notes that the server accepted the token of a request. A token that was accepted and is
// rejected later has expired or was revoked; one that never was may not be what the server requires.
func (s *Source) Accepted(req *http.Request) {
	token := bearer(req)
	if last := s.accepted.Load(); token != "" && (last == nil || *last != token) {
		s.accepted.Store(&token)
	}
}

// Rejected notes that the server rejected the token of a request that is not sent again.
func (s *Source) Rejected(req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rejected = bearer(req)
}

// wasAccepted reports whether the server accepted the token.
func (s *Source) wasAccepted(token string) bool {
	last := s.accepted.Load()
	return last != nil && *last == token
}

// bearer returns the token that req was sent with.
func bearer(req *http.Request) string {
	if req == nil {
		return ""
	}
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}

// Doubt makes the next request renew the token first: the server said in a result that it is not
// valid.
func (s *Source) Doubt() {
	if h := s.held.Load(); h != nil && h.token() != "" {
		s.doubted.Store(&h.login.Access)
	}
}

// Changed returns a channel that is closed when there may be a login that the last rejected request
// did not have, such as one that gauze login stored. It costs nothing unless it is called.
func (s *Source) Changed(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{})
	go func() {
		for {
			h := s.look(false)
			s.mu.Lock()
			rejected := s.rejected
			s.mu.Unlock()
			if h.token() != "" && h.token() != rejected {
				close(changed)
				return
			}
			if !pause.For(ctx, s.limits.poll) {
				return
			}
		}
	}()
	return changed
}

// Options returns how the login was configured.
func (s *Source) Options() launch.Login { return s.options }

// NotLoggedIn is why a login is needed if there is none.
const NotLoggedIn = "the user is not logged in to this server"

// Needed means that a person has to log in.
type Needed struct {
	URL     string
	Account string
	Why     string   // a clause such as "the login expired and could not be renewed"
	Scopes  []string // what the server requires beyond those granted
	Unasked bool     // the server did not say that it requires a token: it may be a key
	Partial bool     // the server has accepted the login for other requests
	Next    string   // what to do first, if a login alone does not help
	Grant   string   // how a program logs in without a person; empty if a person has to log in
}

func (n *Needed) Error() string { return "a login is required: " + n.Why }

// Temporary means that a login could not be renewed now. It is kept, and later requests try again.
type Temporary struct {
	Why string // a clause such as "https://example.com/token answered with HTTP 500"
	err error
}

func (t *Temporary) Error() string { return "the login could not be renewed: " + t.Why }

func (t *Temporary) Unwrap() error { return t.err }

// errForbidden leaves a response as it is.
var errForbidden = errors.New("the server rejected the request, not the login")
