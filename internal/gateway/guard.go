package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/time/rate"
)

// principal identifies who sent a request: the hash of its token, zero if tokens are not required.
// Two principals share nothing.
type principal [sha256.Size]byte

// guard decides which requests are accepted.
type guard struct {
	hosts   map[string]bool // exact, lower case
	origins map[string]bool // exact, lower case
	tokens  []principal
	guesses *rate.Limiter // requests without a valid token
}

// newGuard accepts the names under which the address itself can be reached. Others must be
// configured: a web page whose name was made to resolve to this machine (DNS rebinding) sends a
// Host of its own.
func newGuard(o Options, addr net.Addr) guard {
	g := guard{hosts: map[string]bool{}, origins: map[string]bool{}, guesses: rate.NewLimiter(guessesPerSecond, guessBurst)}
	host, port, _ := net.SplitHostPort(addr.String())
	for _, name := range []string{host, "localhost", "127.0.0.1", "::1"} {
		g.allow(name, port)
	}
	for _, name := range o.Hosts {
		if h, p, err := net.SplitHostPort(name); err == nil {
			g.hosts[strings.ToLower(net.JoinHostPort(h, p))] = true
			continue
		}
		name = strings.Trim(name, "[]")
		g.allow(name, port)
		g.hosts[bare(name)] = true // sent by a proxy that removes the port
	}
	for _, origin := range o.Origins {
		g.origins[strings.ToLower(strings.TrimSuffix(origin, "/"))] = true
	}
	for _, token := range o.Tokens {
		g.tokens = append(g.tokens, sha256.Sum256([]byte(token)))
	}
	return g
}

func (g *guard) allow(name, port string) {
	g.hosts[strings.ToLower(net.JoinHostPort(name, port))] = true
	if port == strconv.Itoa(80) {
		g.hosts[bare(name)] = true // clients omit the default port
	}
}

// bare returns a host without a port, as written in a header.
func bare(name string) string {
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	return strings.ToLower(name)
}

// check returns a refusal for requests that are rejected regardless of their sender.
func (g *guard) check(r *http.Request) *refusal {
	switch {
	case !r.ProtoAtLeast(1, 1) || r.ProtoMajor != 1:
		return plain(http.StatusHTTPVersionNotSupported, "only HTTP/1.1 is supported")
	case !strings.HasPrefix(r.RequestURI, "/"):
		// An absolute target has a host of its own, and two programs might use different ones.
		return plain(http.StatusBadRequest, "the request target must be a path")
	case !g.hosts[strings.ToLower(r.Host)]:
		return plain(http.StatusForbidden, "this Host is not allowed: add it with gauze serve --allow-host")
	case !g.allowsOrigin(r):
		return plain(http.StatusForbidden, "this Origin is not allowed: add it with gauze serve --allow-origin")
	}
	return nil
}

// named reports whether the user allowed this origin.
func (g *guard) named(origin string) bool { return g.origins[strings.ToLower(origin)] }

// allowsOrigin reports whether the request does not come from a browser that acts for a foreign
// page.
func (g *guard) allowsOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) > 1 {
		return false
	}
	if len(origins) == 1 {
		if g.named(origins[0]) {
			return true
		}
		scheme, host, _ := strings.Cut(strings.ToLower(origins[0]), "://")
		if scheme != "http" && scheme != "https" || !g.hosts[host] {
			return false
		}
	}
	// same-site is a different port of this machine: the page of a different program.
	site := r.Header.Values("Sec-Fetch-Site")
	return !slices.ContainsFunc(site, func(s string) bool { return s != "same-origin" && s != "none" })
}

// identify returns the principal of a request by its token. All tokens are compared, each in
// constant time.
func (g *guard) identify(r *http.Request) (principal, *refusal) {
	if len(g.tokens) == 0 || r.URL.Path == healthPath { // which reveals nothing
		return principal{}, nil
	}
	given := r.Header.Values("Authorization")
	if len(given) == 1 {
		scheme, token, _ := strings.Cut(given[0], " ")
		hash := principal(sha256.Sum256([]byte(strings.TrimSpace(token))))
		known := 0
		for _, one := range g.tokens {
			known |= subtle.ConstantTimeCompare(one[:], hash[:])
		}
		if known == 1 && strings.EqualFold(scheme, "Bearer") {
			return hash, nil
		}
	}
	if !g.guesses.Allow() {
		refused := plain(http.StatusTooManyRequests, "too many requests without a valid token")
		refused.header("Retry-After", "1")
		return principal{}, refused
	}
	refused := plain(http.StatusUnauthorized, "a token is required: send it as Authorization: Bearer TOKEN")
	refused.header("WWW-Authenticate", "Bearer")
	return principal{}, refused
}

// Failed authentications are limited to a burst, and then per second: enough for a client that is
// misconfigured, and too few to guess a token.
const (
	guessBurst       = 100
	guessesPerSecond = 10
)
