package doctor

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/trust"
)

// commandToURL reaches a server by the address that was given as a command.
func commandToURL(p *plan) []Fix {
	address := strings.TrimSpace(p.spec.Command)
	if p.spec.URL != "" || len(p.spec.Args) > 0 || launch.CheckURL(address) != nil {
		return nil
	}
	return []Fix{{Name: "command-to-url", Takes: sends(trust.Entry), About: "reaches the server by the address that was given as a command",
		Next: "give the address as a URL: gauze run --url " + launch.Spec{URL: address}.String(),
		Apply: func(s launch.Spec) launch.Spec {
			s = copied(s)
			s.Command, s.URL = "", address
			return s
		}}}
}

// findEndpoint goes where a redirect leads, then to the usual paths. A server
// that redirects to a different host is not looked for on the old one.
func findEndpoint(p *plan) []Fix {
	fixes, left := followRedirect(p)
	if left {
		return fixes
	}
	return append(fixes, otherEndpoint(p)...)
}

// followRedirect uses the address a redirect names if it is one that follows
// from the entry's own. Any other is the server's word, and only shown: the
// user's headers would go there. It also reports whether the server is said to
// have left the entry's host.
func followRedirect(p *plan) (fixes []Fix, left bool) {
	from, err := url.Parse(p.spec.URL)
	if err != nil || p.spec.URL == "" {
		return nil, false
	}
	for _, answer := range p.c.HTTP {
		to, err := from.Parse(answer.Location)
		if err != nil || answer.Location == "" || answer.Status/100 != 3 || to.String() == from.String() {
			continue
		}
		for _, place := range endpoints(from) {
			if sameOrigin(place, to) && place.Path == to.Path && place.User.String() == to.User.String() && (to.RawQuery == "" || to.RawQuery == place.RawQuery) {
				return []Fix{p.at(place)}, false
			}
		}
		where := launch.Spec{URL: to.String()}.String()
		return []Fix{{Name: "moved " + where, Risk: Config, About: "the server redirects to " + shown(p.c.Secrets, where) + ", which is a different address from yours",
			Next: "if the server's documentation names that address, use it instead of yours"}}, !sameOrigin(from, to)
	}
	return nil, false
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

// otherEndpoint tries the usual paths on the same host. Those where something
// answers come first; the probe decides.
func otherEndpoint(p *plan) (fixes []Fix) {
	u, err := url.Parse(p.spec.URL)
	if err != nil || u.Host == "" {
		return nil
	}
	for _, to := range p.speaking(endpoints(u)) {
		fix := p.at(to)
		fix.Guess = true
		fixes = append(fixes, fix)
	}
	return fixes[:min(len(fixes), 3)]
}

// endpoints are the usual paths for a server with this address, most likely
// first: the same host, query and user.
func endpoints(u *url.URL) (places []*url.URL) {
	base := strings.TrimSuffix(u.Path, "/")
	for _, end := range []string{"/mcp", "/sse"} {
		base = strings.TrimSuffix(base, end)
	}
	paths := []string{base + "/mcp", base + "/sse", base + "/mcp/", base + "/sse/", base + "/", u.Path + "/", strings.TrimSuffix(u.Path, "/")}
	if base == strings.TrimSuffix(u.Path, "/") {
		// Such a path may be no part of the address at all. One that ends as
		// addresses of servers do names one of several of the host, and none of
		// the others is meant.
		paths = slices.Insert(paths, 1, "/mcp", "/sse")
	}
	for i, path := range paths {
		if path == u.Path || slices.Contains(paths[:i], path) || strings.HasSuffix(path, "//") || path == "" {
			continue
		}
		to := *u
		to.Path, to.RawPath = path, ""
		places = append(places, &to)
	}
	return places
}

// speaking are the places where something answers, asked side by side; if it
// is none of them, all: some answer a POST only.
func (p *plan) speaking(places []*url.URL) (some []*url.URL) {
	answers := make([]bool, len(places))
	var asking sync.WaitGroup
	for i, to := range places {
		bare := url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path} // a key in the query is no business of a look
		asking.Go(func() { answers[i] = p.Speaks(bare.String()) })
	}
	asking.Wait()
	for i, to := range places {
		if answers[i] {
			some = append(some, to)
		}
	}
	if len(some) == 0 {
		return places
	}
	return some
}

// at reaches the server at another path of the same host.
func (p *plan) at(to *url.URL) Fix {
	address := to.String()
	where := shown(p.c.Secrets, launch.Spec{URL: address}.String())
	return Fix{Name: "endpoint " + to.Path, Takes: sends(trust.Entry), About: "asks at " + where + " instead",
		Next: "use that address: gauze run --url " + where,
		Apply: func(s launch.Spec) launch.Spec {
			s = copied(s)
			s.URL = address
			return s
		}}
}

// localSpelling reaches a server of this machine by another name of it: what
// listens on 127.0.0.1 does not on ::1. In a container, this machine is not
// localhost at all.
func localSpelling(p *plan) (fixes []Fix) {
	spellings := []string{"127.0.0.1", "[::1]"}
	if p.InContainer() && len(p.spec.Header) == 0 {
		spellings = append(spellings, "host.docker.internal")
	}
	for _, spelling := range spellings {
		apply := func(s launch.Spec) launch.Spec {
			return p.relocated(s, func(a localAddress) (string, int) {
				if a.host == spelling || !p.Takes(strings.Trim(spelling, "[]"), a.port) {
					return a.host, 0
				}
				return spelling, 0
			})
		}
		if sameSpec(apply(p.spec), p.spec, p.env) {
			continue
		}
		fixes = append(fixes, Fix{Name: "local " + spelling, Takes: append(starts(trust.Machine), sends(trust.Machine)...), About: "writes " + spelling + " for this machine: there somebody answers",
			Next: "use " + spelling + " instead of localhost in the server's address", Apply: apply})
	}
	return fixes
}

// composePort uses the port a compose file publishes for the one that nobody
// listens on: 5432 is refused, but compose publishes it as 54320.
//
// A compose file belongs to whoever wrote its project: gauze uses the port by
// itself only if the server is of the same project. A URL that a person gave is
// not changed at all.
func composePort(p *plan) (fixes []Fix) {
	var seen []Published
	for _, dir := range p.folders() {
		for _, published := range p.Published(dir) {
			same := func(other Published) bool { return other.Inner == published.Inner && other.Outer == published.Outer }
			if published.Inner == published.Outer || slices.ContainsFunc(seen, same) {
				continue
			}
			seen = append(seen, published)
			if p.Takes("127.0.0.1", published.Inner) || !p.Takes("127.0.0.1", published.Outer) {
				continue
			}
			about := fmt.Sprintf("nobody listens on port %d, but %s publishes that port of %s as %d", published.Inner, published.File, shown(p.c.Secrets, published.Service), published.Outer)
			fix := Fix{Name: fmt.Sprintf("compose-port %d", published.Outer), Risk: Config, About: about, Takes: starts(p.of(published.File)),
				Next: fmt.Sprintf("if the server means the service that %s publishes, use port %d instead of %d in its settings", published.File, published.Outer, published.Inner)}
			apply := func(s launch.Spec) launch.Spec {
				return p.relocated(s, func(a localAddress) (string, int) {
					if a.port == published.Inner {
						return a.host, published.Outer
					}
					return a.host, 0
				})
			}
			if moved := apply(p.spec); p.spec.URL == "" && !sameSpec(moved, p.spec, p.env) {
				fix.Risk, fix.Apply, fix.Guess = Runtime, apply, true
			}
			fixes = append(fixes, fix)
		}
	}
	return fixes
}
