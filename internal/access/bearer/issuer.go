package bearer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

const (
	requestTimeout = 10 * time.Second
	maxDocument    = 1 << 20
	retryPause     = 2 * time.Second // after a failed discovery
)

// CheckURL returns an error unless address is one of an issuer or of its endpoints: https, or http
// on this machine.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return errors.New("must be a URL such as https://auth.example.com")
	case u.User != nil, strings.ContainsAny(address, "?#"):
		return errors.New("must be a URL without a user name, query or fragment")
	case u.Scheme != "https" && (u.Scheme != "http" || !launch.IsLoopback(u.Hostname())):
		return errors.New("must be an https URL; http is accepted only for this machine")
	}
	return nil
}

// newClient returns a client for requests to the issuer. It follows no redirects: the addresses of
// an issuer are exact.
func newClient(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// metadata is the metadata of an authorization server (RFC 8414), as far as the verification of tokens uses it.
type metadata struct {
	Issuer                string   `json:"issuer"`
	JWKSURI               string   `json:"jwks_uri"`
	IntrospectionEndpoint string   `json:"introspection_endpoint"`
	IntrospectionMethods  []string `json:"introspection_endpoint_auth_methods_supported"`
}

// issuer knows the addresses of an authorization server. The user chose it, so it may be anywhere,
// also in a private network.
type issuer struct {
	name      string
	transport http.RoundTripper // sends all requests to the issuer
	client    *http.Client

	mu       sync.Mutex
	found    *metadata // the last one that was read
	err      error     // of the last attempt
	tried    time.Time
	underWay chan struct{} // closed when the attempt ends; nil if there is none
}

func newIssuer(name string) *issuer {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: launch.Roots()} // as for servers and logins
	return &issuer{name: name, transport: transport, client: newClient(transport)}
}

// metadata returns the metadata, which is read once for all callers.
func (i *issuer) metadata(ctx context.Context) (*metadata, error) {
	i.mu.Lock()
	if i.found != nil {
		defer i.mu.Unlock()
		return i.found, nil
	}
	if i.err != nil && i.underWay == nil && time.Since(i.tried) < retryPause {
		defer i.mu.Unlock()
		return nil, i.err
	}
	if i.underWay == nil {
		i.underWay = make(chan struct{})
		go i.read(context.WithoutCancel(ctx))
	}
	done := i.underWay
	i.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, &Unavailable{i.name, errors.New("it did not respond in time")}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.found != nil {
		return i.found, nil
	}
	return nil, i.err
}

// read reads the metadata and ends the attempt. What was read before stays valid if it fails.
func (i *issuer) read(ctx context.Context) {
	found, err := i.discover(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	if err == nil {
		i.found = found
	}
	i.err, i.tried = err, time.Now()
	if i.underWay != nil {
		close(i.underWay)
		i.underWay = nil
	}
}

// discover reads the metadata from the first documented address that has it. The SDK's
// GetAuthServerMetadata is for clients: it requires PKCE, accepts no private address, and does not
// tell an issuer that is down from one that is wrong.
func (i *issuer) discover(ctx context.Context) (*metadata, error) {
	var missing error
	for _, address := range metadataAddresses(i.name) {
		var found metadata
		err := i.get(ctx, address, "application/json", &found)
		if down, ok := errors.AsType[*Unavailable](err); ok {
			return nil, down
		}
		if err != nil {
			missing = errors.Join(missing, err)
			continue
		}
		if found.Issuer != i.name {
			return nil, fmt.Errorf("the metadata at %s is for the issuer %q, not %q", address, redact.Quote(found.Issuer), i.name)
		}
		for name, endpoint := range map[string]string{"jwks_uri": found.JWKSURI, "introspection_endpoint": found.IntrospectionEndpoint} {
			if !i.leadsTo(endpoint) {
				return nil, fmt.Errorf("the metadata at %s has an invalid %s: it must be an https URL", address, name)
			}
		}
		return &found, nil
	}
	return nil, fmt.Errorf("no authorization server metadata: %w", missing)
}

// leadsTo reports whether the metadata may name an endpoint: http only if the issuer itself uses it.
func (i *issuer) leadsTo(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil || endpoint != "" && u.Host == "" {
		return false
	}
	return endpoint == "" || u.Scheme == "https" || u.Scheme == "http" && strings.HasPrefix(i.name, "http://") && launch.IsLoopback(u.Hostname())
}

// metadataAddresses returns where an issuer has its metadata: RFC 8414 inserts a name before the
// path of the issuer, OpenID Connect appends one, and some do it the other way round.
func metadataAddresses(issuer string) []string {
	u, _ := url.Parse(issuer) // checked by New
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	const oauth, openID = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	all := []string{origin + oauth + path, origin + openID + path}
	if path != "" {
		all = append(all, origin+path+openID, origin+path+oauth)
	}
	return all
}

// get reads a JSON document into a struct. The error is *Unavailable if the issuer may answer later.
func (i *issuer) get(ctx context.Context, address, types string, document any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", types)
	r.Header.Set("Cache-Control", "no-cache") // what a proxy has kept may be older than a token
	return i.send(r, document)
}

// send sends a request and decodes the response. The error never contains the body.
func (i *issuer) send(r *http.Request, document any) error {
	response, err := i.client.Do(r)
	if err != nil {
		return &Unavailable{i.name, err}
	}
	defer response.Body.Close()
	where := r.URL.Scheme + "://" + r.URL.Host + r.URL.EscapedPath()
	if code := response.StatusCode; code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout {
		return &Unavailable{i.name, fmt.Errorf("%s responded with %s", where, response.Status)}
	} else if code != http.StatusOK {
		return &statusError{where, code}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	switch {
	case err != nil:
		return &Unavailable{i.name, fmt.Errorf("the response from %s was cut off: %w", where, err)}
	case len(body) > maxDocument:
		return fmt.Errorf("the response from %s is larger than %d bytes", where, maxDocument)
	case wire.DecodeExact(body, document) != nil:
		return fmt.Errorf("the response from %s is not the expected JSON", where)
	}
	return nil
}

// statusError is a response that will most likely not change.
type statusError struct {
	where string
	code  int
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s responded with %d %s", e.where, e.code, http.StatusText(e.code))
}
