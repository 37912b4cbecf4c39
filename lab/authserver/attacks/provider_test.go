package attacks

import (
	"crypto/rand"
	"encoding/json"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Kinds of secrets.
const (
	kindAccess  = "access token"
	kindRefresh = "refresh token"
	kindCode    = "code"
	kindSecret  = "client secret"
)

// provider is an authorization server.
type provider struct {
	world  *world
	origin string
	strict bool           // strict: it asks each time, requires PKCE, rejects a resource that it does not know, and names itself in responses. Else it remembers consent and ignores the resource.
	open   bool           // open: every client is one of its own.
	usual  string         // usual is the server that people know it for; empty: none.
	serves []string       // serves are the resources that it issues tokens for, if it is strict.
	meta   map[string]any // meta is its metadata.

	mu       sync.Mutex
	clients  map[string]*client
	consents map[[2]string]string // consents maps a person and a client to the server that the person agreed to.
	codes    map[string]*grant
	refresh  map[string]*grant
	access   map[string]*grant
	pages    int // pages counts those that asked a person.
}

// client is a program that is registered.
type client struct{ secret, redirect string }

// grant is what a person agreed to.
type grant struct {
	person, client, redirect, challenge string
	resource                            string // resource is the server that the person believed this is for.
	audience                            string // audience is what a token of a strict provider is for.
	spent                               bool
}

func (w *world) newProvider(origin, usual string, strict bool) *provider {
	p := &provider{
		world: w, origin: origin, strict: strict, usual: usual, serves: []string{usual},
		clients: map[string]*client{}, consents: map[[2]string]string{},
		codes: map[string]*grant{}, refresh: map[string]*grant{}, access: map[string]*grant{},
		meta: map[string]any{
			"issuer": origin, "authorization_endpoint": origin + "/authorize", "token_endpoint": origin + "/token",
			"registration_endpoint": origin + "/register", "revocation_endpoint": origin + "/revoke",
			"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		},
	}
	if strict {
		p.meta["authorization_response_iss_parameter_supported"] = true
	}
	for path, h := range map[string]http.HandlerFunc{
		"/.well-known/oauth-authorization-server": func(rw http.ResponseWriter, _ *http.Request) { respond(rw, 200, p.meta) },
		"/register":  p.register,
		"/authorize": p.authorize,
		"/token":     p.token,
		"/revoke":    func(http.ResponseWriter, *http.Request) {},
	} {
		w.at(origin+path, func(rw http.ResponseWriter, r *http.Request) {
			p.mu.Lock()
			defer p.mu.Unlock()
			h(rw, r)
		})
	}
	return p
}

func respond(rw http.ResponseWriter, status int, value any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	json.NewEncoder(rw).Encode(value)
}

func refuse(rw http.ResponseWriter, code string) { respond(rw, 400, map[string]any{"error": code}) }

// addClient registers a client, with a secret if it is to have one.
func (p *provider) addClient(id, secretValue, redirect string) {
	p.clients[id] = &client{secretValue, redirect}
	if secretValue != "" {
		p.world.note(secret{kind: kindSecret, value: secretValue, issuer: p.origin})
	}
}

func (p *provider) register(rw http.ResponseWriter, r *http.Request) {
	var asked struct {
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil || len(asked.Redirects) == 0 {
		refuse(rw, "invalid_client_metadata")
		return
	}
	id, value := "client-"+rand.Text(), ""
	answer := map[string]any{"client_id": id, "redirect_uris": asked.Redirects, "token_endpoint_auth_method": asked.Method}
	if asked.Method != "none" {
		value = "secret-" + rand.Text()
		answer["client_secret"] = value
	}
	p.addClient(id, value, asked.Redirects[0])
	respond(rw, 201, answer)
}

// sameLoopback compares redirect addresses without their ports (RFC 8252, 7.3).
func sameLoopback(a, b string) bool {
	return hostOf(a) == hostOf(b) && hostOf(a) == "127.0.0.1" && pathOf(a) == pathOf(b)
}

// authorize asks the person who the browser belongs to, unless that was done before.
func (p *provider) authorize(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.Method == http.MethodPost {
		r.ParseForm()
		q = r.PostForm
	}
	person, known := r.Header.Get(personHeader), p.clients[q.Get("client_id")]
	if !p.open && (known == nil || !sameLoopback(known.redirect, q.Get("redirect_uri"))) {
		http.Error(rw, "This program is not registered here.", http.StatusBadRequest)
		return
	}
	g := &grant{person: person, client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"), audience: q.Get("resource")}
	if p.strict && !q.Has("resource") {
		g.audience = p.usual
	}
	if p.strict && (g.challenge == "" || !slices.Contains(p.serves, g.audience)) {
		p.answer(rw, r, q, url.Values{"error": {"invalid_target"}, "error_description": {"The resource parameter is not supported here."}})
		return
	}
	consent := [2]string{person, g.client}
	remembered, ok := p.consents[consent]
	if r.Method != http.MethodPost && (p.strict || !ok) {
		p.pages++
		io.WriteString(rw, page(hostOf(p.origin)+" asks: may Gauze use your account?", q))
		return
	}
	asked := r.Method == http.MethodPost
	switch target := p.world.people[person].decides(p, asked); {
	case p.strict:
		g.resource = g.audience // which the page names
	case target != "":
		g.resource = target
	case ok:
		g.resource = remembered
	default:
		g.resource = p.usual
	}
	if asked {
		p.consents[consent] = g.resource
	}
	code := "code-" + rand.Text()
	p.codes[code] = g
	p.world.note(secret{kind: kindCode, value: code, issuer: p.origin})
	p.world.note(secret{kind: kindVerifier, value: g.challenge, issuer: p.origin})
	p.answer(rw, r, q, url.Values{"code": {code}})
}

// page returns a page with a form that repeats a request.
func page(text string, fields url.Values) string {
	var b strings.Builder
	b.WriteString("<p>" + html.EscapeString(text) + `</p><form method="POST" action="">`)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		b.WriteString(`<input type="hidden" name="` + html.EscapeString(name) + `" value="` + html.EscapeString(fields.Get(name)) + `">`)
	}
	return b.String() + `<button name="allow" value="yes">Allow</button></form>`
}

// answer sends the browser back.
func (p *provider) answer(rw http.ResponseWriter, r *http.Request, q, answer url.Values) {
	answer.Set("state", q.Get("state"))
	if p.strict {
		answer.Set("iss", p.origin)
	}
	http.Redirect(rw, r, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}

func (p *provider) token(rw http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	form := r.PostForm
	id, value, ok := r.BasicAuth()
	if !ok {
		id, value = form.Get("client_id"), form.Get("client_secret")
	}
	if known := p.clients[id]; !p.open && (known == nil || known.secret != value) {
		refuse(rw, "invalid_client")
		return
	}
	var g *grant
	switch form.Get("grant_type") {
	case "authorization_code":
		g = p.codes[form.Get("code")]
		if g == nil || g.client != id || g.redirect != form.Get("redirect_uri") || g.challenge != "" && challengeOf(form.Get("code_verifier")) != g.challenge {
			refuse(rw, "invalid_grant")
			return
		}
		if g.spent {
			p.world.fail("a code of %s was used twice", p.origin)
		}
		g.spent = true
	case "refresh_token":
		if g = p.refresh[form.Get("refresh_token")]; g == nil || g.client != id {
			refuse(rw, "invalid_grant")
			return
		}
		delete(p.refresh, form.Get("refresh_token"))
	case "client_credentials":
		g = &grant{person: id, client: id, resource: p.usual, audience: form.Get("resource")}
	default:
		refuse(rw, "unsupported_grant_type")
		return
	}
	respond(rw, 200, p.issue(g))
}

// issue returns new tokens.
func (p *provider) issue(g *grant) map[string]any {
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	p.access[access], p.refresh[refresh] = g, g
	p.world.note(secret{kindAccess, access, p.origin, g.resource})
	p.world.note(secret{kind: kindRefresh, value: refresh, issuer: p.origin})
	return map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600}
}

// valid returns what a token was issued for; nil if it is not valid.
func (p *provider) valid(token string) *grant {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.access[token]
}

// owner returns the person that a token belongs to; empty if it is not valid for a resource.
func (p *provider) owner(token, resource string) string {
	g := p.valid(token)
	if g == nil || p.strict && g.audience != resource {
		return ""
	}
	return g.person
}

// expire makes every access token invalid. Refresh tokens stay valid.
func (p *provider) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.access)
}

// end makes every token invalid.
func (p *provider) end() {
	p.expire()
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.refresh)
}
