package gateway

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/gauze-mcp/gauze/internal/access/httpguard"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// principal identifies who sent a request. Two principals share nothing.
type principal = httpguard.Principal

// guard decides which requests are accepted.
type guard struct {
	httpguard.Names
	tokens *atomic.Pointer[httpguard.Tokens]
	oauth  *resource // instead of tokens; nil: there is none
}

func newGuard(o Options, addr net.Addr) guard {
	g := guard{httpguard.NewNames(addr, o.Hosts, o.Origins), new(atomic.Pointer[httpguard.Tokens]), newResource(o.OAuth)}
	tokens := httpguard.NewTokens(o.Tokens)
	g.tokens.Store(&tokens)
	return g
}

// SetTokens makes other bearer tokens the accepted ones, from the next request on. Sessions stay with the tokens that
// they began with.
func (g *Gateway) SetTokens(all []string) {
	tokens := httpguard.NewTokens(all)
	tokens.Guesses = g.guard.tokens.Load().Guesses
	g.guard.tokens.Store(&tokens)
	g.bodies.mu.Lock()
	g.bodies.reserve(tokens.All)
	g.bodies.mu.Unlock()
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	g.Tokens = all
	g.table.ownLogins = g.OwnLogins()
	g.table.places.reserve(tokens.All)
	g.table.processes.reserve(tokens.All)
}

// quota returns a limit that the principals share.
func (g *guard) quota(limit int) quota {
	if g.oauth != nil {
		return newOpenQuota(limit)
	}
	return newQuota(limit, g.tokens.Load().All)
}

// credential names what principals differ in.
func (g *guard) credential() string {
	if g.oauth != nil {
		return "user"
	}
	return "token"
}

// check returns a refusal for requests that are rejected regardless of their sender.
func (g *guard) check(r *http.Request) *refusal {
	switch refused := g.Check(r); refused {
	case nil:
		return nil
	case httpguard.ForeignHost:
		return plain(refused.Status, fmt.Sprintf("the Host header %q is not allowed: if clients may reach gauze by this name, start it with --allow-host and the name", redact.Quote(r.Host)))
	case httpguard.ForeignOrigin:
		origins := r.Header.Values("Origin")
		if len(origins) != 1 {
			return plain(refused.Status, "a browser sent this request for a page of another site: a page may connect only with one Origin header, which --allow-origin names")
		}
		return plain(refused.Status, fmt.Sprintf("the Origin header %q is not allowed: if this page may connect, start gauze with --allow-origin and its origin", redact.Quote(origins[0])))
	default:
		return plain(refused.Status, refused.Text)
	}
}

// identify returns the principal of a request by its token, and the request to handle.
func (g *guard) identify(r *http.Request) (*http.Request, principal, *refusal) {
	if r.URL.Path == healthPath { // which reveals nothing
		return r, principal{}, nil
	}
	if g.oauth != nil {
		return g.oauth.identify(r)
	}
	who, refused := g.holder(r)
	return r, who, refused
}

// holder returns the principal whose token a request has.
func (g *guard) holder(r *http.Request) (principal, *refusal) {
	tokens := g.tokens.Load()
	if len(tokens.All) == 0 {
		return principal{}, nil
	}
	given := r.Header.Values("Authorization")
	if len(given) == 1 {
		scheme, token, _ := strings.Cut(given[0], " ")
		if who, known := tokens.Find(strings.TrimSpace(token)); known && strings.EqualFold(scheme, "Bearer") {
			return who, nil
		}
	}
	if !tokens.Guesses.Allow() {
		refused := plain(http.StatusTooManyRequests, "too many requests without a valid token")
		refused.header("Retry-After", "1")
		return principal{}, refused
	}
	text := "a token is required: send it as Authorization: Bearer TOKEN"
	if len(given) > 0 {
		text = "the Authorization header has no token that is accepted at this address: send one as Authorization: Bearer TOKEN"
	}
	refused := plain(http.StatusUnauthorized, text)
	refused.header("WWW-Authenticate", "Bearer")
	return principal{}, refused
}
