package login

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Servers of tests have public addresses, except intranet.test.
func init() {
	lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
		if host == "intranet.test" {
			return []netip.Addr{netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("fd00::7")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("9.9.9.9")}, nil
	}
}

// Secrets of a login in the world. Wherever one is sent is a host that has to be agreed to.
const (
	codeCanary    = "CODE-3b1f9c"
	accessCanary  = "ACCESS-77ad02"
	refreshCanary = "REFRESH-90c3e1"
	secretCanary  = "SECRET-5d21aa"
)

// world is a network of hosts by name: a server, its authorization server, and whatever a test adds.
// It is the transport of a client, so nothing is dialled but the callback.
type world struct {
	t     *testing.T
	store *Store
	site  string // the URL of the server

	mu        sync.Mutex
	hosts     map[string]http.HandlerFunc
	anywhere  http.HandlerFunc // answers for all other hosts
	challenge string           // the WWW-Authenticate header of the server; empty: none
	resource  map[string]any   // the metadata of the server; nil: none
	meta      map[string]any   // the metadata of the authorization server; nil: none
	prmPath   string
	metaPath  string
	issued    map[string]any // the response of the token endpoint
	client    map[string]any // the response to a registration
	answer    url.Values     // in the response from the authorization endpoint, beside code and state
	pkce      string
	agrees    bool    // the person agrees to whatever is doubtful
	doubts    []Doubt // those that were shown
	entry     bool    // the options are of an entry, and nobody typed them

	sent     []sent
	shown    []string
	numAsked int
	asked    url.Values // the parameters of the last request for authorization
	token    url.Values // the last request for a token
	basic    string     // its Authorization header
	register map[string]any
	pages    sync.WaitGroup // being read
}

// sent is a request that left gauze.
type sent struct{ method, host, path, text string }

func newWorld(t *testing.T) *world {
	const as = "https://as.test"
	w := &world{
		t: t, store: Open(t.TempDir()), site: "https://mcp.test/mcp",
		challenge: `Bearer resource_metadata="https://mcp.test/.well-known/oauth-protected-resource/mcp", scope="read"`,
		prmPath:   "/.well-known/oauth-protected-resource/mcp",
		metaPath:  "/.well-known/oauth-authorization-server",
		resource:  map[string]any{"resource": "https://mcp.test/mcp", "authorization_servers": []string{as}},
		meta: map[string]any{
			"issuer": as, "authorization_endpoint": as + "/authorize", "token_endpoint": as + "/token",
			"registration_endpoint": as + "/register", "revocation_endpoint": as + "/revoke", "code_challenge_methods_supported": []string{"S256"},
		},
		issued: map[string]any{"access_token": accessCanary, "refresh_token": refreshCanary, "token_type": "Bearer", "expires_in": 3600},
		client: map[string]any{"client_id": "registered-1"},
		answer: url.Values{},
	}
	w.store.key.ring = nil
	w.hosts = map[string]http.HandlerFunc{"mcp.test": w.serveResource, "as.test": w.serveIssuer}
	return w
}

func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, sent{req.Method, req.URL.Host, req.URL.Path, fmt.Sprint(req.URL, req.Header, string(body))})
	handler := w.hosts[req.URL.Host]
	if handler == nil {
		handler = w.anywhere
	}
	if handler == nil {
		return nil, fmt.Errorf("no such host: %s", req.URL.Host)
	}
	in := req.Clone(req.Context())
	in.Body = io.NopCloser(strings.NewReader(string(body)))
	recorder := httptest.NewRecorder()
	handler(recorder, in)
	res := recorder.Result()
	res.Request = req
	return res, nil
}

func (w *world) serveResource(rw http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == w.prmPath && w.resource != nil:
		respond(rw, 200, w.resource)
	case r.URL.Path == "/mcp" && r.Method == http.MethodPost:
		if w.challenge != "" {
			rw.Header().Set("WWW-Authenticate", w.challenge)
		}
		rw.WriteHeader(401)
	default:
		rw.WriteHeader(404)
	}
}

