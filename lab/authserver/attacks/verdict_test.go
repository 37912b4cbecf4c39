package attacks

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestVerdict: a secret is found wherever a request can contain it, and only where it does not belong.
func TestVerdict(t *testing.T) {
	const issuer = "https://issuer.example"
	for _, c := range []struct {
		name, to, header, body string
		heard                  string
		want                   int
	}{
		{"a token at its server", mailURL, "Bearer access-1", "", "", 0},
		{"a token at its issuer", issuer + "/revoke", "", "token=access-1", "", 0},
		{"a token at another server", evilURL, "Bearer access-1", "", "", 1},
		{"a token at another path", "https://mcp.mail.example/other", "Bearer access-1", "", "", 1},
		{"a token at another port", "https://mcp.mail.example:8443/mcp", "Bearer access-1", "", "", 1},
		{"a token over http", "http://mcp.mail.example/mcp", "Bearer access-1", "", "", 1},
		{"a token in an address", evilURL + "?t=access-1", "", "", "", 1},
		{"a token that was shown", mailURL, "", "", "it is access-1.", 1},
		{"a refresh token at its issuer", issuer + "/token", "", "refresh_token=refresh-1", "", 0},
		{"a refresh token at the server", mailURL, "", "refresh_token=refresh-1", "", 1},
		{"a code at another issuer", "https://login.evil.example/token", "", "code=code-1", "", 1},
		{"a verifier at its issuer", issuer + "/token", "", "code_verifier=verifier-1", "", 0},
		{"a verifier at another issuer", "https://login.evil.example/token", "", "code_verifier=verifier-1", "", 1},
		{"another verifier", "https://login.evil.example/token", "", "code_verifier=verifier-2", "", 0},
		{"a client's secret at another issuer", "https://login.evil.example/token", "Basic cHJvZ3JhbTpzZWNyZXQrMQ==", "", "", 1},
		{"a client's secret in a form", "https://login.evil.example/token", "", "client_secret=secret%2B1", "", 1},
	} {
		to, err := url.Parse(c.to)
		if err != nil {
			t.Fatal(err)
		}
		l := &ledger{secrets: []secret{
			{kindAccess, "access-1", issuer, mailURL}, {kindRefresh, "refresh-1", issuer, ""}, {kindCode, "code-1", issuer, ""},
			{kindVerifier, challengeOf("verifier-1"), issuer, ""}, {kindSecret, "secret+1", issuer, ""},
		}}
		got := l.verdict([]request{{http.MethodPost, to, http.Header{"Authorization": {c.header}}, c.body}}, c.heard)
		if len(got) != c.want {
			t.Errorf("%s: want %d: %s", c.name, c.want, strings.Join(got, "; "))
		}
	}
}
