package login

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// challenge is how a server rejected a request that had no token, or not a sufficient one.
type challenge struct {
	metadata string   // the URL of the protected resource metadata, if the server named it
	scopes   []string // required for the request
	reason   string   // an OAuth error code such as insufficient_scope
	dpop     bool     // only DPoP tokens are accepted
}

// readChallenge returns the challenge in the header of a response. What cannot be parsed is ignored:
// the well-known addresses remain.
func readChallenge(h http.Header) (c challenge) {
	var bearer bool
	for _, line := range h.Values("WWW-Authenticate") {
		for _, one := range parseChallenges(line) {
			if c.metadata == "" {
				c.metadata = one.params["resource_metadata"]
			}
			switch one.scheme {
			case "dpop":
				c.dpop = true
			case "bearer":
				bearer = true
				if c.scopes == nil {
					c.scopes = scopesOf(one.params["scope"])
				}
				if c.reason == "" {
					c.reason = plaintext.Cap(plaintext.Clean(one.params["error"]), maxShownLen)
				}
			}
		}
	}
	c.dpop = c.dpop && !bearer
	return c
}

// insufficientScope returns the scopes that a server requires, if it rejected a request because the
// token does not have them.
func insufficientScope(header http.Header) (scopes []string, insufficient bool) {
	c := readChallenge(header)
	return c.scopes, c.reason == "insufficient_scope"
}

// Limits on texts of authorization servers.
const (
	maxShownLen  = 200  // in a message
	maxScopesLen = 4096 // of all scopes that are asked for
)

// shown returns a text of a server as it may be part of a message.
func shown(text string) string { return plaintext.Cap(plaintext.Clean(text), maxShownLen) }

// scopesOf returns the scopes in a list. Authorization servers separate them with spaces, GitHub
// with commas.
func scopesOf(text string) []string {
	return cleanScopes(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }))
}

