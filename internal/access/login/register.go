package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Methods of client authentication.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
)

// registrar decides who gauze is to an authorization server.
type registrar struct {
	options launch.Login
	client  *http.Client
	known   Client // the client of the login that is replaced
}

// identify returns a client and a callback that listens at its redirect address. Unless fresh, the
// registration of the login that is replaced is used again, if its port is free. That of a login to
// a different server is not: the authorization server may remember that the person agreed to it, and
// not ask again. One without a login may have been deleted, which only the person in front of the
// browser would see.
func (r *registrar) identify(ctx context.Context, meta *oauthex.AuthServerMeta, fresh bool) (Client, *callback, error) {
	if id := r.options.ClientID; id != "" && (!isDocument(id) || meta.ClientIDMetadataDocumentSupported) {
		c, err := listen(r.options.RedirectURL)
		if err != nil {
			return Client{}, nil, r.refused(err)
		}
		client := configured(r.options, meta)
		client.RedirectURL = c.redirect
		return client, c, nil
	}
	if !fresh && r.options.RedirectURL == "" && r.known.Registered {
		if c, err := listen(r.known.RedirectURL); err == nil {
			return r.known, c, nil
		}
	}
	if meta.RegistrationEndpoint == "" {
		return Client{}, nil, fmt.Errorf("the authorization server %s does not register programs by itself: register a client there, and pass its ID with --client-id", meta.Issuer)
	}
	c, err := listen(cmp.Or(r.options.RedirectURL, ownRedirect(meta.Issuer)))
	if err != nil {
		return Client{}, nil, r.refused(err)
	}
	client, err := register(ctx, meta, c.redirect, r.client)
	if err != nil {
		c.close("The login failed.")
		return Client{}, nil, err
	}
	return client, c, nil
}

// ownRedirect returns a redirect address that only one issuer is told (RFC 9700, 4.4.2): a different one,
// whose page the issuer's may lead on to, does not send a code there.
func ownRedirect(issuer string) string {
	return "http://127.0.0.1" + callbackPath + "/" + digest(issuer)[:8]
}

// refused says which setting has to change for the callback to listen.
func (r *registrar) refused(err error) error {
	if r.options.RedirectURL == "" || !errors.Is(err, errPortTaken) {
		return err
	}
	return fmt.Errorf("cannot listen at %s, the address for the response: %w; end the program that uses the port, or pass a different --redirect-url", r.options.RedirectURL, err)
}

// isDocument reports whether a client ID is the address of a client ID metadata document.
func isDocument(id string) bool {
	u, err := url.Parse(id)
	return err == nil && u.Scheme == "https" && u.Host != "" && strings.Trim(u.Path, "/") != ""
}

// configured returns the client that the user configured.
func configured(o launch.Login, meta *oauthex.AuthServerMeta) Client {
	method := methodNone
	if o.ClientSecret != "" {
		method = secretMethod(meta)
	}
	return Client{ID: o.ClientID, Secret: o.ClientSecret, Method: method}
}

// secretMethod returns how a client with a secret authenticates itself: the default is
// client_secret_basic (RFC 8414).
func secretMethod(meta *oauthex.AuthServerMeta) string {
	if supported := meta.TokenEndpointAuthMethodsSupported; len(supported) > 0 && !slices.Contains(supported, methodBasic) {
		return methodPost
	}
	return methodBasic
}

// register registers gauze with an authorization server.
func register(ctx context.Context, meta *oauthex.AuthServerMeta, redirect string, c *http.Client) (Client, error) {
	asked := methodNone // a program on the user's machine cannot keep a secret
	if supported := meta.TokenEndpointAuthMethodsSupported; len(supported) > 0 && !slices.Contains(supported, methodNone) {
		asked = secretMethod(meta)
	}
	got, err := oauthex.RegisterClient(ctx, meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs:            []string{redirect},
		TokenEndpointAuthMethod: asked,
		GrantTypes:              []string{"authorization_code", "refresh_token"},
		ResponseTypes:           []string{"code"},
		ClientName:              "Gauze",
		ApplicationType:         "native",
	}, c)
	if err != nil {
		return Client{}, fmt.Errorf("gauze could not register with the authorization server %s: %w", meta.Issuer, registrationError(err))
	}
	client := Client{ID: got.ClientID, Secret: got.ClientSecret, Method: got.TokenEndpointAuthMethod, RedirectURL: redirect, Registered: true}
	switch {
	case client.Secret == "":
		client.Method = methodNone
	case client.Method == "":
		client.Method = secretMethod(meta)
	}
	if len(client.ID) > maxAddressLen {
		return Client{}, fmt.Errorf("the authorization server %s registered gauze with an ID that is longer than %d bytes", meta.Issuer, maxAddressLen)
	}
	if !slices.Contains([]string{methodNone, methodBasic, methodPost}, client.Method) {
		return Client{}, fmt.Errorf("the authorization server %s requires client authentication with %q, which gauze does not support", meta.Issuer, shown(client.Method))
	}
	return client, nil
}

// registrationError returns why a registration failed. Other errors of the SDK have the response in
// them, which may contain a secret, after a colon.
func registrationError(err error) error {
	if e, ok := errors.AsType[*oauthex.ClientRegistrationError](err); ok {
		return responseError{e.ErrorCode, e.ErrorDescription}
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return cause(err)
	}
	what, _, _ := strings.Cut(err.Error(), ":")
	return errors.New(shown(what))
}

// responseError is an error that an authorization server reported.
type responseError struct{ code, description string }

func (e responseError) Error() string {
	if e.description == "" {
		return shown(e.code)
	}
	return fmt.Sprintf("%s (%s)", shown(e.description), shown(e.code))
}
