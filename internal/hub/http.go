package hub

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/hub/view"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// face is what clients of HTTP see of a profile.
type face struct {
	gateway *gateway.Gateway
	end     func()
}

// changeFaces makes a face for each profile of the file, and ends those of profiles that are gone, after the calls that
// they have. The caller holds the lock.
func (h *Hub) changeFaces() {
	if h.options.Addr == nil {
		return
	}
	names := append([]string{""}, profileNames(h)...)
	for _, name := range names {
		if h.faces[name] == nil {
			h.faces[name] = h.newFace(name)
		}
		h.removed[profilePath+name] = false
	}
	for name, f := range h.faces {
		if !slices.Contains(names, name) {
			h.removed[profilePath+name] = true
			delete(h.faces, name)
			h.retired.Go(f.end)
		}
	}
}

// profilePath precedes the name of a profile in paths below gateway.Path, and in Hub.removed.
const profilePath = "p/"

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
	front.NotFound = h.notFound
	front.View = func(o proxy.Options) gateway.Peer { return h.faceView(profile, o) }
	front.Tokens, front.Users = h.tokensAt(profile), h.users()
	if profile != "" {
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

// tokensAt returns the tokens that are accepted at the address of a profile, or of everything and single servers: those
// of the user, those of the file for everything, and those for the profile. The caller holds the lock.
func (h *Hub) tokensAt(profile string) []string {
	all := slices.Clone(h.options.Front.Tokens)
	for _, token := range slices.Sorted(maps.Keys(h.tokens)) {
		if of := h.tokens[token]; of == "" || of == profile {
			all = append(all, token)
		}
	}
	return all
}

// users returns how many tokens there are, at whatever address. The caller holds the lock.
func (h *Hub) users() int {
	all := map[string]bool{}
	for _, token := range h.options.Front.Tokens {
		all[token] = true
	}
	for token := range h.tokens {
		all[token] = true
	}
	return len(all)
}

// accepting returns what makes gateways accept the tokens of the file, and no others; it is called without the lock. The
// caller holds the lock.
func (h *Hub) accepting() func() {
	users, accepted := h.users(), map[*gateway.Gateway][]string{}
	for _, s := range h.servers {
		accepted[s.gateway] = h.tokensAt("")
	}
	for profile, f := range h.faces {
		accepted[f.gateway] = h.tokensAt(profile)
	}
	return func() {
		for g, tokens := range accepted {
			g.SetTokens(tokens, users)
		}
	}
}

// notFound says why there is nothing at a path.
func (h *Hub) notFound(path string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := func(name string) bool { return name != "" && !strings.Contains(name, "/") }
	if profile, found := strings.CutPrefix(path, gateway.Path+"/"+profilePath); found && one(profile) {
		return h.missingProfile(profile)
	}
	for _, endpoint := range []string{gateway.Path, gateway.ReadyPath} {
		if key, found := strings.CutPrefix(path, endpoint+"/"); found && one(key) && (key != "p" || h.servers[key] != nil) {
			return h.missingServer(key)
		}
	}
	return "not found: the endpoints are " + gateway.Path + ", " + gateway.Path + "/SERVER and " + gateway.Path + "/p/PROFILE"
}

// missingProfile says why a profile does not exist. The caller holds the lock.
func (h *Hub) missingProfile(name string) string {
	shown := redact.Quote(plaintext.Clean(name))
	switch {
	case h.removed[profilePath+name]:
		return fmt.Sprintf("the profile %q was removed from the file of gauze up", shown)
	case h.servers[name] != nil:
		return fmt.Sprintf("the file of gauze up does not have a profile %q, but a server: use %s/%s", shown, gateway.Path, shown)
	}
	return fmt.Sprintf("the file of gauze up does not have a profile %q%s", shown, didYouMean(name, profileNames(h)))
}

// missingServer says why a server does not exist, or cannot be reached alone. The caller holds the lock.
func (h *Hub) missingServer(key string) string {
	s, shown := h.servers[key], redact.Quote(plaintext.Clean(key))
	switch {
	case s == nil && h.removed[key]:
		return fmt.Sprintf("the server %q was removed from the file of gauze up", shown)
	case s == nil && h.faces[key] != nil:
		return fmt.Sprintf("the file of gauze up does not have a server %q, but a profile: use %s/%s%s", shown, gateway.Path, profilePath, shown)
	case s == nil:
		p, _ := h.profile("")
		return fmt.Sprintf("the file of gauze up does not have a server %q%s", shown, didYouMean(key, p.Servers))
	case s.Pending != "":
		return fmt.Sprintf("the server %q is not started: %s", shown, s.Pending)
	}
	return fmt.Sprintf("only some tools of the server %q are allowed, and %s/%s would have all of them: use %s or %s/p/PROFILE", shown, gateway.Path, shown, gateway.Path, gateway.Path)
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

// NumberConn tells connections apart, for http.Server.ConnContext: over stdio, messages of a server that name no request reach
// a client only if no other could be meant.
func (h *Hub) NumberConn(ctx context.Context, c net.Conn) context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.faces[""].gateway.NumberConn(ctx, c)
}

// ServeHTTP handles every request: /mcp has all servers, or those of the profile that the token is for; /mcp/SERVER is one
// server as it is, /mcp/p/PROFILE a profile.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.gatewayOf(r).ServeHTTP(w, r) }

// gatewayOf returns who handles a request, and makes its path the one that gateways have. What names nothing is for the
// face of everything, which checks who asks before it says that there is nothing.
func (h *Hub) gatewayOf(r *http.Request) *gateway.Gateway {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	path := r.URL.EscapedPath()
	h.mu.Lock()
	defer h.mu.Unlock()
	as := func(g *gateway.Gateway, path string) *gateway.Gateway {
		r.URL.Path, r.URL.RawPath = path, ""
		return g
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
	if f := h.faces[h.tokens[strings.TrimSpace(token)]]; path == gateway.Path && f != nil {
		return f.gateway
	}
	return h.faces[""].gateway
}