func (w *world) serveIssuer(rw http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == w.metaPath && w.meta != nil:
		respond(rw, 200, w.meta)
	case r.URL.Path == "/register":
		w.register = map[string]any{}
		json.NewDecoder(r.Body).Decode(&w.register)
		respond(rw, 201, w.client)
	case r.URL.Path == "/authorize":
		w.numAsked++
		w.asked = r.URL.Query()
		w.pkce = w.asked.Get("code_challenge")
		back, _ := url.Parse(w.asked.Get("redirect_uri"))
		query := url.Values{"code": {codeCanary}, "state": {w.asked.Get("state")}}
		maps.Copy(query, w.answer)
		back.RawQuery = query.Encode()
		rw.Header().Set("Location", back.String())
		rw.WriteHeader(302)
	case r.URL.Path == "/token":
		r.ParseForm()
		w.token, w.basic = r.PostForm, r.Header.Get("Authorization")
		if r.PostForm.Get("grant_type") == "authorization_code" {
			sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
			if base64.RawURLEncoding.EncodeToString(sum[:]) != w.pkce || r.PostForm.Get("code") != codeCanary || r.PostForm.Get("redirect_uri") != w.asked.Get("redirect_uri") {
				respond(rw, 400, map[string]any{"error": "invalid_grant"})
				return
			}
		}
		status := 200
		if w.issued["error"] != nil {
			status = 400
		}
		respond(rw, status, w.issued)
	case r.URL.Path == "/revoke":
		rw.WriteHeader(200)
	default:
		rw.WriteHeader(404)
	}
}

func respond(rw http.ResponseWriter, status int, value any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	json.NewEncoder(rw).Encode(value)
}

// source returns a source of gauze in the world.
func (w *world) source(o launch.Login) *Source {
	c := Config{Store: w.store, Client: &http.Client{Transport: w}}
	if !w.entry {
		c.Typed = o
	}
	return New(w.site, o, c)
}

// browser opens an address as a person who agrees to everything does.
func (w *world) browser(_ context.Context, p Page) error {
	w.mu.Lock()
	w.shown = append(w.shown, p.Address)
	w.doubts = append(w.doubts, p.Doubts...)
	w.mu.Unlock()
	if len(p.Doubts) > 0 && !w.agrees {
		return errors.New("the person does not agree")
	}
	back, err := w.visit(p.Address)
	if err != nil {
		return err
	}
	go http.Get(back)
	return nil
}

// reading is browser, and keeps the page that the person sees in the end.
func (w *world) reading(text *string) Show {
	return func(_ context.Context, p Page) error {
		back, err := w.visit(p.Address)
		if err != nil {
			return err
		}
		w.pages.Go(func() {
			if res, err := http.Get(back); err == nil {
				body, _ := io.ReadAll(res.Body)
				res.Body.Close()
				*text = string(body)
			}
		})
		return nil
	}
}

// visit opens an address and returns where the browser is sent.
func (w *world) visit(address string) (string, error) {
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	handler := w.hosts[req.URL.Host]
	if handler == nil {
		handler = w.anywhere
	}
	if handler == nil {
		return "", fmt.Errorf("the browser finds no host %s", req.URL.Host)
	}
	recorder := httptest.NewRecorder()
	handler(recorder, req)
	back := recorder.Header().Get("Location")
	if back == "" {
		return "", fmt.Errorf("the browser is not sent back from %s", req.URL.Host)
	}
	return back, nil
}

// login logs in and returns what is stored.
func (w *world) login(o launch.Login) (Login, error) {
	if err := w.source(o).Login(w.t.Context(), w.browser); err != nil {
		return Login{}, err
	}
	return w.store.Find(Resource(w.site), o.Account)
}

// mustLogin is login without an error.
func (w *world) mustLogin(o launch.Login) Login {
	w.t.Helper()
	l, err := w.login(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// numSent counts the requests to a path of a host.
func (w *world) numSent(host, path string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sent {
		if s.host == host && s.path == path {
			n++
		}
	}
	return n
}

// checkSecrets fails if a secret was sent to a host that is not in agreed, or a person was sent to
// an address that is neither https nor on this machine.
func (w *world) checkSecrets(agreed ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sent {
		for _, secret := range []string{codeCanary, accessCanary, refreshCanary, secretCanary, "code_verifier"} {
			if strings.Contains(s.text, secret) && !slices.Contains(agreed, s.host) {
				w.t.Errorf("%s was sent to %s", secret, s.host)
			}
		}
	}
	for _, address := range w.shown {
		if err := openable(address); err != nil {
			w.t.Errorf("a person was sent to %s: %v", address, err)
		}
	}
}
