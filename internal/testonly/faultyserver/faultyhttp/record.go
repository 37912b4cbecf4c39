package faultyhttp

import (
	"context"
	"net/http"
	"slices"
)

// Request is one HTTP request whose body was read.
type Request struct {
	Verb    string // POST, GET, DELETE
	Path    string
	Header  http.Header
	Session string // Mcp-Session-Id, or the session of the old transport's endpoint
	Body    []byte

	Method string // of the JSON-RPC message; empty for a response
	Tool   string
	ID     string // raw JSON
}

// record keeps the request and wakes Await.
func (s *Server) record(r *http.Request, body []byte, m *message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) >= s.cfg.Keep {
		return
	}
	one := Request{Verb: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Session: r.Header.Get(headerSession), Body: body}
	if s.cfg.Transport == OldSSE {
		one.Session = r.URL.Query().Get("session")
	}
	if m != nil {
		one.Method, one.Tool, one.ID = m.Method, m.tool(), string(m.ID)
	}
	s.requests = append(s.requests, one)
	close(s.recorded)
	s.recorded = make(chan struct{})
}

// Requests returns all requests so far, including rejected ones.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Await returns the first request, past or future, for which f returns true.
func (s *Server) Await(ctx context.Context, f func(Request) bool) (Request, error) {
	for from := 0; ; {
		s.mu.Lock()
		fresh, recorded := s.requests[from:], s.recorded
		s.mu.Unlock()
		for _, r := range fresh {
			if f(r) {
				return r, nil
			}
		}
		from += len(fresh)
		select {
		case <-recorded:
		case <-ctx.Done():
			return Request{}, ctx.Err()
		}
	}
}

// Initializes returns the number of initialize requests that succeeded so far.
func (s *Server) Initializes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initializes
}

// Sessions returns the ids of the current sessions.
func (s *Server) Sessions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := []string{}
	if s.gen != nil {
		for id := range s.gen.sessions {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
