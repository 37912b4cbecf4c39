package gateway

import (
	"context"
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
	tokens *atomic.Pointer[tokens]
	oauth  *resource // instead of tokens; nil: there is none
}

// tokens are the accepted bearer tokens. A stream for messages that belong to no request ends when the token that it
// was asked for with is removed.
type tokens struct {
	httpguard.Tokens
	valid map[principal]validity
}

type validity struct {
	ctx context.Context // ends when the token is removed
	end context.CancelFunc
}

// newTokens returns tokens of which those that were accepted before stay valid.
func newTokens(all []string, before *tokens) *tokens {
	t := &tokens{httpguard.NewTokens(all), map[principal]validity{}}
	holders := t.All
	if len(all) == 0 {
		holders = []principal{{}}
	}
	for _, who := range holders {
		v, known := before.valid[who]
		if !known {
			v.ctx, v.end = context.WithCancel(context.Background())
		}
		t.valid[who] = v
	}
	return t
}

func newGuard(o Options, addr net.Addr) guard {
	g := guard{httpguard.NewNames(addr, o.Hosts, o.Origins), new(atomic.Pointer[tokens]), newResource(o.OAuth)}
	g.tokens.Store(newTokens(o.Tokens, &tokens{}))
	return g
}

// SetTokens makes other bearer tokens the accepted ones, from the next request on, and sets Options.Users. Sessions stay
// with the tokens that they began with; a client whose token is removed hears nothing more.
func (g *Gateway) SetTokens(all []string, users int) {
	before := g.guard.tokens.Load()
	now := newTokens(all, before)
	now.Guesses = before.Guesses
	g.guard.tokens.Store(now)
	for who, v := range before.valid {
		if _, stays := now.valid[who]; !stays {
			v.end()
		}
	}
	g.bodies.mu.Lock()
	g.bodies.reserve(now.All)
	g.bodies.mu.Unlock()
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	g.table.ownLogins = Options{Session: g.table.session, Tokens: all, Users: users, OAuth: g.OAuth}.OwnLogins()
	g.table.places.reserve(now.All)
	g.table.processes.reserve(now.All)
}

// whileValid returns the request of a client that listens, with a context that ends when its token expires or is removed:
// the client connects again with a new one. A call is not cut off: it was permitted when it began.
func (g *guard) whileValid(r *http.Request, who principal) (*http.Request, context.CancelFunc) {
	if g.oauth != nil {
		return untilExpired(r)
	}
	ctx, cancel := context.WithCancel(r.Context())
	v, known := g.tokens.Load().valid[who]
	if !known { // it was removed since the request arrived
		cancel()
		return r.WithContext(ctx), cancel
	}
	stop := context.AfterFunc(v.ctx, cancel)
	return r.WithContext(ctx), func() { stop(); cancel() }
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
