package login

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
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
func (r *registrar) identify(ctx context.Context, meta *serverMetadata, fresh bool) (Client, *callback, error) {
	if id := r.options.ClientID; id != "" && (!isDocument(id) || meta.ClientDocuments) {
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
		return Client{}, nil, fmt.Errorf("the authorization server %s does not register clients automatically: register a client there, and pass its ID with --client-id", meta.Issuer)
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
	return fmt.Errorf("cannot listen for the login response at %s: %w; stop the program that is using the port, or pass another --redirect-url", r.options.RedirectURL, err)
}

// isDocument reports whether a client ID is the address of a client ID metadata document.
func isDocument(id string) bool {
	u, err := url.Parse(id)
	return err == nil && u.Scheme == "https" && u.Host != "" && strings.Trim(u.Path, "/") != ""
}

// configured returns the client that the user configured.
func configured(o launch.Login, meta *serverMetadata) Client {
	method := methodNone
	if o.ClientSecret != "" {
		method = secretMethod(meta)
	}
	return Client{ID: o.ClientID, Secret: o.ClientSecret, Method: method}
}

// secretMethod returns how a client with a secret authenticates itself: the default is
// client_secret_basic (RFC 8414).
func secretMethod(meta *serverMetadata) string {
	if supported := meta.AuthMethods; len(supported) > 0 && !slices.Contains(supported, methodBasic) {
		return methodPost
	}
	return methodBasic
}

// register registers gauze with an authorization server.
func register(ctx context.Context, meta *serverMetadata, redirect string, c *http.Client) (Client, error) {
	asked := methodNone // a program on the user's machine cannot keep a secret
	if supported := meta.AuthMethods; len(supported) > 0 && !slices.Contains(supported, methodNone) {
		asked = secretMethod(meta)
	}
	got, err := requestClient(ctx, meta.RegistrationEndpoint, registration{
		RedirectURIs:    []string{redirect},
		Method:          asked,
		GrantTypes:      []string{"authorization_code", "refresh_token"},
		ResponseTypes:   []string{"code"},
		Name:            "Gauze",
		ApplicationType: "native",
	}, c)
	if err != nil {
		return Client{}, fmt.Errorf("gauze could not register with the authorization server %s: %w", meta.Issuer, err)
	}
	client := Client{ID: got.ID, Secret: got.Secret, Method: got.Method, RedirectURL: redirect, Registered: true}
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

// registration is what a program says about itself to be registered (RFC 7591).
type registration struct {
	RedirectURIs    []string `json:"redirect_uris"`
	Method          string   `json:"token_endpoint_auth_method"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types"`
	Name            string   `json:"client_name"`
	ApplicationType string   `json:"application_type"`
}

// registered is the response to a registration: the client, or why there is none.
type registered struct {
	ID          string `json:"client_id"`
	Secret      string `json:"client_secret"`
	Method      string `json:"token_endpoint_auth_method"`
	Code        string `json:"error"`
	Description string `json:"error_description"`

	RedirectURIs []string `json:"redirect_uris"`
	ClientURI    string   `json:"client_uri"`
	LogoURI      string   `json:"logo_uri"`
	TermsURI     string   `json:"tos_uri"`
	PolicyURI    string   `json:"policy_uri"`
	KeysURI      string   `json:"jwks_uri"`
}

// hasScript reports whether an address of the client is one that a browser would run.
func (r registered) hasScript() bool {
	return slices.ContainsFunc(append(r.RedirectURIs, r.ClientURI, r.LogoURI, r.TermsURI, r.PolicyURI, r.KeysURI), func(address string) bool {
		u, err := url.Parse(address)
		return err != nil || slices.Contains([]string{"javascript", "data", "vbscript"}, strings.ToLower(u.Scheme))
	})
}

// requestClient sends a registration. Its errors do not contain the response, which may have a secret in it.
func requestClient(ctx context.Context, endpoint string, about registration, c *http.Client) (got registered, err error) {
	text, err := json.Marshal(about)
	if err != nil {
		return got, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(text))
	if err != nil {
		return got, errors.New("invalid registration endpoint")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := c.Do(req)
	if err != nil {
		return got, cause(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxTokenBytes))
	if err != nil {
		return got, cause(err)
	}
	err = wire.DecodeExact(body, &got)
	switch ok := res.StatusCode == http.StatusOK || res.StatusCode == http.StatusCreated; {
	case !ok && res.StatusCode != http.StatusBadRequest:
		return got, fmt.Errorf("registration failed with status %s", shown(res.Status))
	case err != nil:
		return got, errors.New("the response is not the expected JSON")
	case !ok:
		return got, responseError{got.Code, got.Description}
	case got.ID == "":
		return got, errors.New("the response has no client_id")
	case got.hasScript():
		return got, errors.New("the response contains a script URL")
	}
	return got, nil
}

// responseError is an error that an authorization server reported.
type responseError struct{ code, description string }

func (e responseError) Error() string {
	if e.description == "" {
		return shown(e.code)
	}
	return fmt.Sprintf("%s (%s)", shown(e.description), shown(e.code))
}
