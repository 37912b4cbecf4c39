package probe

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

func TestClimbsOverHTTP(t *testing.T) {
	for _, story := range []struct {
		says                     string
		config                   faultyhttp.Config
		era, protocol, transport string
	}{
		{"both eras", faultyhttp.Config{}, "legacy", wire.NewestLegacy, "http"},
		{"with sessions", faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true}, "legacy", wire.NewestLegacy, "http"},
		{"in plain JSON", faultyhttp.Config{Answers: faultyhttp.JSON, Stateful: true}, "legacy", wire.NewestLegacy, "http"},
		{"modern only", faultyhttp.Config{Era: faultyhttp.Modern}, "modern", wire.FirstModern, "http"},
		{"modern only, in plain JSON", faultyhttp.Config{Era: faultyhttp.Modern, Answers: faultyhttp.JSON}, "modern", wire.FirstModern, "http"},
		{"the old transport", faultyhttp.Config{Transport: faultyhttp.OldSSE}, "legacy", wire.NewestLegacy, "sse"},
	} {
		t.Run(story.says, func(t *testing.T) {
			server := faultyhttp.New(story.config)
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			a := Run(t.Context(), launch.Spec{URL: server.URL()}, patientOptions)
			if !a.OK() || a.Stage != upstream.Listed {
				t.Fatalf("%v %q", a.Stage, a.Stopped)
			}
			if f := a.Found; f.Era != story.era || f.Protocol != story.protocol || f.Transport != story.transport || f.Name != "faultyhttp" || len(f.Tools) == 0 {
				t.Errorf("%+v", f)
			}
			if len(a.HTTP) == 0 || a.HTTP[0].Method != http.MethodPost || a.HTTP[0].URL != server.URL() || a.HTTP[0].Status == 0 {
				t.Errorf("%+v", a.HTTP)
			}
			if a.HTTP[0].Session != story.config.Stateful {
				t.Errorf("a session was named: %v", a.HTTP[0].Session)
			}
			if left := server.Sessions(); story.config.Stateful && len(left) > 0 {
				t.Errorf("sessions left: %v", left)
			}
		})
	}
}

// firstResponse returns the first response that was recorded, or none.
func firstResponse(a Result) (first upstream.Response) {
	if len(a.HTTP) > 0 {
		first = a.HTTP[0]
	}
	return first
}

func TestKeepsWhatAServerAnswered(t *testing.T) {
	const secret = "hunter2-hunter2-hunter2"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("another host was contacted")
	}))
	defer elsewhere.Close()
	status := func(status int, kind, body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	for _, story := range []struct {
		says  string
		serve http.HandlerFunc
		stage upstream.Stage
		check func(Result, upstream.Response) bool
	}{
		{"who are you", status(401, "application/json", `{"error":"invalid_token `+secret+`"}`, "WWW-Authenticate", `Bearer resource_metadata="https://example.com/.well-known/oauth"`), upstream.Started,
			func(a Result, r upstream.Response) bool {
				return r.Status == 401 && strings.HasPrefix(r.Authenticate, "Bearer resource_metadata") && strings.Contains(string(r.Body), "invalid_token")
			}},
		{"not this way", status(405, "text/plain", "no", "Allow", "GET"), upstream.Started, func(a Result, r upstream.Response) bool {
			return r.Allow == "GET" && len(a.HTTP) == 2 && a.HTTP[1].Method == http.MethodGet // it may have been the old transport
		}},
		{"a page", status(200, "text/html; charset=utf-8", "<!doctype html><title>Sign in</title>"), upstream.Started, func(a Result, r upstream.Response) bool {
			return r.Status == 200 && strings.HasPrefix(r.ContentType, "text/html") && strings.Contains(string(r.Body), "Sign in")
		}},
		{"nothing here", status(404, "text/html", "<h1>Cannot POST /mcp</h1>"), upstream.Started, func(a Result, r upstream.Response) bool {
			return r.Status == 404 && strings.Contains(string(r.Body), "Cannot POST")
		}},
		{"somewhere else", status(307, "text/plain", "", "Location", elsewhere.URL+"/other?token=abc"), upstream.Started, func(a Result, r upstream.Response) bool {
			return r.Status == 307 && r.Location == elsewhere.URL+"/other" && len(a.HTTP) == 1
		}},
		{"to the login", status(302, "text/plain", "", "Location", elsewhere.URL+"/login?state=abc"), upstream.Started, func(a Result, r upstream.Response) bool {
			return r.Status == 302 && r.Location == elsewhere.URL+"/login"
		}},
		{"an endless page", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 64<<10)); err != nil {
					return
				}
			}
		}, upstream.Started, func(a Result, r upstream.Response) bool { return len(r.Body) == life.MaxTextBytes }},
		{"an error", status(200, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no database"}}`), upstream.Spoke, func(a Result, r upstream.Response) bool {
			return len(a.RPC) == 1 && a.RPC[0].Code == -32603 && a.RPC[0].Message == "no database"
		}},
		{"an error with its status", status(400, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Bad Request"}}`), upstream.Spoke, func(a Result, r upstream.Response) bool {
			return r.Status == 400 && len(a.RPC) == 1
		}},
		{"too many", status(429, "text/plain", "slow down", "Retry-After", "30"), upstream.Started, func(a Result, r upstream.Response) bool { return r.Status == 429 }},
		{"silence", func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() }, upstream.Started, func(a Result, r upstream.Response) bool {
			return a.Limit.Passed && a.Limit.Waiting == "initialize"
		}},
		{"half of an answer", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":"2.0",`)
			w.(http.Flusher).Flush()
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, upstream.Started, func(a Result, r upstream.Response) bool {
			return a.Limit.Passed && string(r.Body) == `{"jsonrpc":"2.0",`
		}},
		{"hung up", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, upstream.Started, func(a Result, r upstream.Response) bool {
			return r.Status == 0 && r.Failed != "" && r.Errno == "ECONNRESET" && a.Errno == r.Errno
		}},
	} {
		t.Run(story.says, func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				story.serve(w, r)
			}))
			defer server.Close()
			spec := launch.Spec{URL: server.URL + "/mcp?key=" + secret, Header: []launch.Header{{Name: "Authorization", Value: "Bearer " + secret, Source: "a test"}}}
			reached := func(Result) bool { return true }
			o := patientOptions
			if story.says == "silence" || strings.HasPrefix(story.says, "half") {
				o = hastyOptions
				reached = func(a Result) bool { return a.Stage >= story.stage && story.check(a, firstResponse(a)) }
			}
			before := countHeads()
			a := until(o, reached, func(o Options) Result { return Run(t.Context(), spec, o) })
			if len(a.HTTP) == 0 && !a.Limit.Passed {
				t.Fatalf("nothing was recorded: %q", a.Stopped)
			}
			first := firstResponse(a)
			if len(a.HTTP) > 0 && first.URL != server.URL+"/mcp" {
				t.Errorf("its address is %s", first.URL)
			}
			if a.OK() || a.Stage != story.stage || !story.check(a, first) {
				t.Errorf("%v %q %+v", a.Stage, a.Stopped, a.HTTP)
			}
			if all := fmt.Sprintf("%s %+v", a.Stopped, a.HTTP); strings.Contains(all, secret) {
				t.Errorf("a secret is shown: %s", all)
			}
			for _, r := range a.HTTP {
				if strings.Contains(string(r.Body), secret) || len(r.Body) > life.MaxTextBytes {
					t.Errorf("%d bytes, or a secret, in %q", len(r.Body), r.Body)
				}
			}
			server.CloseClientConnections()
			before.compare(t)
		})
	}
}

