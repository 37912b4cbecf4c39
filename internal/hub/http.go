package hub

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/hub/view"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// face is what clients of HTTP see of a profile.
type face struct {
	gateway *gateway.Gateway
	end     func()
}

// changeFaces makes a face for each profile of the file. That of a profile that is gone rejects everything. The caller holds the lock.
func (h *Hub) changeFaces() {
	if h.options.Addr == nil {
		return
	}
	for _, name := range append([]string{""}, profileNames(h)...) {
		if h.faces[name] == nil {
			h.faces[name] = h.newFace(name)
		}
	}
}

// addr returns the address that clients reach. Without one, no request arrives.
func (h *Hub) addr() net.Addr {
	if h.options.Addr == nil {
		return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	}
	return h.options.Addr
}

func profileNames(h *Hub) (all []string) {
	for _, p := range h.file.Profiles {
		all = append(all, p.Name)
	}
	return all
}

func (h *Hub) newFace(profile string) *face {
	front := h.options.Front
	front.Session = h.options.Session
	front.Session.Name = "gauze"
	front.View = func(o proxy.Options) gateway.Peer { return h.faceView(profile, o) }
	front.Tokens = append(slices.Clone(front.Tokens), h.tokensFor(profile)...)
	if profile != "" {
		front.Tokens = append(front.Tokens, h.tokensFor("")...)
		front.Dashboard, front.Metrics = nil, nil
	}
	g := gateway.New(front, h.options.Addr)
	return &face{gateway: g, end: sync.OnceFunc(g.Begin())}
}

// tokensOf returns the tokens of a file and the profiles that they are for.
func (h *Hub) tokensOf(file *upfile.File) (map[string]string, error) {
	if h.options.Pinned == nil || h.options.Addr == nil {
		return nil, nil
	}
	return h.options.Pinned(file)
}

// tokensFor returns the tokens of the file that are for a profile. The caller holds the lock.
func (h *Hub) tokensFor(profile string) (all []string) {
	for _, token := range slices.Sorted(maps.Keys(h.tokens)) {
		if h.tokens[token] == profile {
			all = append(all, token)
		}
	}
	return all
}

// revoke takes the rights of tokens that are gone, or for another profile now. Gateways know the tokens that there were
// when they began, so a new one is accepted only after the next start. The caller holds the lock.
func (h *Hub) revoke(before map[string]string) {
	for token, profile := range before {
		if of, still := h.tokens[token]; !still || of != profile {
			h.revoked[token] = true
		}
	}
}

// faceView returns the session of a client of HTTP. If the profile is gone it has no servers.
func (h *Hub) faceView(profile string, o proxy.Options) gateway.Peer {
	v, closed, err := h.view(profile, Client{Principal: o.Principal}, o.Tell)
	if err != nil {
		return view.New(view.Options{Software: h.options.Software, Tell: o.Tell})
	}
	return &listed{v, closed}
}

// listed is a view that is in the list of open ones until it ends.
type listed struct {
	*view.View
	closed func()
}

// Attend runs the session until ctx ends.
func (l *listed) Attend(ctx context.Context) error {
	defer l.closed()
	return l.View.Attend(ctx)
}

// ServeHTTP handles every request: /mcp has all servers, or those of the profile that the token is for; /mcp/SERVER is one
// server as it is, /mcp/p/PROFILE a profile.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g, allowed := h.gatewayOf(r)
	if !allowed {
		r.Header.Del("Authorization") // so that the gateway rejects it as it rejects any other
	}
	g.ServeHTTP(w, r)
}

// gatewayOf returns who handles a request, makes its path the one that gateways have, and reports whether its token is
// still good. What names nothing is for the face of everything, which checks who asks before it says that there is nothing.
func (h *Hub) gatewayOf(r *http.Request) (g *gateway.Gateway, allowed bool) {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	path := r.URL.EscapedPath()
	h.mu.Lock()
	defer h.mu.Unlock()
	allowed = !h.revoked[token]
	as := func(g *gateway.Gateway, path string) (*gateway.Gateway, bool) {
		r.URL.Path, r.URL.RawPath = path, ""
		return g, allowed
	}
	if profile, found := strings.CutPrefix(path, gateway.Path+"/p/"); found && profile != "" && h.faces[profile] != nil {
		return as(h.faces[profile].gateway, gateway.Path)
	}
	for _, endpoint := range []string{gateway.Path, gateway.ReadyPath} {
		key, found := strings.CutPrefix(path, endpoint+"/")
		if s := h.servers[key]; found && s != nil && s.Pending == "" && !filters(s.Tools) {
			return as(s.gateway, endpoint)
		}
	}
	if f := h.faces[h.tokens[token]]; path == gateway.Path && f != nil {
		return f.gateway, allowed
	}
	return h.faces[""].gateway, allowed
}
