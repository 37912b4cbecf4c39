package login

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

func TestAPersonLogsIn(t *testing.T) {
	w := newWorld(t)
	id := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"7","email":"ada@example.com"}`))
	w.issued["id_token"] = "e30." + id + ".x"
	l := w.mustLogin(launch.Login{})
	if l.Access != accessCanary || l.Refresh != refreshCanary || l.Issuer != "https://as.test" || l.TokenURL != "https://as.test/token" || l.Who != "ada@example.com" {
		t.Errorf("stored: %+v, by %q", l, l.Who)
	}
	if l.Client.ID != "registered-1" || !l.Client.Registered || l.Client.RedirectURL != w.asked.Get("redirect_uri") {
		t.Errorf("client: %v", l.Client)
	}
	if l.Expires.IsZero() || l.Began.IsZero() || !slices.Equal(l.Scopes, []string{"read"}) || l.RevocationURL != "https://as.test/revoke" {
		t.Errorf("stored: %+v", l.Status())
	}
	for name, want := range map[string]string{"resource": "https://mcp.test/mcp", "scope": "read", "code_challenge_method": "S256", "response_type": "code", "client_id": "registered-1"} {
		if got := w.asked.Get(name); got != want {
			t.Errorf("%s was %q, want %q", name, got, want)
		}
	}
	if got := w.token.Get("resource"); got != "https://mcp.test/mcp" {
		t.Errorf("resource of the token: %q", got)
	}
	if w.register["application_type"] != "native" || !slices.Contains(w.register["grant_types"].([]any), any("refresh_token")) {
		t.Errorf("registered: %v", w.register)
	}
	w.checkSecrets("as.test")
}

// On loopback addresses everything is real: the sockets, the guard that dials, the redirects.
func TestAPersonLogsInOverRealSockets(t *testing.T) {
	w := newWorld(t)
	both := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if r.URL.Path == "/mcp" || strings.Contains(r.URL.Path, "protected-resource") {
			w.serveResource(rw, r)
			return
		}
		w.serveIssuer(rw, r)
	}))
	defer both.Close()
	w.challenge = ""
	w.resource = map[string]any{"resource": both.URL, "authorization_servers": []string{both.URL}}
	w.prmPath = "/.well-known/oauth-protected-resource"
	w.meta = map[string]any{"issuer": both.URL, "authorization_endpoint": both.URL + "/authorize", "token_endpoint": both.URL + "/token", "registration_endpoint": both.URL + "/register"}
	s := New(both.URL+"/mcp", launch.Login{}, Config{Store: w.store})
	err := s.Login(t.Context(), func(_ context.Context, p Page) error {
		go http.Get(p.Opens)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.header(t.Context())
	if err != nil || h.Get("Authorization") != "Bearer "+accessCanary {
		t.Errorf("header %v, %v", h, err)
	}
	if l, _ := w.store.Find(Resource(both.URL+"/mcp"), ""); l.Indicator != both.URL {
		t.Errorf("the resource was sent as %q, published as %q", l.Indicator, both.URL)
	}
}

func TestWhereMetadataIs(t *testing.T) {
	tests := map[string]func(w *world){
		"in the challenge": func(w *world) {
			w.prmPath = "/custom.json"
			w.challenge = `Bearer resource_metadata="https://mcp.test/custom.json"`
		},
		"well-known with a path":  func(w *world) { w.challenge = "" },
		"well-known at the root":  func(w *world) { w.challenge = "Bearer"; w.prmPath = "/.well-known/oauth-protected-resource" },
		"resource above the path": func(w *world) { w.resource["resource"] = "https://mcp.test" },
		"OpenID at the root":      func(w *world) { w.metaPath = "/.well-known/openid-configuration" },
		"OAuth, path inserted":    func(w *world) { w.tenant("/.well-known/oauth-authorization-server/tenant") },
		"OpenID, path inserted":   func(w *world) { w.tenant("/.well-known/openid-configuration/tenant") },
		"OpenID, path appended":   func(w *world) { w.tenant("/tenant/.well-known/openid-configuration") },
		"issuer with a slash":     func(w *world) { w.meta["issuer"] = "https://as.test/" },
		"a broken challenge":      func(w *world) { w.challenge = `Bearer resource_metadata="unterminated` },
		"2025-03-26, metadata":    func(w *world) { w.issuer("https://mcp.test"); w.legacy() },
		"2025-03-26, no metadata": func(w *world) { w.legacy(); w.meta = nil },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			change(w)
			l := w.mustLogin(launch.Login{})
			if l.Access != accessCanary {
				t.Errorf("stored: %v", l)
			}
			if w.asked.Get("resource") != w.token.Get("resource") || w.resource != nil && w.asked.Get("resource") != w.resource["resource"] {
				t.Errorf("resource: %q, then %q", w.asked.Get("resource"), w.token.Get("resource"))
			}
			w.checkSecrets("as.test", "mcp.test")
		})
	}
}

