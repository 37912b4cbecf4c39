package login

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

const (
	flowTimeout  = 5 * time.Minute  // for a person to log in
	storeTimeout = 30 * time.Second // longer than a renewal, which is waited for
)

// Login asks a person to log in, or uses the login that a different process obtains meanwhile. show
// gets the address to open; it returns an error if the person declines.
func (s *Source) Login(ctx context.Context, show Show) error {
	f, err := s.newFlow(flowTimeout)
	if err != nil {
		return err
	}
	return f.run(ctx, show)
}

// flow is one login of a person, or of a program that has no person.
type flow struct {
	discovery
	key     Key // without the issuer, until it is found
	options launch.Login
	typed   launch.Login // Config.Typed
	store   *Store
	timeout time.Duration
	// rejection returns the last response to this process that was a rejection, and the token that it
	// rejected.
	rejection func() (header *http.Header, token string)
}

func (s *Source) newFlow(timeout time.Duration) (*flow, error) {
	server, err := url.Parse(s.url)
	if err != nil {
		return nil, errors.New("the server's address is not a URL")
	}
	store, err := s.store()
	if err != nil {
		return nil, err
	}
	guard := newGuard(server)
	if err := guard.check(context.Background(), server); err != nil {
		return nil, fmt.Errorf("cannot log in to %s: %w", server.Redacted(), err)
	}
	return &flow{
		discovery: discovery{server, guard, guard.client(s.config.Client), s.options.Issuer},
		key:       Key{Resource: Resource(s.url), Account: s.options.Account},
		options:   s.options,
		typed:     s.config.Typed,
		store:     store,
		timeout:   timeout,
		rejection: s.rejection,
	}, nil
}

func (s *Source) rejection() (header *http.Header, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.challenge.Load(), s.rejected
}

// run logs in and stores the result. One flow at a time asks for a resource and an account, in all
// processes.
func (f *flow) run(ctx context.Context, show Show) error {
	before, err := f.store.Find(f.key.Resource, f.key.Account)
	if _, damaged := errors.AsType[damagedError](err); err != nil && !damaged && !errors.Is(err, ErrNone) {
		return err
	}
	unlock, waited, err := f.lock(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	defer unlock()
	if now, err := f.store.Find(f.key.Resource, f.key.Account); err == nil && f.settles(now, before) {
		return nil
	}
	if header, _ := f.rejection(); waited && header != nil {
		return errAskedElsewhere // else each process would open the browser after the other
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("the login was not completed within %s", f.timeout))
	defer cancel()
	var l Login
	if f.options.Grant != "" {
		l, err = f.machine(ctx, "")
	} else {
		l, err = f.person(ctx, before, show)
	}
	if err != nil {
		return ended(ctx, err)
	}
	// Nothing keeps the only copy of the tokens from being stored.
	countRenewals(1)
	defer countRenewals(-1)
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := f.store.Add(storing, l); err != nil {
		return fmt.Errorf("the login succeeded, but could not be stored: %w", err)
	}
	f.forget(l.Key)
	return nil
}

// errAskedElsewhere means that the person did not complete a login that a different process asked
// for. A person who starts a login by hand is asked nevertheless.
var errAskedElsewhere = errors.New("another gauze process started this login, but it was not completed")

// lock waits until no other process asks for the login, and reports whether it had to.
func (f *flow) lock(ctx context.Context) (unlock func(), waited bool, err error) {
	once, cancel := context.WithCancel(ctx)
	cancel()
	if unlock, err = f.store.LockFlow(once, f.key.Resource, f.key.Account); err == nil || ctx.Err() != nil || !errors.Is(err, context.Canceled) {
		return unlock, false, err
	}
	unlock, err = f.store.LockFlow(ctx, f.key.Resource, f.key.Account)
	return unlock, true, err
}

// settles reports whether a different process obtained the login that is needed, while this one
// waited, or after its request was rejected.
func (f *flow) settles(now, before Login) bool {
	header, token := f.rejection()
	newer := !now.Began.Equal(before.Began) || header != nil && now.Access != token
	if !newer || !now.usable(time.Now()) {
		return false
	}
	return header == nil || len(without(readChallenge(*header).scopes, now.Scopes)) == 0
}

// ended returns why the flow ended, if it did not end with err.
func ended(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case cause == nil:
		return err
	case errors.Is(cause, context.Canceled):
		return fmt.Errorf("the login was cancelled: %w", cause)
	}
	return cause
}

// forget removes the logins that one to a different issuer replaced: the server does not accept
// their tokens any more.
func (f *flow) forget(kept Key) {
	all, _ := f.store.All()
	for _, l := range all {
		if l.Resource == kept.Resource && l.Account == kept.Account && l.Issuer != kept.Issuer {
			f.store.Remove(l.Key)
		}
	}
}

