// Package modeltest provides scripted servers of language models. They speak the formats of OpenAI,
// Anthropic and Gemini, and fail as real ones do. The server of a test:
//
//	server := modeltest.OpenAI(t, modeltest.Status(429), modeltest.Says(`{"answer": 42}`))
//
// Each reply answers one request, and the last one all further requests.
package modeltest

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// Format is the API of a provider.
type Format string

// The formats.
const (
	OpenAIFormat    Format = "openai"
	AnthropicFormat Format = "anthropic"
	GeminiFormat    Format = "gemini"
)

// Server is a scripted server.
type Server struct {
	// URL is the base URL, as in GAUZE_MODEL_URL.
	URL string

	format  Format
	replies []Reply
	http    *http.Server
	closed  chan struct{}
	closing sync.Once

	mu       sync.Mutex
	requests []Request
}

// Request is a request that a server received.
type Request struct {
	Path   string
	Header http.Header
	Body   string
	Question
}

// Question is what a request asks.
type Question struct {
	Instructions string
	Text         string
	Schema       json.RawMessage // nil if it is only in the instructions
}

// TB is the part of testing.TB that a server uses.
type TB interface {
	Helper()
	Cleanup(func())
	Fatal(...any)
}

// OpenAI returns a server with the API of OpenAI.
func OpenAI(t TB, replies ...Reply) *Server { t.Helper(); return Start(t, OpenAIFormat, replies...) }

// Anthropic returns a server with the API of Anthropic.
func Anthropic(t TB, replies ...Reply) *Server {
	t.Helper()
	return Start(t, AnthropicFormat, replies...)
}

// Gemini returns a server with the API of Gemini.
func Gemini(t TB, replies ...Reply) *Server { t.Helper(); return Start(t, GeminiFormat, replies...) }

// Start returns a server that is closed at the end of the test.
func Start(t TB, format Format, replies ...Reply) *Server {
	t.Helper()
	s, err := Serve("127.0.0.1:0", format, replies...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Serve returns a server that listens on an address, such as 127.0.0.1:0. It must be closed.
func Serve(addr string, format Format, replies ...Reply) (*Server, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + listener.Addr().String(), format: format, replies: replies, closed: make(chan struct{})}
	if format == OpenAIFormat {
		s.URL += "/v1"
	}
	s.http = &http.Server{Handler: http.HandlerFunc(s.answer)}
	go s.http.Serve(listener) // returns when the server is closed
	return s, nil
}

// Close closes the server and all connections.
func (s *Server) Close() {
	s.closing.Do(func() { close(s.closed) })
	s.http.Close()
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Sent returns everything that was sent to the server, to search it for what must not be there.
func (s *Server) Sent() string {
	var b strings.Builder
	for _, r := range s.Requests() {
		b.WriteString(r.Path + "\n")
		r.Header.Write(&b)
		b.WriteString(r.Body + "\n")
	}
	return b.String()
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	reply := Says(`{}`)
	if n := len(s.replies); n > 0 {
		reply = s.replies[min(len(s.requests), n-1)]
	}
	q := s.format.question(body)
	s.requests = append(s.requests, Request{r.URL.Path, r.Header.Clone(), string(body), q})
	s.mu.Unlock()
	reply(&exchange{ResponseWriter: w, request: r, format: s.format, question: q, closed: s.closed})
}