// tenant moves the issuer to a path.
func (w *world) tenant(metaPath string) {
	w.metaPath = metaPath
	w.meta["issuer"] = "https://as.test/tenant"
	w.resource["authorization_servers"] = []string{"https://as.test/tenant"}
}

// legacy makes the server its own authorization server.
func (w *world) legacy() {
	w.challenge, w.resource = "", nil
	w.hosts["mcp.test"] = func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			w.serveResource(rw, r)
			return
		}
		w.serveIssuer(rw, r)
	}
}

func TestScopesThatAreAskedFor(t *testing.T) {
	tests := map[string]struct {
		change func(w *world)
		extra  []string
		want   string
	}{
		"of the challenge":        {func(w *world) { w.resource["scopes_supported"] = []string{"all"} }, nil, "read"},
		"of the metadata":         {func(w *world) { w.challenge = ""; w.resource["scopes_supported"] = []string{"a", "b"} }, nil, "a b"},
		"none":                    {func(w *world) { w.challenge = "" }, nil, ""},
		"configured":              {func(w *world) {}, []string{"write"}, "read write"},
		"offline":                 {func(w *world) { w.meta["scopes_supported"] = []string{"read", "offline_access"} }, nil, "read offline_access"},
		"offline, not supported":  {func(w *world) { w.meta["scopes_supported"] = []string{"read"} }, nil, "read"},
		"offline, without others": {func(w *world) { w.challenge = ""; w.meta["scopes_supported"] = []string{"offline_access"} }, nil, ""},
		"not valid": {func(w *world) {
			w.challenge = ""
			w.resource["scopes_supported"] = []string{"a", "b c", "d\n", `"`, "", "a"}
		}, nil, "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.change(w)
			w.mustLogin(launch.Login{Scopes: test.extra})
			if got := w.asked.Get("scope"); got != test.want {
				t.Errorf("asked for %q, want %q", got, test.want)
			}
			if test.want == "" && w.asked.Has("scope") {
				t.Error("an empty scope was sent")
			}
			if consent := w.asked.Get("prompt") == "consent"; consent != strings.Contains(test.want, "offline_access") {
				t.Errorf("prompt: %q", w.asked.Get("prompt"))
			}
		})
	}
}

// The response must be of the issuer that was asked (RFC 9207).
func TestIssuerOfTheResponse(t *testing.T) {
	tests := map[string]struct {
		advertised bool
		iss        string
		accepted   bool
	}{
		"advertised":             {true, "https://as.test", true},
		"advertised and missing": {true, "", false},
		"advertised and wrong":   {true, "https://evil.test", false},
		"normalized":             {true, "https://as.test/", false},
		"not advertised":         {false, "", true},
		"unexpected":             {false, "https://as.test", true},
		"unexpected and wrong":   {false, "https://evil.test", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.meta["authorization_response_iss_parameter_supported"] = test.advertised
			if test.iss != "" {
				w.answer.Set("iss", test.iss)
			}
			_, err := w.login(launch.Login{})
			if (err == nil) != test.accepted {
				t.Errorf("error %v", err)
			}
			if asked := w.numSent("as.test", "/token") == 1; asked != test.accepted {
				t.Errorf("the code was sent: %v", asked)
			}
		})
	}
}

