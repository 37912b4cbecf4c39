package doctor

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// commandToURL connects to an address that was given as a command.
func commandToURL(p *plan) []Fix {
	address := strings.TrimSpace(p.spec.Command)
	if p.spec.URL != "" || len(p.spec.Args) > 0 || launch.CheckURL(address) != nil {
		return nil
	}
	return []Fix{{Name: "command-to-url", Origins: sends(trust.Entry), About: "connects to the address given in place of a command",
		Next: "Pass the address as a URL: `gauze run --url " + launch.Spec{URL: address}.String() + "`",
		Apply: changed(func(s *launch.Spec) {
			s.Command, s.URL = "", address
		})}}
}

// keepRunning proposes how to connect to a command that listens for HTTP. If it answered there while it
// ran, a person may agree to its URL, which nothing starts any more. The port is the one that the system
// shows for the process, whatever the server printed.
func keepRunning(p *plan) []Fix {
	port, address := p.c.Limit.Listening, p.c.Limit.Serves
	if port == 0 {
		return p.advice(Config)
	}
	line := shown(p.c.Secrets, p.spec.ShownIn(p.m.typing()))
	at := cmp.Or(address, fmt.Sprintf("http://127.0.0.1:%d/mcp", port))
	fix := Fix{Name: "keep-running", Risk: Config,
		About: fmt.Sprintf("the server is listening on port %d instead of using stdin and stdout", port),
		Next: fmt.Sprintf("If the server has a stdio mode, use that. Otherwise keep the server running yourself (%s) and "+
			"connect to its URL: `gauze run --url %s`", line, at)}
	if address == "" || p.spec.URL != "" || !p.server().staysAt(port) {
		return []Fix{fix}
	}
	fix.Name, fix.Asks, fix.Origins = "to-url "+address, true, sends(trust.Machine)
	fix.About = fmt.Sprintf("the server responds at %s instead of on stdin and stdout; clients do not start servers "+
		"that they reach by URL, so you must keep it running yourself: %s", address, line)
	fix.Apply = func(launch.Spec) launch.Spec { return launch.Spec{URL: address} }
	return []Fix{fix}
}

// staysAt reports whether a server listens on the same port at its next start: one that its entry names,
// or one that systems do not assign to programs that ask for any.
func (srv server) staysAt(port int) bool {
	const firstEphemeral = 32768 // of Linux; other systems begin higher
	number := strconv.Itoa(port)
	return port < firstEphemeral || slices.ContainsFunc(slices.Concat(srv.spec.Args, srv.env),
		func(word string) bool { return isNamedIn([]string{word}, number) })
}

// findEndpoint tries the address that a redirect names, then the usual paths. If the server
// redirects to a different host, the old one is not searched.
func findEndpoint(p *plan) []Fix {
	fixes, left := followRedirect(p)
	if left {
		return fixes
	}
	return append(fixes, otherEndpoint(p)...)
}

// followRedirect uses the address that a redirect names if it can be derived from the entry's own.
// Any other address is the server's claim and is only shown, because the user's headers would be
// sent there. It also reports whether the redirect leaves the entry's host.
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
			if launch.SameOrigin(place, to) && place.Path == to.Path && place.User.String() == to.User.String() &&
				(to.RawQuery == "" || to.RawQuery == place.RawQuery) {
				return []Fix{p.server().at(place)}, false
			}
		}
		where := launch.Spec{URL: to.String()}.String()
		return []Fix{{Name: "moved " + where, Risk: Config,
			About: "the server redirects to " + shown(p.c.Secrets, where) + ", which is not the configured address",
			Next:  "If the server's documentation confirms the new address, use it instead of the configured one."}}, !launch.SameOrigin(from, to)
	}
	return nil, false
}

// otherEndpoint tries the usual paths on the same host. Paths that respond come first; the probe
// decides.
func otherEndpoint(p *plan) (fixes []Fix) {
	u, err := url.Parse(p.spec.URL)
	if err != nil || u.Host == "" {
		return nil
	}
	for _, to := range p.server().speaking(endpoints(u)) {
		fix := p.server().at(to)
		fix.Guess = true
		fixes = append(fixes, fix)
	}
	return fixes[:min(len(fixes), 3)]
}

