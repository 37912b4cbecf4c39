package faultyhttp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// session is the state of one client. The state tool returns it, so that a test can check that a
// session was restored before traffic.
type session struct {
	id      string
	version string
	// standalone is the GET stream.
	standalone *stream

	mu          sync.Mutex
	initialized bool
	seen        []string
	level       string
	subscribed  []string
	streams     map[string]*stream // streams that can be resumed
	order       []string           // the keys of streams, oldest first
	count       int
	asks        map[string]chan string
	asked       int
	calls       map[string]context.CancelFunc
	reader      context.CancelFunc // ends the open GET stream when a new one replaces it
}

const (
	maxSeen    = 4096 // bounds the memory that a storm of calls can use
	maxStreams = 1024
)

// newSession returns a session that is not registered yet.
func (s *Server) newSession(id, version string) *session {
	x := &session{id: id, version: version, streams: map[string]*stream{}, asks: map[string]chan string{}, calls: map[string]context.CancelFunc{}}
	x.standalone = newStream("")
	if s.cfg.EventIDs && id != "" && s.cfg.Transport == Streamable {
		x.standalone = x.openStream()
	}
	return x
}

func newID() string { return rand.Text() }

func (s *Server) findSession(g *generation, id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return g.sessions[id]
}

func (s *Server) endSession(g *generation, x *session) {
	s.mu.Lock()
	delete(g.sessions, x.id)
	s.mu.Unlock()
	x.standalone.end()
}

func (x *session) saw(method string) {
	if method == "" {
		method = "(response)"
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.seen) < maxSeen {
		x.seen = append(x.seen, method)
	}
}

// openStream returns a stream that is kept to be resumed. The oldest streams are forgotten.
func (x *session) openStream() *stream {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.count++
	t := newStream(fmt.Sprintf("s%d", x.count))
	x.streams[t.id] = t
	x.order = append(x.order, t.id)
	if len(x.order) > maxStreams {
		delete(x.streams, x.order[1]) // the first is the GET stream
		x.order = slices.Delete(x.order, 1, 2)
	}
	return t
}

func (x *session) findStream(id string) *stream {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.streams[id]
}

// takeOver makes this the session's only GET stream and ends the previous one.
func (x *session) takeOver(cancel context.CancelFunc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.reader != nil {
		x.reader()
	}
	x.reader = cancel
}

// ask registers a request to the client. Ids count from 1, as those of clients do, so that they
// collide on purpose.
func (x *session) ask() (id string, answer chan string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked++
	id, answer = fmt.Sprint(x.asked), make(chan string, 1)
	x.asks[id] = answer
	return id, answer
}

// resolve passes the client's response to the tool that is waiting for it, if any.
func (x *session) resolve(m *message) {
	x.mu.Lock()
	answer := x.asks[string(m.ID)]
	delete(x.asks, string(m.ID))
	x.mu.Unlock()
	if answer == nil {
		return
	}
	if m.Error != nil {
		answer <- `{"error":` + string(m.Error) + `}`
		return
	}
	answer <- `{"result":` + string(m.Result) + `}`
}

// notified handles a notification. A cancellation counts only within a session, because other
// clients use the same ids.
func (x *session) notified(m *message) {
	switch m.Method {
	case "notifications/initialized":
		x.mu.Lock()
		x.initialized = true
		x.mu.Unlock()
	case "notifications/cancelled":
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(m.Params, &p)
		x.mu.Lock()
		cancel := x.calls[string(p.ID)]
		x.mu.Unlock()
		if cancel != nil && x.id != "" {
			cancel()
		}
	}
}

func (x *session) began(id string, cancel context.CancelFunc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls[id] = cancel
}

func (x *session) finished(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.calls, id)
}
