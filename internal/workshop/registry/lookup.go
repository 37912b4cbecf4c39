package registry

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Lookup returns what is known about a package, an image or an address. The registry can only
// search servers by name, so Lookup sends the distinctive words of the package's name and accepts
// only entries for exactly this package. It sends the scope only if the name alone is not
// distinctive (@example/mcp), and never the path or query of an address.
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

// Required returns the names of the variables that are listed as required for a package.
func (s Source) Required(ctx context.Context, kind, name string) (names []string) {
	facts, _ := s.Lookup(ctx, Kind(kind), name)
	for _, v := range Required(facts.Env) {
		names = append(names, v.Name)
	}
	return names
}

// pick returns the entry for exactly this package, preferring entries that are not deprecated and
// then the newest.
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

// lookupQueries returns the queries for a package: its name, all its distinctive words, single
// ones.
func lookupQueries(kind Kind, name string) (queries []string) {
	add := func(query string) {
		if query != "" && !slices.Contains(queries, query) {
			queries = append(queries, query)
		}
	}
	if kind == Remote {
		// Server names start with a reversed domain: mcp.example.com may be com.example/tool.
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
	words := distinctive(own)
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

// distinctive returns the words of a name that distinguish it from other servers.
func distinctive(name string) (words []string) {
	for _, word := range split(name) {
		if !slices.Contains([]string{"mcp", "server", "servers", "mcpserver", "tool", "tools", "api", "sdk", "js", "py", "node", "python", "docker"}, word) {
			words = append(words, word)
		}
	}
	return words
}
