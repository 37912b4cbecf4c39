package doctor

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/upstream"
)

// commandToURL reaches a server by the address that was given as a command.
func commandToURL(p *plan) []Fix {
	address := strings.TrimSpace(p.spec.Command)
	if p.spec.URL != "" || len(p.spec.Args) > 0 || upstream.CheckURL(address) != nil {
		return nil
	}
	return []Fix{{Name: "command-to-url", Risk: Runtime, About: "reaches the server by the address that was given as a command",
		Next: "give the address as a URL: gauze run --url " + upstream.Spec{URL: address}.String(),
		Apply: func(s upstream.Spec) upstream.Spec {
			s = copied(s)
			s.Command, s.URL = "", address
			return s
		}}}
}

// findEndpoint goes where a redirect leads, then to the usual paths. A server
// that says it is elsewhere is not looked for on the old host.
func findEndpoint(p *plan) []Fix {
	fixes := followRedirect(p)
	if len(fixes) > 0 && fixes[0].Risk > Runtime {
		return fixes
	}
	return append(fixes, otherEndpoint(p)...)
}

// followRedirect uses the address a redirect names, on the same host only: the
// user's headers go there.
func followRedirect(p *plan) []Fix {
	from, err := url.Parse(p.spec.URL)
	if err != nil || p.spec.URL == "" {
		return nil
	}
	for _, answer := range p.c.HTTP {
		to, err := from.Parse(answer.Location)
		if err != nil || answer.Location == "" || answer.Status/100 != 3 || to.String() == from.String() {
			continue
		}
		if to.Scheme != from.Scheme || !strings.EqualFold(to.Hostname(), from.Hostname()) || portOf(to) != portOf(from) {
			where := upstream.Spec{URL: to.String()}.String()
			return []Fix{{Name: "moved " + where, Risk: Config, About: "the server has moved to " + shown(p.c.Secrets, where) + ", which is another address than the one you gave",
				Next: "if the server's documentation names that address, use it instead of yours"}}
		}
		return []Fix{p.at(to)}
	}
	return nil
}

// otherEndpoint tries the usual paths on the same host. Those where something
// answers come first; the probe decides.
func otherEndpoint(p *plan) (fixes []Fix) {
	u, err := url.Parse(p.spec.URL)
	if err != nil || u.Host == "" {
		return nil
	}
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
	var places []*url.URL
	for i, path := range paths {
		if path == u.Path || slices.Contains(paths[:i], path) || strings.HasSuffix(path, "//") || path == "" {
			continue
		}
		to := *u
		to.Path, to.RawPath = path, ""
		places = append(places, &to)
	}
	for _, to := range p.speaking(places) {
		fix := p.at(to)
		fix.Guess = true
		fixes = append(fixes, fix)
	}
	return fixes[:min(len(fixes), 3)]
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

// movesSecrets tells whether a word or a value that another Spec has otherwise
// holds a secret.
func (p *plan) movesSecrets(other upstream.Spec) bool {
	for i, word := range p.spec.Args {
		if other.Args[i] != word && confidential("", word) {
			return true
		}
	}
	for _, pair := range other.Env {
		if name, value, _ := strings.Cut(pair, "="); !slices.Contains(p.env, pair) && confidential(name, value) {
			return true
		}
	}
	return false
}

// at reaches the server at another path of the same host.
func (p *plan) at(to *url.URL) Fix {
	address := to.String()
	where := shown(p.c.Secrets, upstream.Spec{URL: address}.String())
	return Fix{Name: "endpoint " + to.Path, Risk: Runtime, About: "asks at " + where + " instead",
		Next: "use that address: gauze run --url " + where,
		Apply: func(s upstream.Spec) upstream.Spec {
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
		apply := func(s upstream.Spec) upstream.Spec {
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
		fixes = append(fixes, Fix{Name: "local " + spelling, Risk: Runtime, About: "writes " + spelling + " for this machine: there somebody answers",
			Next: "use " + spelling + " instead of localhost in the server's address", Apply: apply})
	}
	return fixes
}

// composePort uses the port a compose file publishes for the one that nobody
// listens on: 5432 is refused, but compose publishes it as 54320.
//
// A compose file is whoever wrote the project's. Passwords go to the port it
// names only if the server is of the same project, and a URL that a person gave
// is not changed at all.
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
			fix := Fix{Name: fmt.Sprintf("compose-port %d", published.Outer), Risk: Config, About: about,
				Next: fmt.Sprintf("use port %d instead of %d in the server's settings", published.Outer, published.Inner)}
			apply := func(s upstream.Spec) upstream.Spec {
				return p.relocated(s, func(a localAddress) (string, int) {
					if a.port == published.Inner {
						return a.host, published.Outer
					}
					return a.host, 0
				})
			}
			if moved := apply(p.spec); p.spec.URL == "" && !sameSpec(moved, p.spec, p.env) && (p.owns(dir) || !p.movesSecrets(moved)) {
				fix.Risk, fix.Apply, fix.Guess = Runtime, apply, true
			}
			fixes = append(fixes, fix)
		}
	}
	return fixes
}
