package authserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"
)

// TestProvider logs in and renews with a plain OAuth client: a refresh token that was used is
// rejected, recorded, and ends the login.
func TestProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour, 0)
	ctx := t.Context()
	client := oauth2.Config{ClientID: ClientID, Scopes: append([]string{"offline_access"}, scopes...), Endpoint: oauth2.Endpoint{
		AuthURL: w.provider.URL + "/auth", TokenURL: w.provider.URL + TokenPath, AuthStyle: oauth2.AuthStyleInParams,
	}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	codes := make(chan string, 1)
	callback := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { codes <- r.FormValue("code") })}
	go callback.Serve(listener)
	defer callback.Close()
	client.RedirectURL = "http://" + listener.Addr().String() + "/callback"
	verifier := oauth2.GenerateVerifier()
	if err := browse(client.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier))); err != nil {
		t.Fatal(err)
	}
	first, err := client.Exchange(ctx, <-codes, oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	w.accepts(first.AccessToken, true)
	w.accepts("wrong", false)

	renew := func(token string) (*oauth2.Token, error) {
		return client.TokenSource(ctx, &oauth2.Token{RefreshToken: token}).Token()
	}
	second, err := renew(first.RefreshToken)
	if err != nil || second.RefreshToken == first.RefreshToken {
		t.Fatalf("refresh token not rotated: %v", err)
	}
	w.accepts(first.AccessToken, false)
	w.accepts(second.AccessToken, true)
	w.provider.RevokeAccess()
	w.accepts(second.AccessToken, false)

	for _, used := range []string{first.RefreshToken, second.RefreshToken} {
		var refused *oauth2.RetrieveError
		if _, err := renew(used); !errors.As(err, &refused) || refused.ErrorCode != "invalid_grant" {
			t.Errorf("want invalid_grant: %v", err)
		}
	}
	if c := w.provider.Counts(); c.Logins != 1 || c.Renewals != 1 || c.UsedTwice != 1 {
		t.Errorf("%+v", c)
	}
}

// accepts checks whether the server accepts a token.
func (w *world) accepts(token string, want bool) {
	w.Helper()
	tokens := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})
	transport := &mcp.StreamableClientTransport{Endpoint: w.resource.URL, HTTPClient: oauth2.NewClient(context.Background(), tokens)}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(w.Context(), transport, nil)
	if err == nil {
		session.Close()
	}
	if (err == nil) != want {
		w.Errorf("accepted: %v, want %v: %v", err == nil, want, err)
	}
}
