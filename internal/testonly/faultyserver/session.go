package faultyserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// session is what this generation has seen so far. Tests read it with the state tool, to check that
// a session was restored before traffic.
type session struct {
	mu          sync.Mutex
	Seen        []seen   `json:"seen"`
	Total       int      `json:"total"`
	Initialize  bool     `json:"initialize"`  // the server responded to initialize
	Initialized bool     `json:"initialized"` // the notification arrived
	Version     string   `json:"version,omitempty"`
	LogLevel    string   `json:"logLevel,omitempty"`
	Subscribed  []string `json:"subscriptions"`
	Listens     []listen `json:"listens"`
	Cancelled   []string `json:"cancelled"`
}

type seen struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
}

// listen is one open subscriptions/listen stream of the modern era.
type listen struct {
	ID     json.RawMessage `json:"id"`
	Tools  bool            `json:"toolsListChanged,omitempty"`
	Prompt bool            `json:"promptsListChanged,omitempty"`
	Res    bool            `json:"resourcesListChanged,omitempty"`
	URIs   []string        `json:"resourceSubscriptions,omitempty"`
}

const (
	maxSeen       = 4096 // bounds the memory that a storm of calls can use
	maxSeenParams = 4096
)

func newSessionState() *session {
	return &session{Seen: []seen{}, Subscribed: []string{}, Listens: []listen{}, Cancelled: []string{}}
}

func (x *session) saw(m *message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.Total++
	if len(x.Seen) >= maxSeen {
		return
	}
	one := seen{Method: m.Method, ID: m.ID, Params: m.Params}
	if len(one.Params) > maxSeenParams {
		one.Params = json.RawMessage(quote(fmt.Sprintf("%d bytes", len(m.Params))))
	}
	x.Seen = append(x.Seen, one)
}

// change runs f with the session locked.
func (x *session) change(f func(x *session)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f(x)
}

func (s *server) notified(m *message) {
	switch m.Method {
	case "notifications/initialized":
		s.session.change(func(x *session) { x.Initialized = true })
	case "notifications/cancelled":
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(m.Params, &p) == nil && p.ID != nil {
			s.session.change(func(x *session) { x.Cancelled = append(x.Cancelled, string(p.ID)) })
			s.inflight.cancel(p.ID)
		}
	}
}

func (s *server) setLevel(_ context.Context, m *message, _ bool) (string, *refusal) {
	var p struct {
		Level string `json:"level"`
	}
	if json.Unmarshal(m.Params, &p) != nil || p.Level == "" {
		return "", &refusal{code: -32602, text: "params.level is missing"}
	}
	s.session.change(func(x *session) { x.LogLevel = p.Level })
	return "{}", nil
}

func (s *server) subscribe(_ context.Context, m *message, _ bool) (string, *refusal) {
	uri, no := s.knownURI(m)
	if no != nil {
		return "", no
	}
	s.session.change(func(x *session) {
		if !slices.Contains(x.Subscribed, uri) {
			x.Subscribed = append(x.Subscribed, uri)
		}
	})
	return "{}", nil
}

func (s *server) unsubscribe(_ context.Context, m *message, _ bool) (string, *refusal) {
	uri, no := s.knownURI(m)
	if no != nil {
		return "", no
	}
	s.session.change(func(x *session) {
		x.Subscribed = slices.DeleteFunc(x.Subscribed, func(u string) bool { return u == uri })
	})
	return "{}", nil
}
