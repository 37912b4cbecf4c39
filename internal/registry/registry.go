// Package registry says what is known about a server before it runs: which package it is, how that is started, which
// variables it needs. It asks a registry that speaks the official MCP registry's API, or only reads what was answered
// before. Everything a registry says is foreign text: entry.go is the one gate it comes through.
package registry

import (
	"context"
	"net/http"
	"time"
)

// Official is the address of the public MCP registry.
const Official = "https://registry.modelcontextprotocol.io"

// Source is a registry and what it answered before. The zero value asks nobody: it only reads what is kept.
type Source struct {
	URL    string       // empty: Official
	Dir    string       // where answers are kept; empty: gauze/registry in the user's cache directory
	HTTP   *http.Client // its Transport and Timeout are used, nothing else of it; nil: the usual ones
	Online bool         // the network may be asked
}

// Found is the answer to a search.
type Found struct {
	Servers []Server
	Kept    time.Time // not zero: from kept answers alone, the oldest of them this old
	Trouble error     // why the registry could not be asked, though it should have been
}

// Bounds of one search. The registry looks for a text within names, a hundred of them at a time.
const (
	maxQueries = 4
	maxPages   = 3
)

// Search finds servers by words, best first. It sends the words and nothing else.
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
				break // the next query would fail as this one did
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

// named are the servers whose name contains a text, page by page.
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

// page is one answer: kept within the last day, or asked for.
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
	case body == nil: // it is still what we have
		s.renew(address)
		return readPage(old.Answer)
	}
	answer, err := readPage(body)
	if err == nil {
		s.keep(kept{URL: address, ETag: etag, Answer: body})
	}
	return answer, err
}
