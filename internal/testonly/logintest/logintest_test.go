package logintest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/oauth2"
)

// A person logs in, the token opens the MCP server, refresh tokens rotate, and one that is used twice
// ends the login.
func TestALoginWorksAndAReusedTokenEndsIt(t *testing.T) {
	s := New(t, Config{Who: "ada@example.com", Mark: "MARK"})
	if got := call(t, s, "").StatusCode; got != http.StatusUnauthorized {
		t.Fatalf("without a token: %d", got)
	}
	const back = "http://127.0.0.1:9/callback"
	res, err := http.Post(s.URL+"/register", "application/json", strings.NewReader(`{"redirect_uris":["`+back+`"],"token_endpoint_auth_method":"none"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var registered struct {
		ID string `json:"client_id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&registered); err != nil {
		t.Fatal(err)
	}
	config := oauth2.Config{ClientID: registered.ID, RedirectURL: back, Endpoint: oauth2.Endpoint{AuthURL: s.URL + "/authorize", TokenURL: s.URL + "/token", AuthStyle: oauth2.AuthStyleInParams}}
	verifier := oauth2.GenerateVerifier()
	to, err := s.Redirect(config.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", s.MCP())))
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(to)
	if err != nil || at.Query().Get("iss") != s.URL || at.Query().Get("state") != "state" {
		t.Fatal(err, to)
	}
	first, err := config.Exchange(t.Context(), at.Query().Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.Exchange(t.Context(), at.Query().Get("code"), oauth2.VerifierOption(verifier)); err == nil {
		t.Error("a code works twice")
	}
	if got := call(t, s, first.AccessToken).StatusCode; got != 200 {
		t.Errorf("with a token: %d", got)
	}
	s.Expire()
	if got := call(t, s, first.AccessToken).StatusCode; got != 401 {
		t.Errorf("with an expired token: %d", got)
	}
	second, err := config.TokenSource(t.Context(), &oauth2.Token{RefreshToken: first.RefreshToken}).Token()
	if err != nil || second.RefreshToken == first.RefreshToken {
		t.Fatal(err, second)
	}
	if got := call(t, s, second.AccessToken).StatusCode; got != 200 {
		t.Errorf("with a renewed token: %d", got)
	}
	if _, err := config.TokenSource(t.Context(), &oauth2.Token{RefreshToken: first.RefreshToken}).Token(); err == nil {
		t.Error("a refresh token works twice")
	}
	if got := call(t, s, second.AccessToken).StatusCode; got != 401 {
		t.Errorf("after the reuse: %d", got)
	}
	if s.Logins() != 1 || s.Renewals() != 1 || s.Reused() != 1 || len(s.Secrets()) < 6 {
		t.Errorf("%d logins, %d renewals, %d reused, %d secrets", s.Logins(), s.Renewals(), s.Reused(), len(s.Secrets()))
	}
}

// Faults come once each, in order.
func TestFaults(t *testing.T) {
	s := New(t, Config{})
	s.Fail("/token", Status(503, "2"), Refuse("invalid_grant"), Cut)
	for _, want := range []string{"503 Service Unavailable\n", `400 {"error":"invalid_grant"`, "400 {", `400 {"error":"invalid_client"`} {
		res, err := http.PostForm(s.URL+"/token", url.Values{})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if got := fmt.Sprintf("%d %s", res.StatusCode, body); !strings.HasPrefix(got, want) || (err != nil) != (want == "400 {") {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

func call(t *testing.T, s *Server, token string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.MCP(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res
}
