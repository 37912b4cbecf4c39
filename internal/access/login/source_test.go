package login

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// issuer is an authorization server with rotating refresh tokens that ends a login when a refresh
// token is used twice, and the server that accepts its tokens.
type issuer struct {
	*httptest.Server
	lifetime time.Duration

	mu       sync.Mutex
	number   int
	valid    map[string]time.Time // valid access tokens, and until when
	refresh  string               // the only refresh token that is accepted
	sent     []string             // the refresh tokens that were received
	resource string
	stays    bool // refresh tokens are not rotated
	// before handles a request instead if it returns true.
	before func(w http.ResponseWriter, r *http.Request) bool
}

func newIssuer(t testing.TB) *issuer {
	i := &issuer{lifetime: time.Hour, valid: map[string]time.Time{}, refresh: canary + "refresh-0"}
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

// newPipedIssuer returns an issuer without sockets, for tests with a clock of their own.
func newPipedIssuer(t testing.TB) *issuer {
	i := &issuer{lifetime: time.Hour, valid: map[string]time.Time{}, refresh: canary + "refresh-0"}
	network := pipes{dialled: make(chan net.Conn)}
	network.open, network.close = context.WithCancel(context.Background())
	i.Server = &httptest.Server{Listener: network, Config: &http.Server{Handler: i}}
	i.Start()
	i.Client().Transport = &http.Transport{DialContext: network.dial, DisableKeepAlives: true}
	t.Cleanup(i.Close)
	return i
}

// pipes is a listener in memory.
type pipes struct {
	dialled chan net.Conn
	open    context.Context
	close   func()
}

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.dialled <- theirs:
		return ours, nil
	case <-p.open.Done():
		return nil, net.ErrClosed
	}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.open.Done():
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	p.close()
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/.well-known/") {
		http.NotFound(w, r)
		return
	}
	r.ParseForm()
	i.mu.Lock()
	before := i.before
	i.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/mcp" {
		if until, ok := i.valid[bearer(r)]; !ok || time.Now().After(until) {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
		return
	}
	used := r.PostForm.Get("refresh_token")
	i.sent = append(i.sent, used)
	i.resource = r.PostForm.Get("resource")
	if used != i.refresh {
		i.refresh = "" // reuse: the whole login ends
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"%s is not valid"}`, used)
		return
	}
	i.issue(w)
}

// issue answers with new tokens. The caller has the lock.
func (i *issuer) issue(w http.ResponseWriter) {
	i.number++
	access := fmt.Sprint(canary, "access-", i.number)
	i.valid[access] = time.Now().Add(i.lifetime)
	rotated := ""
	if !i.stays {
		i.refresh = fmt.Sprint(canary, "refresh-", i.number)
		rotated = fmt.Sprintf(`,"refresh_token":%q`, i.refresh)
	}
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%g%s}`, access, i.lifetime.Seconds(), rotated)
}

func (i *issuer) set(before func(w http.ResponseWriter, r *http.Request) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.before = before
}

func (i *issuer) received() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.sent)
}

// login returns a login whose access token the server no longer accepts.
func (i *issuer) login() Login {
	now := time.Now().Round(0).UTC()
	return Login{
		Key: Key{Resource: Resource(i.URL + "/mcp"), Issuer: i.URL}, Client: Client{ID: "gauze", Registered: true}, TokenURL: i.URL + "/token",
		Access: canary + "access-0", Refresh: canary + "refresh-0", Began: now, Expires: now.Add(time.Hour), Scopes: []string{"read"},
	}
}

// quick are limits for tests.
var quick = limits{budget: 2 * time.Minute, attempt: time.Minute, backoff: time.Millisecond, pause: time.Hour, wait: 10 * time.Second, poll: time.Millisecond}

// source returns a source with the login of the store.
func (i *issuer) source(store *Store, c Config) *Source {
	c.Store, c.Client = store, i.Client()
	s := New(i.URL+"/mcp", launch.Login{}, c)
	s.limits = quick
	return s
}

// header returns the header for a request to the server itself.
func (s *Source) header(ctx context.Context) (http.Header, error) {
	to, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	return s.Header(ctx, to)
}

// call sends one request as upstream does: once more if it was authorized. It returns the status.
func (i *issuer) call(ctx context.Context, s *Source) (int, error) {
	return i.callTo(ctx, s, i.URL+"/mcp", i.Client())
}

func (i *issuer) callTo(ctx context.Context, s *Source, address string, client *http.Client) (int, error) {
	for again := false; ; again = true {
		header, err := s.header(ctx)
		if err != nil {
			return 0, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("{}"))
		if err != nil {
			return 0, err
		}
		if header != nil {
			req.Header = header
		}
		res, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			s.Accepted(req)
		}
		if res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden || again {
			return res.StatusCode, nil
		}
		if err := s.Authorize(ctx, req, res); err != nil {
			return res.StatusCode, err
		}
	}
}

func TestWithoutALoginNothingIsSent(t *testing.T) {
	i := newIssuer(t)
	s := i.source(testStore(t, nil), Config{})
	if header, err := s.header(t.Context()); header != nil || err != nil {
		t.Error(header, err)
	}
	status, err := i.call(t.Context(), s)
	var needed *Needed
	if !errors.As(err, &needed) || status != 401 || needed.URL != i.URL+"/mcp" || !strings.Contains(needed.Why, "is not logged in") {
		t.Error(status, err)
	}
	if sent := i.received(); len(sent) != 0 {
		t.Error("the authorization server was asked")
	}
}

func TestARejectedTokenIsRenewedAndStored(t *testing.T) {
	i := newIssuer(t)
	store := testStore(t, nil)
	put(t, store, i.login())
	var renewed []Status
	s := i.source(store, Config{Renewed: func(s Status) { renewed = append(renewed, s) }})
	if status, err := i.call(t.Context(), s); status != 200 || err != nil {
		t.Fatal(status, err)
	}
	l, err := store.Find(s.resource, "")
	if err != nil || l.Refresh != canary+"refresh-1" || l.Previous != canary+"refresh-0" || l.Access != canary+"access-1" || i.resource != s.resource {
		t.Error(l.Status(), err)
	}
	if len(renewed) != 1 || renewed[0].Ended != "" || renewed[0].Refreshed.IsZero() {
		t.Error(renewed)
	}
	if status, err := i.call(t.Context(), s); status != 200 || err != nil || len(i.received()) != 1 {
		t.Error(status, err, len(i.received()))
	}
}
