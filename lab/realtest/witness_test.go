//go:build linux

package realtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// witness stands between one client and what it speaks to over HTTP, passes everything on, and counts.
type witness struct {
	url string

	mu       sync.Mutex
	methods  map[string]int           // of the messages the client sent
	sessions map[string]bool          // session ids the client was given, or used
	awaited  map[string]chan struct{} // texts of messages that somebody waits for
}

func witnessTo(t *testing.T, address string) *witness {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{methods: map[string]int{}, sessions: map[string]bool{}, awaited: map[string]chan struct{}{}}
	pass := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.Host = "" // the target's: gauze takes no other
		},
		ModifyResponse: func(r *http.Response) error {
			w.saw(r.Header)
			return nil
		},
		Transport:     ownHTTP(t).Transport,
		FlushInterval: -1, // streams
		ErrorLog:      log.New(io.Discard, "", 0),
		// The client sees a broken connection, as it would without us.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // whole: the proxy closes it when the first byte of the answer comes
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.saw(r.Header)
		w.count(body)
		pass.ServeHTTP(out, r)
	}))
	server.Config.ErrorLog = pass.ErrorLog
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections) // before Close, which waits for streams
	w.url = server.URL + target.Path
	return w
}

func (w *witness) saw(header http.Header) {
	if id := header.Get("Mcp-Session-Id"); id != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sessions[id] = true
	}
}

func (w *witness) count(body []byte) {
	var message struct{ Method string }
	if json.Unmarshal(body, &message) != nil {
		return // GET and DELETE have no body
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.methods[message.Method]++
	for text, seen := range w.awaited {
		if strings.Contains(string(body), text) {
			close(seen)
			delete(w.awaited, text)
		}
	}
}

// passes returns a channel that is closed when the client sends a message with a text in it.
func (w *witness) passes(text string) <-chan struct{} {
	seen := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.awaited[text] = seen
	return seen
}

// initialized says how often the client did.
func (w *witness) initialized() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.methods["initialize"]
}

// oneSession reports an error if the client had to begin another session, or was given another id.
func (w *witness) oneSession() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n, ids := w.methods["initialize"], len(w.sessions); n != 1 || ids != 1 {
		return fmt.Errorf("it initialized %d times and saw %d session ids, want 1 and 1", n, ids)
	}
	return nil
}

// noSession reports an error if the client speaks of sessions, which the modern era has none of.
func (w *witness) noSession() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n, ids := w.methods["initialize"], len(w.sessions); n != 0 || ids != 0 {
		return fmt.Errorf("it initialized %d times and saw %d session ids, want none", n, ids)
	}
	return nil
}