// endpoints returns the usual addresses of a server with this address, most likely first. They have
// the same host, query and user.
func endpoints(u *url.URL) (places []*url.URL) {
	base := strings.TrimSuffix(u.Path, "/")
	for _, end := range []string{"/mcp", "/sse"} {
		base = strings.TrimSuffix(base, end)
	}
	paths := []string{base + "/mcp", base + "/sse", base + "/mcp/", base + "/sse/", base + "/", u.Path + "/", strings.TrimSuffix(u.Path, "/")}
	if base == strings.TrimSuffix(u.Path, "/") {
		// The path may be wrong as a whole. A path that ends in /mcp or /sse selects one of the
		// host's servers, and the others must not be tried.
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

// speaking returns the places that respond, probed in parallel. If none does, it returns all of
// them: some servers respond only to POST.
func (srv server) speaking(places []*url.URL) (some []*url.URL) {
	answers := make([]bool, len(places))
	var asking sync.WaitGroup
	for i, to := range places {
		bare := url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path} // without a key that may be in the query
		asking.Go(func() { answers[i] = srv.m.SpeaksMCP(bare.String()) })
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

// at connects to a different path of the same host.
func (srv server) at(to *url.URL) Fix {
	address := to.String()
	where := shown(srv.secrets, launch.Spec{URL: address}.String())
	return Fix{Name: "endpoint " + to.Path, Origins: sends(trust.Entry), About: "connects to " + where + " instead",
		Next: "Use this address: `gauze run --url " + where + "`",
		Apply: changed(func(s *launch.Spec) {
			s.URL = address
		})}
}

// localSpelling connects to a server on this machine by a different name of the machine: a server
// that listens on 127.0.0.1 does not listen on ::1. Inside a container, localhost is the container.
func localSpelling(p *plan) (fixes []Fix) {
	spellings := []string{"127.0.0.1", "[::1]"}
	if p.m.InContainer() && len(p.spec.Header) == 0 {
		spellings = append(spellings, "host.docker.internal")
	}
	for _, spelling := range spellings {
		apply := func(s launch.Spec) launch.Spec {
			return p.server().relocated(s, func(a localAddress) (string, int) {
				if a.host == spelling || !p.m.Accepts(strings.Trim(spelling, "[]"), a.port) {
					return a.host, 0
				}
				return spelling, 0
			})
		}
		if sameSpec(apply(p.spec), p.spec, p.env) {
			continue
		}
		fixes = append(fixes, Fix{Name: "local " + spelling, Origins: append(starts(trust.Machine), sends(trust.Machine)...),
			About: "uses " + spelling + " as the address of this machine, because a server accepts connections there",
			Next:  "Use " + spelling + " as the host in the server's address.", Apply: apply})
	}
	return fixes
}

// composePort replaces a refused port by the one that a compose file publishes for it: 5432 is
// refused, but compose publishes it as 54320.
//
// A compose file belongs to the author of its project, so gauze uses the port by itself only if the
// server is part of the same project. A URL that a person gave is never changed.
func composePort(p *plan) (fixes []Fix) {
	var seen []Published
	for _, published := range p.server().published() {
		same := func(other Published) bool { return other.Inner == published.Inner && other.Outer == published.Outer }
		if published.Inner == published.Outer || slices.ContainsFunc(seen, same) {
			continue
		}
		seen = append(seen, published)
		if !p.m.Refuses("127.0.0.1", published.Inner) || !p.m.Accepts("127.0.0.1", published.Outer) {
			continue
		}
		about := fmt.Sprintf("nothing is listening on port %d, but %s publishes that port of service %s as port %d", published.Inner,
			p.server().quoted(published.File), shown(p.c.Secrets, published.Service), published.Outer)
		fix := Fix{Name: fmt.Sprintf("compose-port %d", published.Outer), Risk: Config, About: about,
			Origins: starts(p.server().of(published.File)),
			Next: fmt.Sprintf("If the server uses the service defined in %s, change port %d to %d in the server's settings.",
				p.server().quoted(published.File), published.Inner, published.Outer)}
		apply := func(s launch.Spec) launch.Spec {
			return p.server().relocated(s, func(a localAddress) (string, int) {
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
	return fixes
}
