package bearertest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// The paths of the endpoints, besides the metadata.
const (
	KeysPath       = "/keys"
	IntrospectPath = "/introspect"
	AuthorizePath  = "/authorize"
	TokenPath      = "/token"
	RegisterPath   = "/register"
)

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.seen[r.URL.Path]++
	if i.down {
		http.Error(w, "down for maintenance", http.StatusBadGateway)
		return
	}
	switch r.URL.Path {
	case KeysPath:
		keys := []map[string]any{}
		for id, key := range i.keys {
			keys = append(keys, published(id, key.Public()))
		}
		reply(w, http.StatusOK, map[string]any{"keys": keys})
	case IntrospectPath:
		i.introspect(w, r)
	case AuthorizePath:
		i.authorize(w, r)
	case TokenPath:
		i.exchange(w, r)
	case RegisterPath:
		var client map[string]any
		json.NewDecoder(r.Body).Decode(&client)
		client["client_id"] = "registered-" + rand.Text()
		reply(w, http.StatusCreated, client)
	default:
		i.serveMetadata(w, r)
	}
}

func (i *Issuer) serveMetadata(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.URL.Path, "/.well-known/o") || i.metadata != "" && i.metadata != r.URL.Path {
		http.NotFound(w, r)
		return
	}
	at := i.server.URL
	meta := map[string]any{
		"issuer": i.URL, "jwks_uri": at + KeysPath, "introspection_endpoint": at + IntrospectPath,
		"authorization_endpoint": at + AuthorizePath, "token_endpoint": at + TokenPath, "registration_endpoint": at + RegisterPath,
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none"},
	}
	if i.change != nil {
		i.change(meta)
	}
	reply(w, http.StatusOK, meta)
}

func (i *Issuer) introspect(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	if id == "" {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != i.Client || secret != i.Secret {
		reply(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	said := map[string]any{"active": false}
	if claims := i.active[r.PostFormValue("token")]; claims != nil {
		said = map[string]any{"active": true}
		for name, value := range claims {
			said[name] = value
		}
	}
	reply(w, http.StatusOK, said)
}

// authorize returns to the client immediately: everyone agrees.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	code := rand.Text()
	i.codes[code] = map[string]string{"resource": q.Get("resource"), "scope": q.Get("scope"), "client_id": q.Get("client_id")}
	back := q.Get("redirect_uri") + "?" + url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
	http.Redirect(w, r, back, http.StatusFound)
}

func (i *Issuer) exchange(w http.ResponseWriter, r *http.Request) {
	asked, known := i.codes[r.PostFormValue("code")]
	delete(i.codes, r.PostFormValue("code"))
	if !known || r.PostFormValue("resource") != asked["resource"] || r.PostFormValue("code_verifier") == "" {
		reply(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	claims := i.Claims(asked["resource"], map[string]any{"scope": asked["scope"], "client_id": asked["client_id"]})
	token := Sign(map[string]any{"alg": "ES256", "typ": "at+jwt", "kid": i.current}, claims, i.keys[i.current])
	reply(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": asked["scope"]})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}
