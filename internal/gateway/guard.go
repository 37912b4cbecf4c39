package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// principal is who speaks: the hash of the token it knows, zero if none is
// asked for. Two principals share nothing.
type principal [sha256.Size]byte

// guard decides who may speak to us at all.
type guard struct {
	hosts   map[string]bool // exact, lower case
	origins map[string]bool // exact, lower case
	tokens  []principal
	guesses *guesses
}

// newGuard allows the names under which the address itself can be reached.
// Everything else has to be named: a web page whose name was made to resolve
// to this machine (DNS rebinding) comes with a Host of its own.
func newGuard(o Options, addr net.Addr) guard {
	g := guard{hosts: map[string]bool{}, origins: map[string]bool{}, guesses: &guesses{}}
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
		g.hosts[bare(name)] = true // behind a proxy that took the port away
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
		g.hosts[bare(name)] = true // a client leaves the usual port out
	}
}

// bare is a host without a port, as it stands in a header.
func bare(name string) string {
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	return strings.ToLower(name)
}

// check says why a request goes no further, whoever sent it.
func (g *guard) check(r *http.Request) *refusal {
	switch {
	case !r.ProtoAtLeast(1, 1) || r.ProtoMajor != 1:
		return plain(http.StatusHTTPVersionNotSupported, "only HTTP/1.1 is spoken here")
	case !strings.HasPrefix(r.RequestURI, "/"):
		// An absolute target brings a host of its own, and not everybody on the
		// way would look at the same one.
		return plain(http.StatusBadRequest, "the request target has to be a path")
	case !g.hosts[strings.ToLower(r.Host)]:
		return plain(http.StatusForbidden, "the Host header names another host; gauze serve --allow-host adds one")
	case !g.allowsOrigin(r):
		return plain(http.StatusForbidden, "requests from this origin are refused; gauze serve --allow-origin adds one")
	}
	return nil
}

// named reports whether the user named this origin.
func (g *guard) named(origin string) bool { return g.origins[strings.ToLower(origin)] }

// allowsOrigin looks for a browser that acts for a foreign page.
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
	// Same-site is another port of this machine: another program's page.
	site := r.Header.Values("Sec-Fetch-Site")
	return !slices.ContainsFunc(site, func(s string) bool { return s != "same-origin" && s != "none" })
}

// identify says who sent the request, by its token. All are compared, and each in constant time.
func (g *guard) identify(r *http.Request) (principal, *refusal) {
	if len(g.tokens) == 0 || r.URL.Path == healthPath { // which says nothing to anybody
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
	if !g.guesses.another(time.Now()) {
		refused := plain(http.StatusTooManyRequests, "too many requests without the right token")
		refused.header("Retry-After", "1")
		return principal{}, refused
	}
	refused := plain(http.StatusUnauthorized, "a token is needed: send it as Authorization: Bearer TOKEN")
	refused.header("WWW-Authenticate", "Bearer")
	return principal{}, refused
}

// guesses counts those who come without the right token. Whoever has it is not
// slowed down by those who have not.
type guesses struct {
	mu   sync.Mutex
	left float64
	at   time.Time
}

// Guesses at once, and then a second: enough for any client that was set up
// wrongly, and a token of 16 characters outlives the sun.
const (
	guessesAtOnce  = 100
	guessesASecond = 10
)

func (g *guesses) another(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at.IsZero() {
		g.left = guessesAtOnce
	} else {
		g.left = min(guessesAtOnce, g.left+now.Sub(g.at).Seconds()*guessesASecond)
	}
	g.at = now
	if g.left < 1 {
		return false
	}
	g.left--
	return true
}
