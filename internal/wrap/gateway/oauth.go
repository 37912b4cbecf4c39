package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/access/bearer"
)

// OAuth makes the endpoint a protected resource: clients send access tokens of an authorization
// server.
type OAuth struct {
	Verifier *bearer.Verifier
	Resource string // Resource is the URL of the endpoint as clients know it.
}

// metadataPath is where clients look for the metadata of a resource, followed by its path (RFC 9728).
const metadataPath = "/.well-known/oauth-protected-resource"

// resource guards the endpoint as OAuth says. The SDK's RequireBearerToken does not fit: it accepts
// several Authorization headers, names no error in its challenge, and has no answer for an issuer
// that is down.
type resource struct {
	verifier *bearer.Verifier
	location string // of the metadata
	path     string // of the resource
	metadata []byte
}

func newResource(o *OAuth) *resource {
	if o == nil {
		return nil
	}
	u, err := url.Parse(o.Resource)
	if err != nil {
		u = new(url.URL) // the caller has checked it
	}
	return &resource{
		verifier: o.Verifier,
		location: u.Scheme + "://" + u.Host + metadataPath + strings.TrimSuffix(u.EscapedPath(), "/"),
		path:     strings.TrimSuffix(u.EscapedPath(), "/"),
		metadata: metadataOf(o),
	}
}

// serve serves the metadata, which clients without a token need. It reports whether the request was
// for it.
func (p *resource) serve(w http.ResponseWriter, r *http.Request) bool {
	rest, found := strings.CutPrefix(r.URL.EscapedPath(), metadataPath)
	if p == nil || !found || !slices.Contains([]string{"", Path, p.path}, rest) {
		return false
	}
	if r.Method != http.MethodGet {
		notAllowed(http.MethodGet).write(w)
		return true
	}
	w.Header().Set("Access-Control-Allow-Origin", "*") // for clients in a browser: it has no secrets
	w.Header().Set("Access-Control-Allow-Methods", "GET, OPTIONS")
	w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(p.metadata) // the client may be gone
	return true
}

// metadataOf returns the metadata of the resource (RFC 9728).
func metadataOf(o *OAuth) []byte {
	text, _ := json.Marshal(struct {
		Resource string   `json:"resource"`
		Issuers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
	}{o.Resource, []string{o.Verifier.Issuer}, o.Verifier.Scopes, []string{"header"}}) // strings always encode
	return append(text, '\n')
}

// identityKey is the key of a request's context for the bearer.Identity that its access token names.
type identityKey struct{}

// untilExpired returns a request with a context that ends when its access token expires.
func untilExpired(r *http.Request) (*http.Request, context.CancelFunc) {
	who, _ := r.Context().Value(identityKey{}).(bearer.Identity)
	if who.Expires.IsZero() {
		return r, func() {}
	}
	ctx, cancel := context.WithDeadline(r.Context(), who.Expires)
	return r.WithContext(ctx), cancel
}

// identify returns the principal of a request by its access token: a person and a client, whatever
// token they have at the moment. The request that it returns knows who that is, and when the token expires.
func (p *resource) identify(r *http.Request) (*http.Request, principal, *refusal) {
	who, refused := p.sender(r)
	if refused != nil {
		return r, principal{}, refused
	}
	return r.WithContext(context.WithValue(r.Context(), identityKey{}, who)), who.Key(), nil
}

// sender returns who a request is from.
func (p *resource) sender(r *http.Request) (bearer.Identity, *refusal) {
	given := r.Header.Values("Authorization")
	if len(given) > 1 {
		return bearer.Identity{}, p.refuse(http.StatusBadRequest, "invalid_request", "only one Authorization header is allowed")
	}
	scheme, token, _ := strings.Cut(strings.Join(given, ""), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return bearer.Identity{}, p.refuse(http.StatusUnauthorized, "", "an access token is required: get one from "+p.verifier.Issuer+" and send it as Authorization: Bearer TOKEN")
	}
	who, err := p.verifier.Verify(r.Context(), token)
	if err == nil {
		return who, nil
	}
	if _, ok := errors.AsType[*bearer.Invalid](err); ok {
		return bearer.Identity{}, p.refuse(http.StatusUnauthorized, "invalid_token", err.Error())
	}
	if _, ok := errors.AsType[*bearer.MissingScope](err); ok {
		return bearer.Identity{}, p.refuse(http.StatusForbidden, "insufficient_scope", err.Error())
	}
	// Why is for the operator: Verifier.Report.
	refused := plain(http.StatusServiceUnavailable, "the access token cannot be validated at the moment, because the authorization server "+
		p.verifier.Issuer+" is not available; the token may be valid, so try again later")
	refused.header("Retry-After", retryAfter)
	return bearer.Identity{}, refused
}

// refuse returns a refusal with a challenge (RFC 6750). A request without a token has no error.
func (p *resource) refuse(status int, code, text string) *refusal {
	challenge := "Bearer "
	if code != "" {
		challenge += fmt.Sprintf("error=%q, error_description=%q, ", code, text)
	}
	challenge += fmt.Sprintf("resource_metadata=%q", p.location)
	if len(p.verifier.Scopes) > 0 {
		challenge += fmt.Sprintf(", scope=%q", strings.Join(p.verifier.Scopes, " "))
	}
	refused := plain(status, text)
	refused.header("WWW-Authenticate", challenge)
	return refused
}
