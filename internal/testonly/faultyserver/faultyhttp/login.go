package faultyhttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// A server with Config.Logins is its own authorization server for machines. Its tokens are valid
// until the fault expire-after-effect ends one.

// serveLogin answers what a client asks in order to log in.
func (x *exchange) serveLogin() {
	origin := x.s.origin()
	var answer object
	switch path := x.r.URL.Path; {
	case strings.HasPrefix(path, "/.well-known/oauth-protected-resource"):
		answer = object{"resource": origin + "/mcp", "authorization_servers": []string{origin}}
	case strings.HasPrefix(path, "/.well-known/oauth-authorization-server"):
		answer = object{
			"issuer": origin, "authorization_endpoint": origin + "/authorize", "token_endpoint": origin + "/token",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"grant_types_supported": []string{"client_credentials"}, "token_endpoint_auth_methods_supported": []string{"client_secret_post", "client_secret_basic"},
		}
	case path == "/token" && x.r.FormValue("grant_type") == "client_credentials":
		answer = object{"access_token": x.s.issue(), "token_type": "Bearer", "expires_in": 3600}
	default:
		http.NotFound(x.w, x.r)
		return
	}
	x.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(x.w).Encode(answer)
}

// issue returns a new token.
func (s *Server) issue() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issued++
	token := fmt.Sprint("token-", s.issued)
	s.valid[token] = true
	return token
}

// admitted reports whether a request has the token that the server requires, if it requires one.
func (x *exchange) admitted() bool {
	token, _ := strings.CutPrefix(x.r.Header.Get("Authorization"), "Bearer ")
	if x.s.cfg.Logins {
		x.s.mu.Lock()
		defer x.s.mu.Unlock()
		return x.s.valid[token]
	}
	return x.s.cfg.Token == "" || token == x.s.cfg.Token
}

func expireToken(x *exchange, _ []byte) {
	token, _ := strings.CutPrefix(x.r.Header.Get("Authorization"), "Bearer ")
	x.s.mu.Lock()
	delete(x.s.valid, token)
	x.s.mu.Unlock()
	unauthorized("")(x, nil)
}
