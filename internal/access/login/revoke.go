package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Revoke asks the authorization server to end a login (RFC 7009). It does nothing if that has no
// address for it. The login stays in the store.
func (s *Store) Revoke(ctx context.Context, l Login, c *http.Client) error {
	if l.RevocationURL == "" {
		return nil
	}
	server, err := url.Parse(l.Resource)
	if err != nil {
		return errors.New("the server's address is not a URL")
	}
	client := newGuard(server).client(c)
	// The refresh token is first: with it, many servers also end the access tokens.
	for _, token := range []struct{ value, kind string }{{l.Refresh, "refresh_token"}, {l.Access, "access_token"}} {
		if token.value == "" {
			continue
		}
		form := url.Values{"token": {token.value}, "token_type_hint": {token.kind}}
		req, err := tokenRequest(ctx, l.RevocationURL, l.Client, l.Client.Secret, form)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return fmt.Errorf("the authorization server %s did not revoke the login: %w", l.Issuer, cause(err))
		}
		res.Body.Close()
		if res.StatusCode < 200 || res.StatusCode > 299 {
			return fmt.Errorf("the authorization server %s did not revoke the login: it responded with %s", l.Issuer, shown(res.Status))
		}
	}
	return nil
}
