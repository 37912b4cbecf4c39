// Package registry finds out about a server before it runs: its package, how to start it, and the
// variables it needs. It queries a registry with the API of the official MCP registry, or only its
// cache. Responses are untrusted: entry.go is the one place where they are validated.
package registry

import (
	"context"
	"net/http"
	"time"
)

// Official is the address of the public MCP registry.
const Official = "https://registry.modelcontextprotocol.io"

// Source is a registry and its cache. The zero value is offline: it only reads the cache.
type Source struct {
	URL    string       // default Official
	Dir    string       // cache directory; default gauze/registry in the user's cache directory
	HTTP   *http.Client // only its Transport and Timeout are used; nil for the defaults
	Online bool         // allows requests to the registry
}

// Found is the result of a search.
type Found struct {
	Servers []Server
	Kept    time.Time // if not zero, the result is from the cache, whose oldest response is from this time
	Trouble error     // why a request to the registry failed
}

// Limits of one search. The registry matches a string within names and returns a hundred servers
// per page.
const (
	maxQueries = 4
	maxPages   = 3
)

// Search finds servers by words, best first. It sends only the words.
func (s Source) Search(ctx context.Context, words []string, limit int) (Found, error) {
	words = plainWords(words)
	var found Found
	var pool []Server
	if s.Online {
		for _, query := range searchQueries(words) {
			servers, err := s.named(ctx, query)
			pool = append(pool, servers...)
			if err != nil {
				found.Trouble = err
				break // the next query would fail in the same way
			}
		}
	}
	if ctx.Err() != nil {
		return Found{}, ctx.Err()
	}
	if !s.Online || found.Trouble != nil && len(pool) == 0 {
		pool, found.Kept = s.allKept()
	}
	found.Servers = rank(newest(pool), words)
	if len(found.Servers) == 0 && found.Trouble != nil {
		return Found{}, found.Trouble
	}
	found.Servers = found.Servers[:max(0, min(limit, len(found.Servers)))]
	return found, nil
}

// named returns the servers whose name contains a text.
func (s Source) named(ctx context.Context, text string) (servers []Server, err error) {
	cursor := ""
	for range maxPages {
		answer, err := s.page(ctx, listPath(text, cursor))
		if err != nil {
			return servers, err
		}
		servers = append(servers, answer.servers...)
		if cursor = answer.next; cursor == "" {
			break
		}
	}
	return servers, nil
}

// page returns one response, from the cache if it is recent enough.
func (s Source) page(ctx context.Context, path string) (page, error) {
	base, err := s.base()
	if err != nil {
		return page{}, err
	}
	address := base + path
	old, known := s.kept(address)
	if known && old.fresh(time.Now()) {
		return readPage(old.Answer)
	}
	body, etag, err := s.ask(ctx, address, old.ETag)
	switch {
	case err != nil:
		return page{}, err
	case body == nil: // the cached response is still current
		s.renew(address)
		return readPage(old.Answer)
	}
	answer, err := readPage(body)
	if err == nil {
		s.keep(kept{URL: address, ETag: etag, Answer: body})
	}
	return answer, err
}
