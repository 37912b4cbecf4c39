package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
)

// Logins is the login of one Remote. A person is asked once for all sessions that share it.
type Logins struct {
	source *login.Source
	remote *Remote
	sent   atomic.Bool // a request had a token of the login
	works  atomic.Bool // the server accepted a request with a token of the last login

	mu      sync.Mutex
	running *LoginAttempt
	past    map[string]*pastLogins // by the scopes that were required
	doubted time.Time
	renewed chan struct{} // closed when an attempt has succeeded
	users   []Reporter    // the first one reports what happens to the login
}

// Reporter emits what happens to a login. It must be comparable.
type Reporter interface{ Emit(event.Event) }

// pastLogins is what is known about earlier attempts to log in.
type pastLogins struct {
	count     int
	again     time.Time // a person is not asked before
	succeeded bool      // the last one did
}

// Limits on how often a person is asked.
const (
	loginTimeout   = 5 * time.Minute
	declinedFor    = 10 * time.Minute // after a login that was declined or failed
	uselessFor     = time.Minute      // after one that succeeded: a server that rejects it does not accept the next one either
	maxStepUps     = 2                // for the same scopes
	maxDeclined    = 2                // within declinedFor, whatever the scopes: a server can require different ones each time
	maxQuickLogins = 2                // within uselessFor, if the server accepted the first one: it may require a different authorization server since
	doubtEvery     = time.Minute
	maxPastScopes  = 32
	changedGrace   = time.Second // how long a login may take to end after a different process has logged in
	bearerScheme   = "bearer"
	errorOfTooFew  = "insufficient_scope"
)

func newLogins(spec launch.Spec, r *Remote) *Logins {
	l := &Logins{remote: r, past: map[string]*pastLogins{}, renewed: make(chan struct{})}
	l.source = login.New(spec.URL, spec.Login, login.Config{Renewed: l.report, Unsaved: l.reportUnsaved})
	return l
}

// Options returns how the login was configured.
func (l *Logins) Options() launch.Login { return l.source.Options() }

// LoggedIn reports whether requests were sent with a token of the login.
func (l *Logins) LoggedIn() bool { return l != nil && l.sent.Load() }

// follows reports whether the login lets requests go to an address: without a token, or with one that is for it too.
func (l *Logins) follows(to *url.URL) bool {
	return l == nil || l.source.Follows(to)
}

// header is Source.Header for a request. It notes whether there is a token.
func (l *Logins) header(req *http.Request) (http.Header, error) {
	to := req.URL
	if req.Method == http.MethodPost && l.remote.transport.Load() == httpSSE {
		to = l.remote.to() // its stream says where to post
	}
	h, err := l.source.Header(req.Context(), to)
	if err != nil {
		return nil, &loginError{err}
	}
	if h.Get("Authorization") != "" {
		l.sent.Store(true)
	}
	return h, nil
}

// loginError is why a request could not be sent with the login.
type loginError struct{ error }

func (e *loginError) Unwrap() error { return e.error }

// Doubt makes the next request renew the token first, because a result says that it is not valid. It
// returns false if that was tried a short time ago, so that it would not help.
func (l *Logins) Doubt() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.doubted.IsZero() && now.Sub(l.doubted) < doubtEvery {
		return false
	}
	l.doubted = now
	l.source.Doubt()
	return true
}

// LoginAttempt is one attempt of a person to log in.
type LoginAttempt struct {
	logins *Logins
	key    string
	end    chan error // receives why the attempt is to end
	done   chan struct{}
	err    error // valid once done is closed
}

// End ends the attempt for a reason, such as that the person declined.
func (a *LoginAttempt) End(why error) {
	select {
	case a.end <- why:
	default: // it is ending
	}
}

// Done is closed when the attempt has ended.
func (a *LoginAttempt) Done() <-chan struct{} { return a.done }

// Err returns why the attempt failed. It is valid after Done.
func (a *LoginAttempt) Err() error { return a.err }

