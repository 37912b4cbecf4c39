// Package httpguard keeps web pages, other users and malformed requests away from an HTTP listener
// on this machine. gauze serve and the dashboard share it.
//
//	httpguard.go  Names: the exact hosts and origins that are accepted
//	tokens.go     Tokens: who sent a request
//	server.go     Server: HTTP/1.1 only, with limits
//	conns.go      at most a number of connections
package httpguard

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// Refusal is why a request is rejected regardless of its sender.
type Refusal struct {
	Status int
	Text   string
}

// The refusals of Check.
var (
	Version       = &Refusal{http.StatusHTTPVersionNotSupported, "only HTTP/1.1 is supported"}
	Target        = &Refusal{http.StatusBadRequest, "the request target must be a path"}
	ForeignHost   = &Refusal{http.StatusForbidden, "this Host header is not allowed"}
	ForeignOrigin = &Refusal{http.StatusForbidden, "this Origin header is not allowed"}
)

// IsProxied reports whether a proxy says that it passed the request on: its sender may be on a
// different machine, whatever the connection says.
func IsProxied(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded-") || slices.Contains([]string{"Forwarded", "Via", "X-Real-Ip"}, name) {
			return true
		}
	}
	return false
}

// Names are the hosts and origins that requests may have.
type Names struct {
	hosts   map[string]bool // exact, lower case
	origins map[string]bool // exact, lower case
}

// NewNames accepts the names under which the address itself can be reached. Others must be
// configured: a web page whose name was made to resolve to this machine (DNS rebinding) sends a
// Host of its own. hosts are HOST or HOST:PORT, origins such as https://app.example.com.
func NewNames(addr net.Addr, hosts, origins []string) Names {
	n := Names{hosts: map[string]bool{}, origins: map[string]bool{}}
	host, port, _ := net.SplitHostPort(addr.String())
	for _, name := range []string{host, "localhost", "127.0.0.1", "::1"} {
		n.allow(name, port)
	}
	for _, name := range hosts {
		if h, p, err := net.SplitHostPort(name); err == nil {
			n.hosts[strings.ToLower(net.JoinHostPort(h, p))] = true
			continue
		}
		name = strings.Trim(name, "[]")
		n.allow(name, port)
		n.hosts[bare(name)] = true // sent by a proxy that removes the port
	}
	for _, origin := range origins {
		n.origins[strings.ToLower(strings.TrimSuffix(origin, "/"))] = true
	}
	return n
}

func (n *Names) allow(name, port string) {
	n.hosts[strings.ToLower(net.JoinHostPort(name, port))] = true
	if port == "80" {
		n.hosts[bare(name)] = true // clients omit the default port
	}
}

// bare returns a host without a port, as written in a header.
func bare(name string) string {
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	return strings.ToLower(name)
}

// Check returns a refusal for requests that are rejected regardless of their sender, else nil.
func (n *Names) Check(r *http.Request) *Refusal {
	switch {
	case !r.ProtoAtLeast(1, 1) || r.ProtoMajor != 1:
		return Version
	case !strings.HasPrefix(r.RequestURI, "/"):
		// An absolute target has a host of its own, and two programs might use different ones.
		return Target
	case !n.hosts[strings.ToLower(r.Host)]:
		return ForeignHost
	case !n.allowsOrigin(r):
		return ForeignOrigin
	}
	return nil
}

// Named reports whether the user allowed this origin.
func (n *Names) Named(origin string) bool { return n.origins[strings.ToLower(origin)] }

// allowsOrigin reports whether the request does not come from a browser that acts for a foreign
// page.
func (n *Names) allowsOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) > 1 {
		return false
	}
	if len(origins) == 1 {
		if n.Named(origins[0]) {
			return true
		}
		scheme, host, _ := strings.Cut(strings.ToLower(origins[0]), "://")
		if scheme != "http" && scheme != "https" || !n.hosts[host] {
			return false
		}
	}
	// same-site is a different port of this machine: the page of a different program.
	site := r.Header.Values("Sec-Fetch-Site")
	return !slices.ContainsFunc(site, func(s string) bool { return s != "same-origin" && s != "none" })
}