// person lets a person log in.
func (f *flow) person(ctx context.Context, before Login, show Show) (Login, error) {
	challenge := f.challenge(ctx)
	a, err := f.find(ctx, challenge, before.Issuer)
	if err != nil {
		return Login{}, err
	}
	if header, _ := f.rejection(); header != nil && f.options.ClientSecret != "" && before.Issuer != "" && a.meta.Issuer != before.Issuer {
		return Login{}, moved(a.meta.Issuer, before.Issuer) // the secret is sent there only if a person starts the login by hand
	}
	if a.meta.AuthorizationEndpoint == "" {
		return Login{}, fmt.Errorf("the authorization server %s has no login page", a.meta.Issuer)
	}
	known := f.store.ofPerson(f.key.Account)
	if a.doubts, err = f.doubts(a, known); err != nil {
		return Login{}, err
	}
	r := &registrar{f.options, f.client, before.Client}
	if before.Issuer != a.meta.Issuer || before.Ended != "" {
		r.known = Client{}
	}
	scopes := f.scopes(challenge, a)
	if before.Ended == "" && before.Issuer == a.meta.Issuer {
		scopes = cleanScopes(slices.Concat(before.Scopes, scopes)) // nothing that was granted is lost
	}
	a.unbound = before.Unbound && !before.NoResource && before.Issuer == a.meta.Issuer
	return f.bound(a, func() (Login, error) {
		l, err := f.ask(ctx, a, r, scopes, false, show)
		if code, _ := reported(err); code == "invalid_client" && f.options.ClientID == "" && a.again() {
			l, err = f.ask(ctx, a, r, scopes, true, show) // the registration was deleted
		}
		return l, err
	})
}

// Errors of Entra ID, which its descriptions begin with. The first is about the parameter, whatever its
// value is. The second is about this server: without the parameter, the token would be for a different one.
const (
	resourceUnknown  = "AADSTS901002:"
	resourceMismatch = "AADSTS9010010:"
)

// bound calls request, which says with the resource parameter which server the token is for. An
// authorization server that does not know the parameter is asked once more without.
func (f *flow) bound(a *authority, request func() (Login, error)) (Login, error) {
	a.unbound = a.unbound || f.options.NoResource
	l, err := request()
	code, says := reported(err)
	switch refused := !a.unbound && slices.Contains([]string{"invalid_request", "invalid_target"}, code); {
	case refused && strings.HasPrefix(says, resourceUnknown) && a.again():
		a.unbound = true
		return request()
	case refused && strings.HasPrefix(says, resourceMismatch):
		err = fmt.Errorf("%w. If the scopes belong to this server, pass --no-resource", err)
	}
	return l, err
}

// again reports whether the login may be repeated after an error of the authorization server: once.
func (a *authority) again() bool {
	first := !a.repeated
	a.repeated = true
	return first
}

// reported returns the error that an authorization server reported, and its description.
func reported(err error) (code, says string) {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.code, r.detail
	}
	r, _ := errors.AsType[responseError](err)
	return r.code, r.description
}

// challenge returns how the server rejects requests: the last one of this process, or one that is
// sent to find out.
func (f *flow) challenge(ctx context.Context) challenge {
	if header, _ := f.rejection(); header != nil {
		return readChallenge(*header)
	}
	const body = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"gauze","version":"0"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.server.String(), strings.NewReader(body))
	if err != nil {
		return challenge{}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := f.client.Do(req)
	if err != nil {
		return challenge{} // discovery says what is wrong
	}
	res.Body.Close()
	if session := res.Header.Get("Mcp-Session-Id"); session != "" {
		if req, err := http.NewRequestWithContext(ctx, http.MethodDelete, f.server.String(), nil); err == nil {
			req.Header.Set("Mcp-Session-Id", session)
			if res, err := f.client.Do(req); err == nil {
				res.Body.Close()
			}
		}
	}
	if res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
		return challenge{}
	}
	return readChallenge(res.Header)
}

// scopes returns what to ask for: what the server requires, else everything that it lists; what the
// user configured; and a refresh token, if there are scopes for that. Without any, the authorization
// server decides, and offline_access alone would not be a default.
func (f *flow) scopes(c challenge, a *authority) []string {
	scopes := c.scopes
	if len(scopes) == 0 {
		scopes = a.scopes
	}
	scopes = slices.Concat(scopes, f.options.Scopes)
	if len(scopes) > 0 && f.options.Grant == "" && slices.Contains(a.meta.Scopes, offlineAccess) {
		scopes = append(scopes, offlineAccess)
	}
	return cleanScopes(scopes)
}

const offlineAccess = "offline_access" // asks for a refresh token