// MayAsk reports whether a person may be asked to log in: not again soon after the last attempt, and
// not without end for the same scopes.
func (l *Logins) MayAsk(n *login.Needed) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running != nil || l.mayAsk(scopesKey(n))
}

func (l *Logins) mayAsk(key string) bool {
	now := time.Now()
	declined := 0
	for _, p := range l.past {
		if !p.succeeded && now.Before(p.again) {
			declined++
		}
	}
	p := l.past[key]
	switch {
	case declined >= maxDeclined:
		return false
	case p == nil:
		return len(l.past) < maxPastScopes
	}
	due := !now.Before(p.again)
	if key != "" {
		return due && p.count < maxStepUps
	}
	return due || p.succeeded && l.works.Load() && p.count < maxQuickLogins
}

func scopesKey(n *login.Needed) string {
	return strings.Join(slices.Sorted(slices.Values(n.Scopes)), " ")
}

// Begin returns the attempt to log in that is in progress, or a new one, which the caller must Run.
// It returns nil if a person may not be asked.
func (l *Logins) Begin(n *login.Needed) (a *LoginAttempt, begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running != nil {
		return l.running, false
	}
	key := scopesKey(n)
	if !l.mayAsk(key) {
		return nil, false
	}
	l.running = &LoginAttempt{logins: l, key: key, end: make(chan error, 1), done: make(chan struct{})}
	return l.running, true
}

// errLoginTimeout is the cause of the end of an attempt that took too long.
var errLoginTimeout = errors.New("the login was not completed within " + loginTimeout.String())

// errUnused ends an attempt that no session waits for any more.
var errUnused = errors.New("the sessions that required the login were closed")

// Run asks a person with show and waits until there is a login: that of the person, or one that a
// different process stores meanwhile.
func (a *LoginAttempt) Run(ctx context.Context, show login.Show) {
	l := a.logins
	ended := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, loginTimeout, errLoginTimeout)
	defer cancel()
	var changed <-chan struct{}
	if a.key == "" { // a token that was only renewed has no more scopes than before
		changed = l.source.Changed(ctx)
	}
	result := make(chan error, 1)
	go func() { result <- l.source.Login(ctx, show) }()
	var err error
	select {
	case err = <-result:
	case err = <-a.end:
		cancel()
		<-result
	case <-changed:
		late := time.AfterFunc(changedGrace, cancel)
		<-result
		late.Stop()
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running, a.err = nil, err
	if err == nil || ended.Err() == nil && err != errUnused {
		l.remember(a.key, err)
	}
	close(a.done)
}

// remember notes how an attempt to log in ended. The caller holds the lock.
func (l *Logins) remember(key string, err error) {
	p := l.past[key]
	if p == nil {
		p = &pastLogins{}
		l.past[key] = p
	}
	now := time.Now()
	if key == "" && !now.Before(p.again) {
		p.count = 0
	}
	p.count++
	p.succeeded = err == nil
	l.works.Store(false)
	if p.again = now.Add(declinedFor); err == nil {
		p.again = now.Add(uselessFor)
		close(l.renewed)
		l.renewed = make(chan struct{})
	}
}

// Changed returns channels that are closed when there may be a new login.
func (l *Logins) Changed(ctx context.Context) (stored, renewed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.source.Changed(ctx), l.renewed
}

