//go:build linux

package realtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

// brokenAddresses are set-ups that name an address where the server is not, or is not reached, or says no.
var brokenAddresses = []brokenSetup{
	{
		name: "address-as-command", cause: "transport_mismatch/url_in_stdio_only_client",
		build: func(b *bench) { b.command(b.web.http.url()) },
		heals: []string{"command-to-url"},
	},
	{
		name: "path-left-out", cause: "transport_mismatch/wrong_endpoint_path",
		build: func(b *bench) { b.url(at(b.web.http, "")) },
		heals: []string{"endpoint /mcp"},
	},
	{
		name: "path-of-api", cause: "transport_mismatch/wrong_endpoint_path",
		build: func(b *bench) { b.url(at(b.web.http, "/api/v1")) },
		heals: []string{"endpoint /mcp"},
	},
	{
		name: "sse-path-of-streamable", cause: "transport_mismatch/sse_vs_streamable",
		build: func(b *bench) { b.url(at(b.web.http, "/sse")) },
		heals: []string{"endpoint /mcp"},
	},
	{
		name: "mcp-path-of-sse", cause: "transport_mismatch/sse_vs_streamable",
		build: func(b *bench) { b.url(at(b.web.sse, "/mcp")) },
		heals: []string{"endpoint /sse"},
	},
	{
		name: "moved-on-same-host", cause: "transport_mismatch/trailing_slash_redirect",
		build: func(b *bench) {
			b.url(b.front(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if strings.HasSuffix(r.URL.Path, "/") {
					r.URL.Path = strings.TrimSuffix(r.URL.Path, "/")
					next.ServeHTTP(w, r)
					return
				}
				http.Redirect(w, r, r.URL.Path+"/", http.StatusMovedPermanently)
			}))
		},
		heals: []string{"endpoint /mcp/"},
	},
	{
		name: "moved-to-other-host", cause: "transport_mismatch/trailing_slash_redirect",
		build: func(b *bench) {
			b.url(b.answering(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, b.web.http.url(), http.StatusTemporaryRedirect)
			}))
		},
		told: "If the server's documentation confirms the new address",
	},
	{
		name: "slash-redirect", cause: "transport_mismatch/trailing_slash_redirect", cope: true,
		build: func(b *bench) {
			b.url(b.front(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if strings.HasSuffix(r.URL.Path, "/") {
					r.URL.Path = strings.TrimSuffix(r.URL.Path, "/")
					next.ServeHTTP(w, r)
					return
				}
				http.Redirect(w, r, r.URL.Path+"/", http.StatusTemporaryRedirect)
			}))
		},
	},
	{
		name: "localhost-is-ipv4-only", cause: "connection_refused/local_http_server_not_running",
		build: func(b *bench) {
			u, _ := url.Parse(b.front(func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }))
			b.url("http://[::1]:" + u.Port() + "/mcp")
		},
		heals: []string{"local 127.0.0.1"},
	},
	{
		name: "nothing-listens", cause: "connection_refused/local_http_server_not_running",
		build: func(b *bench) { b.url(fmt.Sprintf("http://127.0.0.1:%d/mcp", freePort(b.t))) },
		told:  "Start that server first",
	},
	{
		name: "status-401", cause: "auth_failed/http_unauthorized",
		build: func(b *bench) { b.url(b.status(401, "application/json", `{"error":"unauthorized"}`)) },
		told:  "--header-env Authorization=",
	},
	{
		name: "status-401-oauth", cause: "auth_failed/oauth_not_completed",
		build: func(b *bench) {
			b.url(b.answering(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="http://`+r.Host+`/.well-known/oauth-protected-resource"`)
				w.WriteHeader(http.StatusUnauthorized)
			}))
		},
		told: "gauze login",
	},
	{
		name: "header-with-reference", cause: "missing_env_var/env_placeholder_not_expanded",
		build: func(b *bench) {
			b.env = append(b.env, "MY_KEY="+canary)
			b.url(b.front(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Header.Get("Authorization") != "Bearer "+canary {
					http.Error(w, "invalid token", http.StatusUnauthorized)
					return
				}
				next.ServeHTTP(w, r)
			}), "--header", "Authorization: Bearer ${MY_KEY}")
		},
		told: "--header-env Authorization=", also: keepsSecret,
	},
	{
		name: "status-403", cause: "auth_failed/http_forbidden",
		build: func(b *bench) { b.url(b.status(403, "application/json", `{"error":"forbidden"}`)) },
		told:  "--header-env Authorization=",
	},
	{
		name: "status-404", cause: "transport_mismatch/wrong_endpoint_path",
		build: func(b *bench) { b.url(b.status(404, "text/plain", "404 page not found")) },
		tries: []string{"endpoint /sse", "endpoint /mcp/", "endpoint /sse/"},
		told:  "path",
	},
	{
		name: "status-405", cause: "transport_mismatch/sse_vs_streamable",
		build: func(b *bench) { b.url(b.status(405, "text/plain", "Method Not Allowed")) },
		told:  "Use the path",
		tries: []string{"endpoint /sse", "endpoint /mcp/", "endpoint /sse/"},
	},
	{
		name: "status-406", cause: "protocol_mismatch/accept_header_incomplete",
		build: func(b *bench) {
			b.url(b.status(406, "application/json", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Not Acceptable: Client must accept both application/json and text/event-stream"},"id":null}`))
		},
		told: "Check the address",
	},
	{
		name: "status-429", cause: "rate_limited/rate_limit",
		build: func(b *bench) { b.url(b.status(429, "application/json", `{"error":"too many requests"}`)) },
		told:  "Wait",
	},
	{
		name: "status-500", cause: "crashed/server_error",
		build: func(b *bench) { b.url(b.status(500, "text/plain", "Internal Server Error")) },
		told:  "the server's log",
	},
	{
		name: "status-503", cause: "dns_or_network/remote_outage",
		build: func(b *bench) { b.url(b.status(503, "text/html", "<html><body>Service Unavailable</body></html>")) },
		told:  "Wait and try again",
	},
	{
		name: "web-page", cause: "transport_mismatch/wrong_endpoint_path",
		build: func(b *bench) {
			b.url(b.status(200, "text/html; charset=utf-8", "<!doctype html><html><title>Welcome</title></html>"))
		},
		tries: []string{"endpoint /sse", "endpoint /mcp/", "endpoint /sse/"},
		told:  "path",
	},
	{
		name: "port-of-other-service", cause: "port_in_use/wrong_service_on_port",
		build: func(b *bench) { b.url(redis(b)) },
		told:  "stop process",
	},
	{
		name: "private-authority", cause: "tls_or_proxy/private_ca_not_trusted",
		build: func(b *bench) { b.url(b.secure(time.Now().Add(time.Hour))) },
		told:  "SSL_CERT_FILE",
	},
	{
		name: "expired-certificate", cause: "tls_or_proxy/certificate_not_valid",
		build: func(b *bench) { b.url(b.secure(time.Now().Add(-time.Hour))) },
		told:  "renewed",
	},
	{
		name: "no-such-host", cause: "dns_or_network/hostname_wrong",
		build: func(b *bench) { b.url("https://mcp.example.invalid/mcp") },
		told:  "mcp.example.invalid",
	},
	{
		name: "proxy-is-down", cause: "tls_or_proxy/proxy_env_breaks",
		build: func(b *bench) {
			b.env = append(b.env, fmt.Sprintf("HTTP_PROXY=http://127.0.0.1:%d", freePort(b.t)))
			b.url("http://mcp.example.invalid/mcp")
		},
		told: `"NO_PROXY": "mcp.example.invalid"`,
	},
}