func TestSaysWhoCannotBeReached(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := taken.Addr().String()
	taken.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it is told of every handshake that fails
	secure.StartTLS()
	defer secure.Close()
	at, _ := url.Parse(secure.URL)
	for _, story := range []struct {
		says, url string
		stage     upstream.Stage
		check     func(Result) bool
	}{
		{"nobody listens", "http://" + free + "/mcp", upstream.Located, func(a Result) bool { return a.Errno == "ECONNREFUSED" && a.Spawn != nil }},
		{"a certificate of nobody", secure.URL, upstream.Started, func(a Result) bool {
			return errors.As(a.Spawn, new(*tls.CertificateVerificationError)) && strings.Contains(a.HTTP[0].Failed, "certificate")
		}},
		{"TLS spoken to plainly", "http://" + at.Host, upstream.Started, func(a Result) bool { return a.HTTP[0].Status == 400 }},
		{"no URL at all", "localhost:8000/mcp", upstream.Nowhere, func(a Result) bool { return a.Spawn != nil && len(a.HTTP) == 0 }},
	} {
		t.Run(story.says, func(t *testing.T) {
			a := run(t, t.Context(), launch.Spec{URL: story.url}, patientOptions)
			if a.OK() || a.Stage != story.stage || !a.Remote || !story.check(a) {
				t.Errorf("%v %q %s %+v", a.Stage, a.Stopped, a.Errno, a.HTTP)
			}
		})
	}
}

func TestOverHTTPIsCancelled(t *testing.T) {
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := contextUntil(t, asked)
	defer cancel()
	began := time.Now()
	a := Run(ctx, launch.Spec{URL: server.URL}, patientOptions)
	if a.OK() || a.Limit.Passed || a.Stage != upstream.Started || time.Since(began) >= patientOptions.Timeout {
		t.Errorf("%v %q %+v after %v", a.Stage, a.Stopped, a.Limit, time.Since(began))
	}
}

// What somebody says who does not speak HTTP is told, also if it comes while
// the request is still being written.
func TestSaysWhoDoesNotSpeakHTTP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				conn.Read(make([]byte, 1)) // not all of it
				io.WriteString(conn, "-ERR unknown command\r\n")
				io.Copy(io.Discard, conn)
			}()
		}
	}()
	for range 20 {
		a := Run(t.Context(), launch.Spec{URL: "http://" + listener.Addr().String() + "/mcp"}, patientOptions)
		if len(a.HTTP) == 0 || a.HTTP[0].Failed != `malformed HTTP response "-ERR unknown command"` {
			t.Fatalf("%+v, %s", a.HTTP, a.Stopped)
		}
	}
}
