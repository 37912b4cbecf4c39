//go:build linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// A wrong path is corrected at the first request, and the client notices nothing.
func TestRunFindsTheEndpointOfAURL(t *testing.T) {
	t.Parallel()
	server := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	wrong := strings.TrimSuffix(server.URL(), "/mcp") + "/wrong"
	w := startRun(t, nil, "--url", wrong)
	fmt.Fprintln(w.in, hello)
	if line, _ := w.out.ReadString('\n'); !strings.Contains(line, `"result"`) {
		t.Errorf("%s", line)
	}
	w.in.Close()
	w.cmd.Wait()
	if said := w.stderr.String(); !strings.Contains(said, "gauze: healed the server: connects to "+server.URL()+" instead") {
		t.Errorf("%s", said)
	}
}

// With --no-heal the client gets the cause and what to do, and no other path is tried.
func TestARefusedServerIsExplained(t *testing.T) {
	t.Parallel()
	server := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	wrong := strings.TrimSuffix(server.URL(), "/mcp") + "/wrong"
	w := startRun(t, nil, "--no-heal", "--url", wrong)
	for range 2 { // every time
		fmt.Fprintln(w.in, hello)
		line, _ := w.out.ReadString('\n')
		for _, want := range []string{`"error"`, "http-refused", "HTTP 404", "Tell the user:"} {
			if !strings.Contains(line, want) {
				t.Errorf("no %s in %s", want, line)
			}
		}
	}
}

// The path is corrected for all sessions, including later ones.
func TestServeFindsTheEndpointForAllItsSessions(t *testing.T) {
	t.Parallel()
	server := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	wrong := strings.TrimSuffix(server.URL(), "/mcp") + "/wrong"
	s := startServe(t, "--url", wrong)
	for range 3 {
		if status, answer, _ := s.post("", hello); status != http.StatusOK || !strings.Contains(answer, `"result"`) {
			t.Errorf("%d %s", status, answer)
		}
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	said, _ := io.ReadAll(s.err)
	if strings.Count(string(said), "healed the server") != 1 {
		t.Errorf("%s", said)
	}
}

// A server that worked and responds with 404 for a while is not searched elsewhere: a different path is a different server.
func TestASessionIsNeverMovedToAnotherServer(t *testing.T) {
	t.Parallel()
	real, other := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true}), httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	var away atomic.Bool
	refused := make(chan struct{}, 100)
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := real.URL()
		switch {
		case r.URL.Path == "/mcp":
			to = other.URL()
		case r.URL.Path != "/api" || away.Load():
			if r.Method == http.MethodPost {
				select {
				case refused <- struct{}{}:
				default:
				}
			}
			http.NotFound(w, r)
			return
		}
		at, _ := url.Parse(to)
		r.URL.Path, at.Path = at.Path, ""
		httputil.NewSingleHostReverseProxy(at).ServeHTTP(w, r)
	}))
	t.Cleanup(gate.Close) // after gauze, which has a stream open there
	w := startRun(t, nil, "--url", gate.URL+"/api")
	fmt.Fprintln(w.in, hello)
	w.out.ReadString('\n')
	fmt.Fprintln(w.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	away.Store(true)
	fmt.Fprintln(w.in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"append","arguments":{"key":"k"}}}`)
	for range 6 { // more often than a doctor would wait for
		select {
		case <-refused:
		case <-time.After(patience.Limit()):
			t.Fatalf("it was not asked again\n%s", w.stderr.String())
		}
	}
	away.Store(false)
	line, _ := w.out.ReadString('\n')
	if !strings.Contains(line, `"id":2`) || other.Effects()["k"] != 0 || real.Effects()["k"] > 1 || strings.Contains(w.stderr.String(), "healed") {
		t.Errorf("%s\nthere %d, elsewhere %d\n%s", line, real.Effects()["k"], other.Effects()["k"], w.stderr.String())
	}
}

// Gauze waits for a gateway that does not reach its server yet.
func TestAGatewayThatWarmsUpIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	at, _ := url.Parse(server.URL())
	path := at.Path
	at.Path = ""
	var asked atomic.Int32
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= 6 { // more often than a request that broke is repeated
			http.Error(w, "warming up", http.StatusServiceUnavailable)
			return
		}
		r.URL.Path = path
		httputil.NewSingleHostReverseProxy(at).ServeHTTP(w, r)
	}))
	t.Cleanup(gate.Close)
	w := startRun(t, nil, "--url", gate.URL+"/mcp")
	fmt.Fprintln(w.in, hello)
	if line, _ := w.out.ReadString('\n'); !strings.Contains(line, `"result"`) {
		t.Errorf("%s\n%s", line, w.stderr.String())
	}
}
