package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

const (
	grantJWT         = "urn:ietf:params:oauth:grant-type:jwt-bearer"            // RFC 7523, 2.1
	assertionType    = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" // RFC 7523, 2.2
	maxAssertionSize = 64 << 10
)

// machineToken logs in without a person and returns the login, which the caller stores. It has no
// refresh token: it is renewed by asking again. The error is *Needed if asking again is of no use. If
// there was a login, only its issuer gets the credentials: a server must not be able to choose who
// gets them next.
func (s *Source) machineToken(ctx context.Context, issuer string) (Login, error) {
	f, err := s.newFlow(flowTimeout)
	if err != nil {
		return Login{}, s.needed(err.Error())
	}
	l, err := s.patiently(ctx, func(ctx context.Context) (Login, error) { return f.machine(ctx, issuer) })
	refused, ok := errors.AsType[*refusal](err)
	switch {
	case passes(err) || ok && refused.code == "":
		return Login{}, &Temporary{Why: err.Error(), err: err}
	case err != nil:
		return Login{}, s.needed(err.Error())
	}
	return l, nil
}

// machine logs in with the client's own credentials, or with the identity of a workload, at the given
// issuer; empty: at the one that the server names.
func (f *flow) machine(ctx context.Context, issuer string) (Login, error) {
	params := url.Values{"grant_type": {"client_credentials"}}
	var assertion string
	if f.options.AssertionFile != "" {
		var err error
		if assertion, err = readAssertion(f.options.AssertionFile); err != nil {
			return Login{}, err
		}
	}
	switch {
	case f.options.Grant == launch.GrantAssertion && assertion == "":
		return Login{}, errors.New("the workload-identity grant requires a file with the workload's token")
	case f.options.Grant == launch.GrantAssertion:
		params.Set("grant_type", grantJWT)
		params.Set("assertion", assertion)
	case f.options.Grant != launch.GrantClient:
		return Login{}, fmt.Errorf("invalid grant %q: must be %s or %s", f.options.Grant, launch.GrantClient, launch.GrantAssertion)
	case f.options.ClientID == "":
		return Login{}, errors.New("the client-credentials grant requires a client ID")
	case assertion != "":
		params.Set("client_assertion_type", assertionType)
		params.Set("client_assertion", assertion)
	case f.options.ClientSecret == "":
		return Login{}, errors.New("the client-credentials grant requires a client secret, or a file with a client assertion")
	}
	c := f.challenge(ctx)
	a, err := f.find(ctx, c, issuer)
	if err != nil {
		return Login{}, err
	}
	if issuer != "" && a.meta.Issuer != issuer {
		return Login{}, moved(a.meta.Issuer, issuer)
	}
	if _, err := f.doubts(a, nil); err != nil {
		return Login{}, err
	}
	client := configured(f.options, &a.meta)
	scopes := f.scopes(c, a)
	if len(scopes) > 0 {
		params.Set("scope", strings.Join(scopes, " "))
	}
	l, err := f.bound(a, func() (Login, error) { return f.issued(ctx, a, client, scopes, maps.Clone(params), assertion) })
	l.Client.Secret = "" // it is configured wherever the login is renewed
	l.Refresh, l.Grant = "", f.options.Grant
	if l.Who == "" {
		l.Who = client.ID
	}
	return l, err
}

// readAssertion reads the token of a workload, which its platform replaces now and then.
func readAssertion(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("cannot read the workload's token: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxAssertionSize))
	if err != nil {
		return "", fmt.Errorf("cannot read the workload's token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || !fitsHeader(token) {
		return "", fmt.Errorf("%s does not contain a token", file)
	}
	return token, nil
}
