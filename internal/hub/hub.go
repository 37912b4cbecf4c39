// Package hub runs many servers behind one entry, for many clients.
//
//	hub.go      Hub: the servers of a file, and what clients see of them
//	server.go   one server: its sessions with all clients
//	session.go  a session of one client, over stdio
//	http.go     /mcp, /mcp/SERVER and /mcp/p/PROFILE
//	cost.go     what clients get into their context
//
// Each server has a gateway.Gateway, which owns its sessions whichever way their clients come, so that it is seen,
// healed and stopped as with gauze serve. A client of several servers has a view (package view), whose sessions are
// those of the servers' gateways. Clients of one principal may share a process (package shared). Package names says
// what tools are called, upfile what the file may say, and attach how gauze connect comes in.
package hub

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/hub/view"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// Options configures a Hub.
type Options struct {
	// Session is for the sessions with every server, except for what the file says about it.
	Session proxy.Options
	// Idle is how long a server without use is kept running, unless the file says otherwise. 0: as long as the hub.
	Idle     time.Duration
	Software string        // version of gauze
	ListWait time.Duration // how long a list waits for a server that has never answered; default 2s

	// Front is for HTTP: tokens, names, limits. Addr is the address that clients reach; nil: there is none.
	Front gateway.Options
	Addr  net.Addr
	// Pinned returns the tokens of a file, and the profile that each is for; "" is everything. May be nil.
	Pinned func(*upfile.File) (map[string]string, error)

	// Announce makes a server visible to other commands until hide is called. May be nil.
	Announce func(g *gateway.Gateway) (hide func())
}

// Hub has the servers of one file.
type Hub struct {
	options Options
	retired sync.WaitGroup // servers that are no longer in the file

	changing sync.Mutex // held during a change, and not by who answers clients

	mu      sync.Mutex // guards everything below; not held while a face is called, which may need it with its own lock held
	file    *upfile.File
	servers map[string]*server          // by key
	faces   map[string]*face            // what clients of HTTP see, by profile; "" is everything
	open    map[*view.View]*viewSession // sessions of clients with several servers
	ones    map[*gateway.Joined]*one    // sessions of clients with one server, which do not come over HTTP
	removed map[string]bool             // what earlier files had: keys of servers, and p/PROFILE
	made    int                         // servers so far
	ended   bool
	tokens  map[string]string // of the file, and their profiles
}

// New returns a Hub for a file. End ends it.
func New(file *upfile.File, o Options) (*Hub, error) {
	h := &Hub{options: o, servers: map[string]*server{}, faces: map[string]*face{}, open: map[*view.View]*viewSession{}, ones: map[*gateway.Joined]*one{}, removed: map[string]bool{}}
	if err := h.Change(file); err != nil {
		h.End()
		return nil, err
	}
	return h, nil
}

// Change uses another file. Servers that stay the same keep their processes and sessions; the others get no new
// calls and end after those they have. No session of a client with several servers ends. On error, which is one of the tokens,
// nothing changes.
func (h *Hub) Change(file *upfile.File) error {
	h.changing.Lock()
	defer h.changing.Unlock()
	accept, err := h.change(file)
	if err == nil {
		accept()
	}
	return err
}

// change is Change without the tokens, which accept makes those that gateways accept. It is called without the lock.
func (h *Hub) change(file *upfile.File) (accept func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil, errors.New("gauze is stopping")
	}
	tokens, err := h.tokensOf(file)
	if err != nil {
		return nil, err
	}
	h.tokens = tokens
	old, servers := h.servers, map[string]*server{}
	changes := upfile.Diff(h.file, file)
	kept := append(changes.Unchanged, changes.Filtered...)
	for _, s := range file.Servers {
		switch was := old[s.Key]; {
		case slices.Contains(kept, s.Key):
			servers[s.Key] = was
		case was != nil && was.renews(&s):
			servers[s.Key] = h.renewed(was, s)
			delete(old, s.Key)
		default:
			servers[s.Key] = h.newServer(s)
		}
	}
	h.file, h.servers = file, servers
	for _, s := range file.Servers {
		servers[s.Key].Server = s // other tools may be listed, and it may be on another line
	}
	h.changeFaces()
	for v, s := range h.open {
		p, _ := h.profile(s.profile)
		v.Change(h.members(s.profile, s.client), p.List)
	}
	h.renewOnes()
	for key, s := range old {
		if h.removed[key] = servers[key] == nil; servers[key] != s {
			h.retired.Go(s.retire)
		}
	}
	return h.accepting(), nil
}