// cleanScopes returns each scope once, without those that are not valid (RFC 6749, 3.3), or have a
// backtick: messages quote the command to run with it. A list that is too long for an address is not
// used: then the authorization server decides.
func cleanScopes(scopes []string) []string {
	var clean []string
	length := 0
	for _, scope := range scopes {
		invalid := func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' || r == '`' }
		if scope == "" || strings.ContainsFunc(scope, invalid) || slices.Contains(clean, scope) {
			continue
		}
		if length += len(scope) + 1; length > maxScopesLen {
			return nil
		}
		clean = append(clean, scope)
	}
	return clean
}

// authority is the authorization server of a server, as found by discovery.
type authority struct {
	meta      serverMetadata
	indicator string   // the resource parameter, exactly as the server published it
	unbound   bool     // the indicator is not sent
	scopes    []string // those of the server's metadata
	doubts    []Doubt  // what a person must agree to before they log in there
	agreed    []Doubt  // those that they agreed to, which is remembered once the login works
	repeated  bool     // the login was repeated after an error
	guessed   bool     // neither the server nor an authorization server published anything
}

// discovery finds the authorization server of a server.
//
// auth.AuthorizationCodeHandler of the Go SDK has all of this, but as a whole it registers a client
// for each login, keeps neither the issuer nor the token endpoint, accepts only a resource that
// equals the address, and continues without the metadata if that is wrong.
type discovery struct {
	server *url.URL
	guard  *guard
	client *http.Client
	issuer string // the only authorization server that the user accepts, or its host; empty: any
}

// also adds an error to those before it, on one line.
func also(before, err error) error {
	if before == nil {
		return err
	}
	return fmt.Errorf("%w; %w", before, err)
}

// errNotFound means that an address has no document.
var errNotFound = errors.New("not found")

// find returns the authorization server that the server names, preferring an issuer if it names
// several.
func (d *discovery) find(ctx context.Context, c challenge, prefer string) (*authority, error) {
	if c.dpop {
		return nil, errDPoP
	}
	prm, err := d.resource(ctx, c)
	if err != nil {
		return nil, err
	}
	silent := prm == nil
	if prm == nil || len(prm.Issuers) == 0 {
		// 2025-03-26: the server is its own authorization server.
		prm = cmp.Or(prm, &resourceMetadata{})
		prm.Issuers = []string{launch.Origin(d.server)}
	}
	if prm.RequiresDPoP {
		return nil, errDPoP
	}
	issuer, err := d.choose(ctx, prm.Issuers, prefer)
	if err != nil {
		return nil, err
	}
	meta, published, err := d.metadata(ctx, issuer)
	if err != nil {
		return nil, err
	}
	return &authority{guessed: silent && !published, meta: *meta, indicator: cmp.Or(prm.Resource, Resource(d.server.String())), scopes: cleanScopes(prm.Scopes)}, nil
}

var errDPoP = errors.New("the server accepts only tokens that are bound to a key (DPoP), which gauze does not support")

// choose returns the issuer to log in at: the preferred one, or the first that is acceptable.
func (d *discovery) choose(ctx context.Context, issuers []string, prefer string) (string, error) {
	var first error
	var accepted []string
	for _, issuer := range issuers[:min(len(issuers), 10)] {
		u, err := d.guard.address(ctx, "the authorization server", issuer)
		if err == nil && u.RawQuery != "" {
			err = fmt.Errorf("the authorization server %q is not allowed: it contains a query", shown(issuer))
		}
		if err == nil && len(issuer) > maxIssuerLen {
			err = fmt.Errorf("the authorization server %q is not allowed: it is longer than %d bytes", shown(issuer), maxIssuerLen)
		}
		if err == nil && d.issuer != "" && !isNamed(issuer, d.issuer) {
			err = fmt.Errorf("the authorization server %s is not the one set with --login-issuer", issuer)
		}
		if err != nil {
			first = also(first, err)
			continue
		}
		accepted = append(accepted, issuer)
	}
	if len(accepted) == 0 {
		return "", first
	}
	if i := slices.IndexFunc(accepted, func(issuer string) bool { return sameIssuer(issuer, prefer) }); i >= 0 {
		return accepted[i], nil
	}
	return accepted[0], nil
}

const wellKnown = "/.well-known/oauth-protected-resource" // where a host publishes the metadata of its servers

// resource returns the metadata of the server, or nil if it has none. It looks where the server
// said, then at the well-known address with the path of the server, then without.
func (d *discovery) resource(ctx context.Context, c challenge) (*resourceMetadata, error) {
	root := &url.URL{Scheme: d.server.Scheme, Host: d.server.Host, Path: wellKnown}
	inPath := *root
	inPath.Path += strings.TrimSuffix(d.server.Path, "/")
	inPath.RawQuery = d.server.RawQuery
	addresses := []string{inPath.String(), root.String()}
	if c.metadata != "" {
		if _, err := d.guard.address(ctx, "the address of the server's metadata", c.metadata); err != nil {
			return nil, err
		}
		addresses = append([]string{c.metadata}, addresses...)
	}
	var failed error
	for _, address := range slices.Compact(addresses) {
		var prm resourceMetadata
		redirected, err := d.get(ctx, address, &prm)
		switch {
		case errors.Is(err, errNotFound):
			continue
		case err != nil:
			failed = also(failed, fmt.Errorf("the server's metadata at %s cannot be read: %w", shown(address), err))
			continue
		case !covers(prm.Resource, d.server), (redirected || !d.isOfHost(address)) && Resource(prm.Resource) != Resource(d.server.String()):
			return nil, fmt.Errorf("the server's metadata is for %q, not for %s", shown(prm.Resource), d.server.Redacted())
		}
		return &prm, nil
	}
	return nil, failed
}

// moveTimeout is how long a request may wait to be told that the issuer moved.
const moveTimeout = 3 * time.Second

// explainMove says in n that the server no longer uses the issuer of a login, if that is so.
func (s *Source) explainMove(n *Needed, l Login) {
	header, _ := s.rejection()
	if l.Issuer == "" || l.Ended != "" || header == nil {
		return
	}
	f, err := s.newFlow(moveTimeout)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), moveTimeout)
	defer cancel()
	prm, err := f.resource(ctx, readChallenge(*header))
	if err != nil || prm == nil || len(prm.Issuers) == 0 {
		return
	}
	if !slices.ContainsFunc(prm.Issuers, func(issuer string) bool { return sameIssuer(issuer, l.Issuer) }) {
		n.Why = moved(prm.Issuers[0], l.Issuer).Error()
	}
}

// moved says that a server no longer uses the issuer of a login.
func moved(now, before string) error {
	return fmt.Errorf("the server now uses the authorization server %s, but the login is from %s", shown(now), before)
}

// sameIssuer compares issuers. Some servers name theirs without the slash at its end.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// isOfHost reports whether a document is where only the owner of the server's host can publish it: at the
// well-known address of the server or of a path above it. Only that may say that the server is a part of
// something larger: a server at one path could ask for a token that those at other paths accept.
func (d *discovery) isOfHost(address string) bool {
	u, err := url.Parse(address)
	if err != nil || !launch.SameOrigin(u, d.server) || u.RawQuery != "" && u.RawQuery != d.server.RawQuery {
		return false
	}
	above, found := strings.CutPrefix(u.EscapedPath(), wellKnown)
	return found && isAbove(above, d.server.EscapedPath())
}

// isAbove reports whether a path begins with all parts of the path above.
func isAbove(above, path string) bool {
	dir := func(path string) string { return strings.TrimSuffix(path, "/") + "/" }
	return strings.HasPrefix(dir(path), dir(above))
}

// covers reports whether a resource is the server or a path above it at the same origin.
func covers(resource string, server *url.URL) bool {
	u, err := url.Parse(resource)
	if err != nil || !launch.SameOrigin(u, server) || u.User != nil || u.Fragment != "" || len(resource) > maxAddressLen {
		return false
	}
	if u.RawQuery != "" && u.RawQuery != server.RawQuery {
		return false
	}
	return isAbove(u.EscapedPath(), server.EscapedPath())
}

// metadata returns the metadata of an authorization server. Without any, the endpoints are those of
// 2025-03-26, and published is false.
func (d *discovery) metadata(ctx context.Context, issuer string) (meta *serverMetadata, published bool, err error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, false, err
	}
	var failed error
	for _, address := range metadataAddresses(u) {
		var meta serverMetadata
		_, err := d.get(ctx, address, &meta)
		switch {
		case errors.Is(err, errNotFound):
			continue
		case err != nil:
			failed = also(failed, fmt.Errorf("the authorization server's metadata at %s cannot be read: %w", shown(address), err))
			continue
		}
		return &meta, true, d.validate(ctx, issuer, &meta)
	}
	if failed != nil {
		return nil, false, failed
	}
	if strings.Trim(u.Path, "/") != "" {
		return nil, false, fmt.Errorf("the authorization server %s does not publish its metadata", issuer)
	}
	base := launch.Origin(u)
	return &serverMetadata{
		Issuer:                base,
		AuthorizationEndpoint: base + "/authorize",
		TokenEndpoint:         base + "/token",
		RegistrationEndpoint:  base + "/register",
	}, false, nil
}

// metadataAddresses returns where the metadata of an issuer may be, in the documented order.
func metadataAddresses(issuer *url.URL) []string {
	const oauth, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	at := func(path string) string { return issuer.Scheme + "://" + issuer.Host + path }
	path := strings.TrimSuffix(issuer.EscapedPath(), "/")
	if path == "" {
		return []string{at(oauth), at(openid)}
	}
	return []string{at(oauth + path), at(openid + path), at(path + openid)}
}

// validate returns an error if the metadata is not of the issuer, or leads to an address that is not
// acceptable. A server that lists no method for PKCE gets a challenge nevertheless: several that
// support it do not list it.
func (d *discovery) validate(ctx context.Context, issuer string, m *serverMetadata) error {
	if !sameIssuer(m.Issuer, issuer) {
		return fmt.Errorf("the metadata from the authorization server %s is for a different issuer, %q", issuer, shown(m.Issuer))
	}
	if methods := m.ChallengeMethods; len(methods) > 0 && !slices.Contains(methods, "S256") {
		return fmt.Errorf("the authorization server %s does not support PKCE with S256", issuer)
	}
	for _, endpoint := range endpoints(m) {
		if endpoint.address == "" && endpoint.name != tokenEndpoint {
			continue
		}
		if _, err := d.guard.address(ctx, endpoint.name, endpoint.address); err != nil {
			return fmt.Errorf("the metadata of the authorization server %s is not valid: %w", issuer, err)
		}
	}
	return nil
}

// endpoint is an address that metadata of an authorization server names.
type endpoint struct {
	name, address string
	person        bool // it is only used if a person logs in
}

const tokenEndpoint = "token_endpoint" // the only one that every login requires

func endpoints(m *serverMetadata) []endpoint {
	return []endpoint{
		{"authorization_endpoint", m.AuthorizationEndpoint, true},
		{tokenEndpoint, m.TokenEndpoint, false},
		{"registration_endpoint", m.RegistrationEndpoint, true},
		{"revocation_endpoint", m.RevocationEndpoint, false},
	}
}

// get reads a JSON document. A page that is not JSON counts as not found: many sites answer every
// address with one.
func (d *discovery) get(ctx context.Context, address string, into any) (redirected bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, errNotFound
	}
	req.Header.Set("Accept", "application/json")
	res, err := d.client.Do(req)
	if err != nil {
		return false, cause(err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode >= 500, res.StatusCode == http.StatusTooManyRequests:
		return false, passing{fmt.Errorf("it responded with %s", shown(res.Status))}
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return false, fmt.Errorf("it redirects to %q, which gauze does not follow", shown(res.Header.Get("Location")))
	case res.StatusCode != http.StatusOK:
		return false, errNotFound
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return false, cause(err)
	}
	if body = bytes.TrimSpace(body); !bytes.HasPrefix(body, []byte("{")) {
		return false, errNotFound
	}
	if err := wire.DecodeExact(body, into); err != nil {
		return false, errors.New("it is not the expected JSON")
	}
	return res.Request.Response != nil, nil
}

// passing is an error that the next attempt may not have.
type passing struct{ error }

func (p passing) Unwrap() error { return p.error }

// passes reports whether the next attempt may not have the error err.
func passes(err error) bool {
	_, passes := errors.AsType[passing](err)
	r, refused := errors.AsType[*refusal](err)
	return passes || refused && r.retry
}

// cause returns an error of net/http without the address, which may contain a secret.
func cause(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if _, refused := errors.AsType[unacceptable](err); refused {
		return err
	}
	return passing{err}
}
