package logintest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// client is a program that may ask for tokens.
type client struct {
	secret    string
	redirects []string
	anyPort   bool
}

// grant is what a code or an access token stands for.
type grant struct {
	client, redirect, challenge, resource string
	person                                string // person is who logged in, if the browser said it
	scopes                                []string
	expires                               time.Time
	over                                  *bool // over is shared by all tokens of a login
}

// renewal is a refresh token.
type renewal struct {
	grant
	used bool
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
		Name      string   `json:"client_name"`
	}
	c := s.now()
	err := json.NewDecoder(r.Body).Decode(&asked)
	if c.NoRegistration || err != nil || len(asked.Redirects) == 0 {
		s.note(Request{Kind: "register", Method: r.Method, Status: 400})
		oauthError(w, 400, "invalid_client_metadata")
		return
	}
	s.mu.Lock()
	id := "client-" + strings.ToLower(s.secret("id")[len("id")+len(c.Mark):])
	s.secrets = s.secrets[:len(s.secrets)-1] // an ID is not a secret
	registered := client{redirects: asked.Redirects}
	answer := map[string]any{"client_id": id, "redirect_uris": asked.Redirects, "token_endpoint_auth_method": asked.Method, "client_name": asked.Name}
	if asked.Method != "none" {
		registered.secret = s.secret("secret")
		answer["client_secret"] = registered.secret
	}
	s.clients[id] = registered
	s.mu.Unlock()
	s.note(Request{Kind: "register", Method: r.Method, Status: 201, Client: id})
	reply(w, 201, answer)
}

// client finds a client by its ID; the lock is held.
func (s *Server) client(id string) (client, bool) {
	if secret, ok := s.config.Clients[id]; ok {
		return client{secret: secret, anyPort: true}, true
	}
	if s.config.Documents && strings.HasPrefix(id, "https://") {
		return client{anyPort: true}, true
	}
	found, ok := s.clients[id]
	return found, ok
}