// File returns the file that is used.
func (h *Hub) File() *upfile.File {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.file
}

// End stops all servers: calls in flight may finish, as with gauze serve.
func (h *Hub) End() {
	h.mu.Lock()
	h.ended = true
	var faces, servers []func()
	for _, f := range h.faces {
		faces = append(faces, f.end)
	}
	for _, s := range h.servers {
		servers = append(servers, func() { s.end(); s.hide() })
	}
	h.mu.Unlock()
	together(faces) // first: their calls are with the servers
	together(servers)
	h.retired.Wait()
}

// together calls all functions at the same time and waits for them.
func together(all []func()) {
	var running sync.WaitGroup
	for _, one := range all {
		running.Go(one)
	}
	running.Wait()
}

// Hurry makes an end that is in progress skip its waits.
func (h *Hub) Hurry() {
	h.mu.Lock()
	var all []*gateway.Gateway
	for _, f := range h.faces {
		all = append(all, f.gateway)
	}
	for _, s := range h.servers {
		all = append(all, s.gateway)
	}
	h.mu.Unlock()
	for _, g := range all {
		g.Hurry()
	}
}

// profile returns what a profile of the file selects; "" is everything.
func (h *Hub) profile(name string) (p upfile.Profile, ok bool) {
	if name != "" {
		i := slices.IndexFunc(h.file.Profiles, func(p upfile.Profile) bool { return p.Name == name })
		if i < 0 {
			return p, false
		}
		return h.file.Profiles[i], true
	}
	for _, s := range h.file.Servers {
		p.Servers = append(p.Servers, s.Key)
	}
	return p, true
}

// members returns the servers of a profile for a client, in the order of the file. A profile that no longer exists has
// none. The caller holds the lock.
func (h *Hub) members(profile string, from Client) (all []view.Member) {
	p, _ := h.profile(profile)
	for _, in := range h.file.Servers {
		if !slices.Contains(p.Servers, in.Key) {
			continue
		}
		s, closed := h.servers[in.Key], in.Pending
		spec, err := from.spec(&in)
		if err != nil && closed == "" {
			closed = err.Error()
		}
		m := view.Member{
			Key: in.Key, Version: s.version, Closed: closed, Idle: h.idle(in),
			Open: func(tell func(proxy.Told)) view.Server { return s.join(spec, from.Principal, tell) },
			Recall: func(method string, version, capabilities []byte) []byte {
				return proxy.Recall(h.options.Session.Known.Shelf, spec, from.Principal, method, version, capabilities)
			},
		}
		if kept := h.options.Session.Known.Shelf; kept != nil && from.Principal == "" {
			m.Listed = func() []byte { return proxy.Listed(kept, spec) }
		}
		if filters(in.Tools) || filters(p.Tools) {
			m.Filter = fmt.Sprintf("%q %q", in.Tools, p.Tools)
			m.Admits = func(tool string) bool { return in.Tools.Admits(tool) && p.Admits(in.Key, tool) }
		}
		all = append(all, m)
	}
	return all
}

// filters reports whether a filter leaves something out.
func filters(f upfile.Filter) bool { return len(f.Allow)+len(f.Deny) > 0 }

// idle returns how long a server is kept running without use.
func (h *Hub) idle(s upfile.Server) time.Duration { return cmp.Or(s.Idle, h.options.Idle) }
