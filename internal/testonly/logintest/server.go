package logintest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Config is how a Server behaves. Change it while the server runs with Server.Set.
type Config struct {
	Lifetime       time.Duration     // Lifetime is how long an access token is valid. Default: 1h.
	ExpiresIn      time.Duration     // ExpiresIn is what clients are told instead of Lifetime; negative: nothing.
	NoRefresh      bool              // NoRefresh issues no refresh tokens.
	NoRotation     bool              // NoRotation keeps a refresh token valid after its use.
	Offline        bool              // Offline lists offline_access, and issues refresh tokens only to clients that ask for it.
	NoRegistration bool              // NoRegistration rejects dynamic registration, and metadata does not list it.
	NoMetadata     bool              // NoMetadata has no metadata at all, as in revision 2025-03-26.
	Clients        map[string]string // Clients are registered beforehand: ID and secret, which may be empty. They may use any loopback address.
	Documents      bool              // Documents accepts client ID metadata documents: any https URL is a client.
	Assertion      string            // Assertion is the workload identity token that is accepted.
	Scopes         []string          // Scopes are those of the protected resource metadata and the challenge.
	Granted        []string          // Granted replaces the scopes that a client asked for.
	ToolScopes     map[string]string // ToolScopes are the scopes that tools require, by name.
	Forbidden      string            // Forbidden is a tool that is rejected with 401, whatever the token.
	Issuer         string            // Issuer is what the metadata says instead of the address of the server.
	IssuerInReply  string            // IssuerInReply is the iss of the redirect instead of Issuer.
	Resource       string            // Resource is what the protected resource metadata says instead of the address of /mcp.
	Who            string            // Who goes into the ID token. Empty: no ID token.
	Deny           bool              // Deny is a person who declines.
	Silent         bool              // Silent is a person who never answers.
	Open           bool              // Open lets requests without a token pass, and has no authorization server.
	Echo           bool              // Echo is an MCP server that repeats tokens in its errors.
	Mark           string            // Mark is a part of every secret, so that a test can search for it.
}

// Server is an authorization server and an MCP server at /mcp.
type Server struct {
	*httptest.Server

	mu      sync.Mutex
	config  Config
	clients map[string]client
	codes   map[string]grant
	access  map[string]grant
	refresh map[string]*renewal
	failing map[string][]Fault
	ledger  []Request
	secrets []string
	serial  int
}

// Request is an entry of the ledger.
type Request struct {
	Kind   string // Kind is register, authorize, code, refresh, machine, revoke, metadata or mcp.
	Method string // Method is that of an MCP message, or of a request without one.
	Status int    // Status is that of the response; 0 if there was none.
	Reused bool   // Reused is a refresh token that was sent after it had worked.
	Client string // Client is its ID, where the request has one.
	Scope  string // Scope is what the request asked for.
	Person string // Person is who logged in to get the token of an MCP message, if the browser said it.
}

// PersonHeader is how a browser says who uses it.
const PersonHeader = "Test-Person"

// New starts a server that ends with the test.
func New(t testing.TB, c Config) *Server {
	s := Start(c)
	t.Cleanup(s.Stop)
	return s
}

// Start starts a server.
func Start(c Config) *Server {
	s := &Server{config: c, clients: map[string]client{}, codes: map[string]grant{}, access: map[string]grant{},
		refresh: map[string]*renewal{}, failing: map[string][]Fault{}}
	for _, secret := range c.Clients {
		s.secrets = append(s.secrets, secret)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", s.resourceMetadata)
	mux.HandleFunc("/.well-known/oauth-authorization-server", s.metadata)
	mux.HandleFunc("/register", s.register)
	mux.HandleFunc("/authorize", s.authorize)
	mux.HandleFunc("/token", s.token)
	mux.HandleFunc("/revoke", s.revoke)
	mux.HandleFunc("/mcp", s.mcp)
	s.Server = httptest.NewServer(s.spoiled(mux))
	return s
}

// Stop ends the server, with requests that were never answered.
func (s *Server) Stop() {
	s.CloseClientConnections()
	s.Close()
}

// MCP returns the URL of the MCP server.
func (s *Server) MCP() string { return s.URL + "/mcp" }

// Set changes how the server behaves.
func (s *Server) Set(change func(*Config)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.config)
}

func (s *Server) now() Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}

// Ledger returns the requests so far of the given kinds, or all.
func (s *Server) Ledger(kinds ...string) (found []Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.ledger {
		if len(kinds) == 0 || slices.Contains(kinds, r.Kind) {
			found = append(found, r)
		}
	}
	return found
}