func TestMoreScopesAreAddedToThoseGranted(t *testing.T) {
	w := newWorld(t)
	first := w.mustLogin(launch.Login{})
	s := w.source(launch.Login{})
	req := httptest.NewRequest(http.MethodPost, w.site, nil)
	req.Header.Set("Authorization", "Bearer "+accessCanary)
	res := &http.Response{StatusCode: 403, Header: http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope", scope="write"`}}}
	err := s.Authorize(t.Context(), req, res)
	if n, ok := errors.AsType[*Needed](err); !ok || !slices.Equal(n.Scopes, []string{"write"}) {
		t.Fatalf("error %v", err)
	}
	w.issued["access_token"] = accessCanary + "2"
	if err := s.Login(t.Context(), w.browser); err != nil {
		t.Fatal(err)
	}
	if got := w.asked.Get("scope"); got != "read write" {
		t.Errorf("asked for %q", got)
	}
	if w.numSent("as.test", "/register") != 1 || w.asked.Get("redirect_uri") != first.Client.RedirectURL {
		t.Error("the registration was not used again")
	}
	if h, err := s.header(t.Context()); err != nil || h.Get("Authorization") != "Bearer "+accessCanary+"2" {
		t.Errorf("header %v, %v", h, err)
	}
}

func TestScopesThatWereNotGranted(t *testing.T) {
	w := newWorld(t)
	w.issued["scope"] = "read"
	var page string
	err := w.source(launch.Login{Scopes: []string{"write"}}).Login(t.Context(), w.reading(&page))
	if err != nil {
		t.Fatal(err)
	}
	l, _ := w.store.Find(Resource(w.site), "")
	if !slices.Equal(l.Scopes, []string{"read"}) || !slices.Equal(l.Missing(), []string{"write"}) {
		t.Errorf("granted %q, missing %q", l.Scopes, l.Missing())
	}
	w.pages.Wait()
	if !strings.Contains(page, "not granted: write") {
		t.Errorf("the page is %q", page)
	}
}

func TestTwoLoginsAtTheSameTimeAskOnce(t *testing.T) {
	w := newWorld(t)
	var done sync.WaitGroup
	for range 2 {
		s := w.source(launch.Login{})
		done.Go(func() {
			if err := s.Login(t.Context(), w.browser); err != nil {
				t.Error(err)
			}
			if h, err := s.header(t.Context()); err != nil || h.Get("Authorization") != "Bearer "+accessCanary {
				t.Errorf("header %v, %v", h, err)
			}
		})
	}
	done.Wait()
	if w.numAsked != 1 {
		t.Errorf("asked %d times", w.numAsked)
	}
}

func TestALoginOfADifferentProcessIsUsed(t *testing.T) {
	w := newWorld(t)
	s := w.source(launch.Login{})
	req := httptest.NewRequest(http.MethodPost, w.site, nil)
	res := &http.Response{StatusCode: 401, Header: http.Header{"Www-Authenticate": {w.challenge}}}
	if err := s.Authorize(t.Context(), req, res); err == nil {
		t.Fatal("a request without a login was authorized")
	}
	w.mustLogin(launch.Login{})
	if err := s.Login(t.Context(), w.browser); err != nil {
		t.Fatal(err)
	}
	if w.numAsked != 1 {
		t.Errorf("asked %d times", w.numAsked)
	}
}

// After a login that the person did not complete, the processes that waited for it do not open the
// browser one after the other.
func TestALoginThatWasNotCompletedIsNotAskedForAgain(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		s := w.source(launch.Login{})
		req := httptest.NewRequest(http.MethodPost, w.site, nil)
		s.Authorize(t.Context(), req, &http.Response{StatusCode: 401, Header: http.Header{"Www-Authenticate": {w.challenge}}})
		unlock, err := w.store.LockFlow(t.Context(), Resource(w.site), "")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- s.Login(t.Context(), w.browser) }()
		synctest.Wait()
		unlock()
		if err := <-done; !errors.Is(err, errAskedElsewhere) {
			t.Errorf("error %v", err)
		}
	})
	if w.numAsked != 0 {
		t.Errorf("asked %d times", w.numAsked)
	}
}