// ask shows a person the address to log in at, waits for the response and exchanges the code in it.
func (f *flow) ask(ctx context.Context, a *authority, r *registrar, scopes []string, fresh bool, show Show) (l Login, err error) {
	client, callback, err := r.identify(ctx, &a.meta, fresh)
	if err != nil && a.guessed {
		err = fmt.Errorf("the server does not say how to log in, and %w. If it requires an API key, send the key in a header: gauze run --header-env", err)
	}
	if err != nil {
		return Login{}, err
	}
	defer func() {
		switch {
		case err != nil:
			callback.close("The login failed: " + ended(ctx, err).Error())
		case len(l.Missing()) > 0:
			callback.close("You are logged in, but these scopes were not granted: " + strings.Join(l.Missing(), " ") + ". You can close this page.")
		default:
			callback.close("You are logged in. You can close this page.")
		}
	}()
	verifier := oauth2.GenerateVerifier()
	config := oauth2.Config{ClientID: client.ID, RedirectURL: callback.redirect, Scopes: scopes}
	params := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}
	if !a.unbound {
		params = append(params, oauth2.SetAuthURLParam("resource", a.indicator))
	}
	if slices.Contains(scopes, offlineAccess) {
		params = append(params, oauth2.SetAuthURLParam("prompt", "consent")) // as OpenID Connect requires
	}
	address, err := f.page(ctx, a.meta.AuthorizationEndpoint, config.AuthCodeURL(callback.state, params...))
	if err != nil {
		return Login{}, err
	}
	callback.leads.Store(&address)
	got, err := f.answer(ctx, show, Page{
		Server: f.key.Resource, Issuer: a.meta.Issuer, Address: address, Opens: callback.opens.String(), Doubts: a.doubts,
	}, callback)
	if err != nil {
		return Login{}, err
	}
	a.agreed, a.doubts = append(a.agreed, a.doubts...), nil
	if err := got.check(a); err != nil {
		return Login{}, err
	}
	l, err = f.issued(ctx, a, client, scopes, url.Values{
		"grant_type": {"authorization_code"}, "code": {got.code}, "redirect_uri": {callback.redirect}, "code_verifier": {verifier},
	}, got.code, verifier)
	if err != nil {
		return Login{}, err
	}
	if callback.twice.Load() {
		return Login{}, errReopened
	}
	f.remember(a.agreed)
	return l, nil
}

// answer shows a page to a person and returns the answer of the browser, which may be there before
// the program that opened it has returned, but counts only if the person agrees to what is doubtful.
func (f *flow) answer(ctx context.Context, show Show, p Page, c *callback) (answer, error) {
	shown := make(chan error, 1)
	go func() { shown <- show(ctx, p) }()
	answers := c.answers
	if len(p.Doubts) > 0 {
		answers = nil
	}
	for {
		select {
		case got := <-answers:
			return got, nil
		case err := <-shown:
			if err != nil {
				return answer{}, err
			}
			shown, answers = nil, c.answers
		case <-c.reopened:
			return answer{}, errReopened
		case <-ctx.Done():
			return answer{}, context.Cause(ctx)
		}
	}
}

// page returns the address to send a person to: the endpoint with a query, whose parameters replace
// those that the endpoint has.
func (f *flow) page(ctx context.Context, endpoint, query string) (string, error) {
	u, err := f.guard.address(ctx, "authorization_endpoint", endpoint)
	if err != nil {
		return "", err
	}
	params, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
	if err != nil {
		return "", err
	}
	all := u.Query()
	maps.Copy(all, params)
	u.RawQuery = all.Encode()
	return u.String(), nil
}

// issued asks for the first tokens of a login, and returns it. secrets are values of the form that
// are never shown.
func (f *flow) issued(ctx context.Context, a *authority, client Client, asked []string, form url.Values, secrets ...string) (Login, error) {
	if !a.unbound {
		form.Set("resource", a.indicator)
	}
	req, err := tokenRequest(ctx, a.meta.TokenEndpoint, client, client.Secret, form)
	if err != nil {
		return Login{}, err
	}
	at := time.Now()
	t, err := requestToken(f.client, req, redact.KnownSecrets(append(secrets, client.Secret)...))
	switch {
	case isCode(err, unsupportedType) && strings.EqualFold(string(t.Type), "DPoP"):
		return Login{}, errDPoP
	case isCode(err, unsupportedType):
		return Login{}, fmt.Errorf("the authorization server %s issued a token of type %q, which gauze does not support", a.meta.Issuer, redact.Quote(string(t.Type)))
	case err != nil:
		return Login{}, err
	}
	granted := asked
	if t.Scope != "" {
		granted = scopesOf(string(t.Scope))
	}
	key := f.key
	key.Issuer = a.meta.Issuer
	return Login{
		Key:           key,
		Client:        client,
		AuthorizeURL:  a.meta.AuthorizationEndpoint,
		TokenURL:      a.meta.TokenEndpoint,
		RevocationURL: a.meta.RevocationEndpoint,
		Indicator:     a.indicator,
		Unbound:       a.unbound,
		NoResource:    f.options.NoResource,
		Scopes:        granted,
		Asked:         asked,
		Access:        t.Access,
		Expires:       t.expires(at),
		Refresh:       t.Refresh,
		Who:           who(string(t.IDToken)),
		Began:         time.Now(),
	}, nil
}

// who returns the person that an ID token names. It is only shown, so it is not verified.
func who(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	var claims struct {
		Email string `json:"email"`
		Name  string `json:"preferred_username"`
		Sub   string `json:"sub"`
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || wire.DecodeExact(text, &claims) != nil {
		return ""
	}
	for _, name := range []string{claims.Email, claims.Name, claims.Sub} {
		if name != "" {
			return shown(name)
		}
	}
	return ""
}
