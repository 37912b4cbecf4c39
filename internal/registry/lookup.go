package registry

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Server is the entry of exactly this name, such as io.github.user/weather.
func (s Source) Server(ctx context.Context, name string) (Server, bool) {
	if !serverName.MatchString(name) {
		return Server{}, false
	}
	var servers []Server
	if s.Online {
		answer, _ := s.page(ctx, serverPath(name))
		servers = answer.servers
	}
	if servers == nil {
		servers, _ = s.allKept()
	}
	for _, server := range newest(servers) {
		if server.Name == name {
			return server, true
		}
	}
	return Server{}, false
}

// Lookup is what is known of a package, an image or an address. The registry cannot be asked for a package, only for
// servers by name, so the telling words of the package's name are asked for, and an entry counts only if it names exactly
// this package. The owner's scope is sent only where the name alone says nothing (@example/mcp), the path of an address and
// its query never.
func (s Source) Lookup(ctx context.Context, kind Kind, name string) (Facts, bool) {
	if !validName(kind, name) {
		return Facts{}, false
	}
	if s.Online {
		for _, query := range lookupQueries(kind, name) {
			servers, err := s.named(ctx, query)
			if facts, ok := pick(servers, kind, name); ok {
				return facts, true
			}
			if err != nil {
				break
			}
		}
	}
	servers, _ := s.allKept()
	return pick(servers, kind, name)
}

// pick is the entry for exactly this package: of several, one that is not deprecated, and then the newest.
func pick(servers []Server, kind Kind, name string) (best Facts, ok bool) {
	var from Server
	for _, server := range newest(servers) {
		for _, way := range server.Ways {
			if way.Kind == kind && sameName(kind, way.Name, name) && (!ok || prefer(server, from) < 0) {
				best, from, ok = way, server, true
			}
		}
	}
	return best, ok
}

// lookupQueries are what to ask for: the name, its telling words, one of them.
func lookupQueries(kind Kind, name string) (queries []string) {
	add := func(query string) {
		if query != "" && !slices.Contains(queries, query) {
			queries = append(queries, query)
		}
	}
	if kind == Remote {
		// Servers are named by domains backwards: mcp.example.com may be com.example/tool.
		u, err := url.Parse(name)
		if err != nil {
			return nil
		}
		labels := strings.Split(u.Hostname(), ".")
		if n := len(labels); n >= 2 {
			add(labels[n-1] + "." + labels[n-2])
			add(labels[n-2])
		}
		return queries
	}
	if kind == OCI {
		name = repository(name)
	}
	owner, own := path.Split(strings.ToLower(name))
	words := telling(own)
	if len(words) == 0 {
		add(strings.TrimPrefix(path.Base(owner), "@"))
		return queries
	}
	add(own)
	add(strings.Join(words, "-"))
	add(words[0])
	add(slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) }))
	return queries
}

// telling are the words of a name that say which server it is.
func telling(name string) (words []string) {
	for _, word := range split(name) {
		if !slices.Contains([]string{"mcp", "server", "servers", "mcpserver", "tool", "tools", "api", "sdk", "js", "py", "node", "python", "docker"}, word) {
			words = append(words, word)
		}
	}
	return words
}