func TestTheIssuerMoved(t *testing.T) {
	w := newWorld(t)
	w.client["client_secret"] = secretCanary
	first := w.mustLogin(launch.Login{})
	moved := newWorld(t)
	moved.client["client_id"] = "registered-2"
	w.hosts["as2.test"] = moved.serveIssuer
	moved.meta = map[string]any{"issuer": "https://as2.test", "authorization_endpoint": "https://as2.test/authorize", "token_endpoint": "https://as2.test/token", "registration_endpoint": "https://as2.test/register"}
	moved.issued = map[string]any{"access_token": "at-as2", "token_type": "Bearer"}
	w.resource["authorization_servers"] = []string{"https://as2.test"}
	rejected := w.source(launch.Login{})
	req := httptest.NewRequest(http.MethodPost, w.site, nil)
	req.Header.Set("Authorization", "Bearer "+accessCanary)
	w.issued = map[string]any{"error": "invalid_grant"}
	err := rejected.Authorize(t.Context(), req, &http.Response{StatusCode: 401, Header: http.Header{"Www-Authenticate": {w.challenge}}})
	if n, ok := errors.AsType[*Needed](err); !ok || !strings.Contains(n.Why, "now uses the authorization server https://as2.test") {
		t.Errorf("error %v", err)
	}
	w.agrees = true
	l := w.mustLogin(launch.Login{})
	if l.Issuer != "https://as2.test" || l.Access != "at-as2" || l.Client.ID != "registered-2" {
		t.Errorf("stored %v with %v", l, l.Client)
	}
	all, err := w.store.All()
	if err != nil || len(all) != 1 {
		t.Errorf("stored %v, %v", all, err)
	}
	for _, s := range w.sent {
		if s.host == "as2.test" && (strings.Contains(s.text, first.Client.ID) || strings.Contains(s.text, secretCanary) || strings.Contains(s.text, refreshCanary)) {
			t.Errorf("the new issuer got what is for the old one: %s %s", s.method, s.path)
		}
	}
}

func TestADeletedRegistrationIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.mustLogin(launch.Login{})
	w.client["client_id"] = "registered-2"
	known := w.hosts["as.test"]
	w.hosts["as.test"] = func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			if r.ParseForm(); r.PostForm.Get("client_id") == "registered-1" {
				respond(rw, 401, map[string]any{"error": "invalid_client"})
				return
			}
		}
		known(rw, r)
	}
	if l := w.mustLogin(launch.Login{}); l.Client.ID != "registered-2" {
		t.Errorf("client %v", l.Client)
	}
}

func TestDPoPIsExplained(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"challenge": func(w *world) { w.challenge = `DPoP algs="ES256"` },
		"metadata":  func(w *world) { w.resource["dpop_bound_access_tokens_required"] = true },
		"token":     func(w *world) { w.issued["token_type"] = "DPoP" },
	} {
		w := newWorld(t)
		change(w)
		if _, err := w.login(launch.Login{}); !errors.Is(err, errDPoP) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// The first tokens are read as leniently as renewed ones: a detail must not lose them.
func TestFirstTokensAreReadLeniently(t *testing.T) {
	for name, c := range map[string]struct {
		body    string
		expires time.Duration
	}{
		"a fraction": {`{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":3599.5}`, 3599500 * time.Millisecond},
		"a string":   {`{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":"3600"}`, time.Hour},
		"no number":  {`{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":{},"scope":null}`, 0},
		"a form":     {`access_token=a&refresh_token=r&token_type=bearer&expires_in=3600`, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			for _, o := range []launch.Login{{}, {Grant: launch.GrantClient, ClientID: "job", ClientSecret: secretCanary}} {
				w := newWorld(t)
				w.instead("/token", func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, c.body) })
				before := time.Now()
				l, err := w.login(o)
				if err != nil || l.Access != "a" || o.Grant == "" && l.Refresh != "r" {
					t.Fatal(l.Status(), err)
				}
				if earliest, latest := before.Add(c.expires), time.Now().Add(c.expires); c.expires == 0 != l.Expires.IsZero() || c.expires > 0 && (l.Expires.Before(earliest) || l.Expires.After(latest)) {
					t.Errorf("expires %v, not between %v and %v", l.Expires, earliest, latest)
				}
			}
		})
	}
}