// Logins returns how often a person logged in, Renewals how often a refresh token worked, and Reused
// how often one was sent that had worked before.
func (s *Server) Logins() int {
	return s.count(func(r Request) bool { return r.Kind == "code" && r.Status == 200 })
}

// Renewals: see Logins.
func (s *Server) Renewals() int {
	return s.count(func(r Request) bool { return r.Kind == "refresh" && r.Status == 200 })
}

// Reused: see Logins.
func (s *Server) Reused() int { return s.count(func(r Request) bool { return r.Reused }) }

func (s *Server) count(what func(Request) bool) (n int) {
	for _, r := range s.Ledger() {
		if what(r) {
			n++
		}
	}
	return n
}

// Secrets returns every token, code, verifier and client secret so far.
func (s *Server) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.secrets)
}

// note adds to the ledger.
func (s *Server) note(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger = append(s.ledger, r)
}

// secret returns a new secret; the lock is held.
func (s *Server) secret(kind string) string {
	s.serial++
	one := fmt.Sprintf("%s%s%d%s", kind, s.config.Mark, s.serial, rand.Text())
	s.secrets = append(s.secrets, one)
	return one
}

// Expire makes every access token expire.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
}

// Revoke ends every login: its access and refresh tokens.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
	for _, r := range s.refresh {
		*r.over = true
	}
}

// Forget loses every registration.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.clients)
}

// Fault is a response in place of the server's own.
type Fault func(s *Server, w http.ResponseWriter, r *http.Request, next http.Handler)

// Fail answers the next requests to a path, such as "/token", with faults, one after the other.
func (s *Server) Fail(path string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing[path] = append(s.failing[path], faults...)
}

// Status answers with a status and, for 429 and 503, Retry-After.
func Status(code int, retryAfter string) Fault {
	return func(s *Server, w http.ResponseWriter, r *http.Request, _ http.Handler) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		http.Error(w, http.StatusText(code), code)
	}
}

// Refuse answers with an OAuth error.
func Refuse(code string) Fault {
	return func(s *Server, w http.ResponseWriter, r *http.Request, _ http.Handler) { oauthError(w, 400, code) }
}

// Cut does what was asked and sends half of the response.
func Cut(s *Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
	full := httptest.NewRecorder()
	next.ServeHTTP(full, r)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(full.Body.Len()))
	w.WriteHeader(full.Code)
	w.Write(full.Body.Bytes()[:full.Body.Len()/2])
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Answer sends body as JSON.
func Answer(body string) Fault {
	return func(s *Server, w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(body))
	}
}

// spoiled answers with the faults first.
func (s *Server) spoiled(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		waiting := s.failing[r.URL.Path]
		if len(waiting) > 0 {
			s.failing[r.URL.Path] = waiting[1:]
		}
		s.mu.Unlock()
		if len(waiting) > 0 {
			waiting[0](s, w, r, next)
			return
		}
		if r.URL.Path != "/mcp" && s.now().Open {
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) issuer(c Config) string {
	if c.Issuer != "" {
		return c.Issuer
	}
	return s.URL
}

func (s *Server) resourceMetadata(w http.ResponseWriter, r *http.Request) {
	c := s.now()
	if c.NoMetadata {
		http.NotFound(w, r)
		return
	}
	resource := c.Resource
	if resource == "" {
		resource = s.MCP()
	}
	s.note(Request{Kind: "metadata", Method: r.Method, Status: 200})
	reply(w, 200, map[string]any{"resource": resource, "authorization_servers": []string{s.issuer(c)}, "scopes_supported": c.Scopes})
}

func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	c := s.now()
	if c.NoMetadata {
		http.NotFound(w, r)
		return
	}
	s.note(Request{Kind: "metadata", Method: r.Method, Status: 200})
	scopes := slices.Clone(c.Scopes)
	if c.Offline {
		scopes = append(scopes, "offline_access")
	}
	about := map[string]any{
		"issuer": s.issuer(c), "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"revocation_endpoint": s.URL + "/revoke", "scopes_supported": scopes, "response_types_supported": []string{"code"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token", "client_credentials"},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic", "client_secret_post", "private_key_jwt"},
		"authorization_response_iss_parameter_supported": true, "client_id_metadata_document_supported": c.Documents,
	}
	if !c.NoRegistration {
		about["registration_endpoint"] = s.URL + "/register"
	}
	reply(w, 200, about)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func oauthError(w http.ResponseWriter, status int, code string) {
	reply(w, status, map[string]string{"error": code, "error_description": "the test says " + code})
}