// allows reports whether the browser may be sent to an address.
func (c client) allows(redirect string) bool {
	if !c.anyPort {
		return slices.Contains(c.redirects, redirect)
	}
	u, err := url.Parse(redirect)
	return err == nil && u.Scheme == "http" && launch.IsLoopback(u.Hostname())
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	c, q := s.now(), r.URL.Query()
	s.mu.Lock()
	who, known := s.client(q.Get("client_id"))
	s.mu.Unlock()
	entry := Request{Kind: "authorize", Method: r.Method, Client: q.Get("client_id"), Scope: q.Get("scope")}
	switch {
	case !known, !who.allows(q.Get("redirect_uri")), q.Get("response_type") != "code", q.Get("code_challenge_method") != "S256", q.Get("state") == "":
		entry.Status = 400
		s.note(entry)
		http.Error(w, "this request is not valid", 400)
		return
	case c.Silent:
		s.note(entry)
		<-r.Context().Done()
		return
	}
	back, _ := url.Parse(q.Get("redirect_uri")) // allows has parsed it
	answer := back.Query()
	answer.Set("state", q.Get("state"))
	answer.Set("iss", s.issuer(c))
	if c.IssuerInReply != "" {
		answer.Set("iss", c.IssuerInReply)
	}
	s.mu.Lock()
	if c.Deny {
		answer.Set("error", "access_denied")
	} else {
		code := s.secret("code")
		s.codes[code] = grant{client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"), resource: q.Get("resource"), person: r.Header.Get(PersonHeader), scopes: strings.Fields(q.Get("scope")), over: new(bool)}
		answer.Set("code", code)
	}
	s.mu.Unlock()
	entry.Status = http.StatusFound
	s.note(entry)
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// Browser is a person who opens an address, answers as configured and is led back to gauze.
func (s *Server) Browser(ctx context.Context, address string) error {
	go func() {
		req, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			return
		}
		if res, err := s.Client().Do(req); err == nil {
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}()
	return nil
}

// Redirect returns the address that the browser would be led back to, for a person who pastes it.
func (s *Server) Redirect(address string) (string, error) {
	web := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := web.Get(address)
	if err != nil {
		return "", err
	}
	res.Body.Close()
	if to := res.Header.Get("Location"); to != "" {
		return to, nil
	}
	return "", errors.New("the authorization server did not redirect: " + res.Status)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	entry := Request{Method: r.Method, Scope: r.Form.Get("scope")}
	s.mu.Lock()
	answer, code := s.issue(r, &entry)
	entry.Status = 200
	if code != "" {
		entry.Status = 400
	}
	s.ledger = append(s.ledger, entry)
	s.mu.Unlock()
	if code != "" {
		oauthError(w, 400, code)
		return
	}
	reply(w, 200, answer)
}

// issue handles a request for a token; the lock is held.
func (s *Server) issue(r *http.Request, entry *Request) (answer map[string]any, code string) {
	id, secret, basic := r.BasicAuth()
	if basic {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.Form.Get("client_id"), r.Form.Get("client_secret")
	}
	entry.Client = id
	assertion := r.Form.Get("client_assertion")
	known, ok := s.client(id)
	byAssertion := s.config.Assertion != "" && assertion == s.config.Assertion
	grantType := r.Form.Get("grant_type")
	entry.Kind = map[string]string{"authorization_code": "code", "refresh_token": "refresh"}[grantType]
	if entry.Kind == "" {
		entry.Kind = "machine"
	}
	if !byAssertion && (!ok || known.secret != secret || assertion != "") {
		return nil, "invalid_client"
	}
	switch grantType {
	case "authorization_code":
		g, ok := s.codes[r.Form.Get("code")]
		delete(s.codes, r.Form.Get("code"))
		verifier := r.Form.Get("code_verifier")
		s.secrets = append(s.secrets, verifier)
		sum := sha256.Sum256([]byte(verifier))
		if !ok || g.client != id || g.redirect != r.Form.Get("redirect_uri") || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			return nil, "invalid_grant"
		}
		return s.tokens(g), ""
	case "refresh_token":
		old := s.refresh[r.Form.Get("refresh_token")]
		switch {
		case old == nil, old.client != id, *old.over:
			return nil, "invalid_grant"
		case old.used && !s.config.NoRotation:
			entry.Reused, *old.over = true, true // one of the two may be stolen
			return nil, "invalid_grant"
		}
		old.used = true
		return s.tokens(old.grant), ""
	case "client_credentials":
		if known.secret == "" && !byAssertion {
			return nil, "unauthorized_client"
		}
		return s.tokens(grant{client: id, resource: r.Form.Get("resource"), scopes: strings.Fields(r.Form.Get("scope")), over: new(bool)}, true), ""
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		if s.config.Assertion == "" || r.Form.Get("assertion") != s.config.Assertion {
			return nil, "invalid_grant"
		}
		return s.tokens(grant{client: id, resource: r.Form.Get("resource"), scopes: strings.Fields(r.Form.Get("scope")), over: new(bool)}, true), ""
	}
	return nil, "unsupported_grant_type"
}

// tokens issues the tokens of a grant; the lock is held.
func (s *Server) tokens(g grant, machine ...bool) map[string]any {
	c := s.config
	if c.Granted != nil {
		g.scopes = c.Granted
	}
	lifetime := c.Lifetime
	if lifetime == 0 {
		lifetime = time.Hour
	}
	access := s.secret("access")
	issued := g
	issued.expires = time.Now().Add(lifetime)
	s.access[access] = issued
	told := lifetime
	if c.ExpiresIn != 0 {
		told = c.ExpiresIn
	}
	answer := map[string]any{"access_token": access, "token_type": "Bearer", "scope": strings.Join(g.scopes, " ")}
	if told > 0 {
		answer["expires_in"] = int((told + time.Second - 1) / time.Second)
	}
	if !c.NoRefresh && len(machine) == 0 && (!c.Offline || slices.Contains(g.scopes, "offline_access")) {
		next := s.secret("refresh")
		s.refresh[next] = &renewal{grant: g}
		answer["refresh_token"] = next
	}
	if c.Who != "" {
		claims, _ := json.Marshal(map[string]string{"iss": s.issuer(c), "sub": "1", "aud": g.client, "email": c.Who})
		part := base64.RawURLEncoding.EncodeToString
		answer["id_token"] = part([]byte(`{"alg":"none"}`)) + "." + part(claims) + "." + part([]byte("x"))
	}
	return answer
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	s.mu.Lock()
	if g, ok := s.access[r.Form.Get("token")]; ok {
		*g.over = true
	}
	if g := s.refresh[r.Form.Get("token")]; g != nil {
		*g.over = true
	}
	s.mu.Unlock()
	s.note(Request{Kind: "revoke", Method: r.Method, Status: 200})
	w.WriteHeader(200)
}
