//go:build linux

package realtest

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// brokenReplies are set-ups that answer, and whose answers are wrong whatever they say.
var brokenReplies = []brokenSetup{
	{
		name: "answers-another-id", cause: "protocol_mismatch/invalid_jsonrpc_message",
		build: func(b *bench) { b.replying("reply({ jsonrpc: '2.0', id: 'other', result: {} })") },
		told:  "Update the server",
	},
	{
		name: "initialize-without-version", cause: "protocol_mismatch/invalid_jsonrpc_message",
		build: func(b *bench) { b.replying("reply({ jsonrpc: '2.0', id, result: {} })") },
		told:  "Update the server",
	},
	{
		name: "tools-are-not-a-list", cause: "protocol_mismatch/invalid_jsonrpc_message", later: true,
		build: func(b *bench) { b.replying("reply({ jsonrpc: '2.0', id, result: { ...initialized, tools: {} } })") },
		told:  "Update the server",
	},
	{
		name: "messages-over-several-lines", cause: "protocol_mismatch/invalid_jsonrpc_message", cope: true,
		build: func(b *bench) {
			b.replying("console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { ...initialized, tools: [] } }, null, 2))")
		},
	},
	{
		name: "hangs-at-tools-list", cause: "timeout/no_answer", later: true,
		build: func(b *bench) {
			b.replying("if (method == 'initialize') reply({ jsonrpc: '2.0', id, result: initialized })")
			b.timeout = "1s"
		},
		tries: []string{"wait 3s", "wait 6s"},
		told:  "raise the timeout",
	},
	{
		name: "login-page", cause: "auth_failed/http_unauthorized",
		build: func(b *bench) {
			b.url(b.answering(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/login" {
					http.Redirect(w, r, "/login?next=%2Fmcp", http.StatusFound)
					return
				}
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = w.Write([]byte(`<!doctype html><title>ログイン</title><form method="post"><input name="u"><input type="password" name="p"></form>`)) // who asked may be gone
			}))
		},
		told: "--header-env Authorization=",
	},
	{
		name: "key-is-wrong", cause: "auth_failed/invalid_api_key",
		build: func(b *bench) {
			b.url(b.status(401, "text/plain; charset=utf-8", "アクセスできません"), "--header", "Authorization: Bearer "+canary)
		},
		told: "Check the token",
		also: keepsSecret,
	},
	{
		name: "certificate-of-another-host", cause: "tls_or_proxy/certificate_not_valid",
		build: func(b *bench) {
			b.url(b.secure(time.Now().Add(time.Hour), "notes.example"))
		},
		told: "host",
	},
	{
		name: "https-where-http-is", cause: "tls_or_proxy/tls_handshake_failed",
		build: func(b *bench) { b.url(strings.Replace(b.web.http.url(), "http:", "https:", 1)) },
		told:  "http://",
	},
	{
		name: "http-where-https-is", cause: "tls_or_proxy/tls_handshake_failed",
		build: func(b *bench) { b.url(b.onlyTLS()) },
		told:  "https://",
	},
	{
		name: "json-that-is-not-mcp", cause: "transport_mismatch/wrong_endpoint_path",
		build: func(b *bench) { b.url(b.status(200, "application/json", `{"status":"ok"}`)) },
		tries: []string{"endpoint /sse", "endpoint /mcp/", "endpoint /sse/"},
		told:  "path",
	},
	{
		name: "session-is-forgotten", cause: "session_lost/session_expired_no_reinit", later: true,
		build: func(b *bench) {
			b.url(b.front(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Header.Get("Mcp-Session-Id") != "" {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				next.ServeHTTP(w, r)
			}))
		},
		told: "session",
	},
}

// replying is a server that answers each request by this line of JavaScript.
func (b *bench) replying(line string) {
	b.t.Helper()
	b.onPath("node", b.node())
	b.command("node", b.file("project/server.mjs", `import { createInterface } from 'node:readline';
const initialized = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'notes', version: '1' } };
const reply = message => console.log(JSON.stringify(message));
createInterface({ input: process.stdin }).on('line', text => {
  const { id, method } = JSON.parse(text);
  if (id !== undefined) { `+line+` }
});
`))
}

// onlyTLS is the address of a server that answers everything else with an alert.
func (b *bench) onlyTLS() string {
	b.t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	certificates := s.TLS.Certificates
	s.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certificates})
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
				_ = conn.(*tls.Conn).Handshake() // fails: the other side does not use TLS
				conn.Close()
			}()
		}
	}()
	return "http://" + listener.Addr().String() + "/mcp"
}