// await waits until there may be a new login, and reports whether ctx is still valid.
func (l *Logins) await(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stored, renewed := l.Changed(ctx)
	select {
	case <-stored:
	case <-renewed:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Join makes u report what happens to the login, unless a different user of it does.
func (l *Logins) Join(u Reporter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.users, u) {
		l.users = append(l.users, u)
	}
}

// Leave ends Join.
func (l *Logins) Leave(u Reporter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users = slices.DeleteFunc(l.users, func(other Reporter) bool { return other == u })
	if len(l.users) == 0 && l.running != nil {
		l.running.End(errUnused)
	}
}

// report emits the event of a login that was renewed or has ended.
func (l *Logins) report(s login.Status) {
	if s.Ended != "" {
		l.emit(event.Event{Kind: event.LoginEnded, Detail: s.Ended})
		return
	}
	l.emit(event.Event{Kind: event.LoginRenewed})
}

func (l *Logins) reportUnsaved(err error) {
	why, _, _ := strings.Cut(err.Error(), "\nnext: ")
	l.emit(event.Event{Kind: event.LoginUnsaved, Detail: why})
}

// emit emits an event once for all users.
func (l *Logins) emit(e event.Event) {
	l.mu.Lock()
	users := slices.Clone(l.users)
	l.mu.Unlock()
	if len(users) > 0 {
		users[0].Emit(e)
	}
}

// loginLoss returns the loss of a request that has no token.
func (r *Remote) loginLoss(why *loginError) life.Loss {
	loss := life.Loss{Code: fault.LoginUnavailable, Detail: r.secrets.Redact(why.Error()), Final: true}
	errors.As(why, &loss.Login)
	return loss
}

// judgeLogin adds to the loss of a request that the server rejected what that means for the login.
func (r *Remote) judgeLogin(l *life.Loss, res *http.Response, why error) {
	var needed *login.Needed
	switch {
	case errors.As(why, &needed):
		if r.mayLogIn(res) {
			one := *needed
			one.Unasked = !asksForToken(res)
			l.Login = &one
		}
	case res.StatusCode == http.StatusUnauthorized:
		l.Code, l.Detail = fault.LoginUnavailable, why.Error()
	}
}

// concernsLogin reports whether a rejection is about the login of gauze: it was used, or the server
// asks for one. A server may ask for a different credential, such as a key in a header.
func (r *Remote) concernsLogin(res *http.Response) bool {
	asked := res.Header.Values("WWW-Authenticate")
	if res.StatusCode == http.StatusForbidden {
		return asksForBearer(asked) && strings.Contains(strings.Join(asked, " "), errorOfTooFew)
	}
	return asksForToken(res) || len(asked) == 0 && len(r.header) == 0
}

// asksForToken reports whether a rejection is certainly about a token: the request had one, or the
// server asks for one. A server that says neither may require a key.
func asksForToken(res *http.Response) bool {
	return res.Request != nil && res.Request.Header.Get("Authorization") != "" || asksForBearer(res.Header.Values("WWW-Authenticate"))
}

func asksForBearer(challenges []string) bool {
	return slices.ContainsFunc(challenges, func(value string) bool {
		scheme, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		return strings.EqualFold(scheme, bearerScheme)
	})
}

// mayLogIn reports whether a request was rejected because a person has to log in first.
func (r *Remote) mayLogIn(res *http.Response) bool {
	body, ok := res.Body.(*unauthorizedBody)
	return ok && r.logins != nil && is[*login.Needed](body.reason) && r.concernsLogin(res)
}

// noteStillRefused marks a response of status 401 to a request with a token that was just renewed:
// only a different login can help.
func (r *Remote) noteStillRefused(res *http.Response) {
	if r.logins == nil || res.StatusCode != http.StatusUnauthorized {
		return
	}
	r.logins.source.Rejected(res.Request)
	r.needsOther(res, "the server rejected the login although it was just renewed", r.logins.works.Load())
}

// noteRefusedAlone marks a response of status 401 to a request with a token that the server accepts for
// other requests, or to one without a token, while it answers other requests without one.
func (r *Remote) noteRefusedAlone(res *http.Response) {
	if res.Request.Header.Get("Authorization") == "" {
		r.needsOther(res, login.NotLoggedIn, false)
		return
	}
	r.needsOther(res, "the server accepts the login, but not for this request", true)
}

// needsOther marks a response to a request that only a different login could help.
func (r *Remote) needsOther(res *http.Response, why string, partial bool) {
	body := readAndClose(res, maxRefusalBytes)
	options := r.logins.Options()
	res.Body = &unauthorizedBody{Reader: bytes.NewReader(body), reason: &login.Needed{
		URL: r.address.Load().String(), Account: options.Account, Grant: options.Grant, Why: why, Partial: partial}}
}