// at is another path of a real server.
func at(w *webServer, path string) string { return fmt.Sprintf("http://127.0.0.1:%d%s", w.port, path) }

// answering is the address of a server of our own.
func (b *bench) answering(answer http.HandlerFunc) string {
	b.t.Helper()
	s := httptest.NewServer(answer)
	b.t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

func (b *bench) status(code int, kind, body string) string {
	return b.answering(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body) // who asked may be gone
	})
}

// front is something before the real server.
func (b *bench) front(handle func(w http.ResponseWriter, r *http.Request, next http.Handler)) string {
	b.t.Helper()
	to, err := url.Parse(at(b.web.http, ""))
	if err != nil {
		b.t.Fatal(err)
	}
	next := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0)}
	return b.answering(func(w http.ResponseWriter, r *http.Request) { handle(w, r, next) })
}

// redis is a service that is no web server: it reads lines, and has never heard of POST.
func redis(b *bench) string {
	b.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 4096)); err == nil {
					_, _ = io.WriteString(conn, "-ERR unknown command 'POST', with args beginning with: '/mcp' 'HTTP/1.1'\r\n") // who asked may be gone
					_, _ = io.Copy(io.Discard, conn)                                                                            // until it goes
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String() + "/mcp"
}

// secure is the address of a server whose certificate nobody has signed but itself, for this machine or for other hosts.
func (b *bench) secure(until time.Time, hosts ...string) string {
	b.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Our Own Authority"}, NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	if len(hosts) > 0 {
		about.DNSNames, about.IPAddresses = hosts, nil
	}
	certificate, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		b.t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	b.t.Cleanup(s.Close)
	return s.URL + "/mcp"
}
