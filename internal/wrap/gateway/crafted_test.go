package gateway

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/access/httpguard"
)

// crafted is a request that must not reach a server.
type crafted struct {
	name   string
	text   string // HOST is our address, PORT its port; \n is written as CRLF in the head
	status int    // 0: the connection is closed without an answer, or anything from 400 up
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	usual      = "Content-Type: application/json\nAccept: application/json, text/event-stream\n"
)

// posted is a POST of a body with these header lines instead of the usual ones.
func posted(head, body string) string {
	return "POST /mcp HTTP/1.1\n" + head + fmt.Sprintf("Content-Length: %d\n\n", len(body)) + body
}

// to is a well-formed initialize with these further header lines.
func to(head string) string { return posted(head+usual, initialize) }

// saying is a well-formed request with this body.
func saying(body string) string { return posted("Host: HOST\n"+usual, body) }

// modernly is a request with the headers of a modern tools/call.
func modernly(body string) string {
	return posted("Host: HOST\n"+usual+"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: append\n", body)
}

const append1 = `"name":"append","arguments":{"key":"k","value":"v"}`

var craftedRequests = []crafted{
	// Host
	{"a foreign host", to("Host: evil.example.com\n"), 403},
	{"a foreign host with our port", to("Host: evil.example.com:PORT\n"), 403},
	{"our host with another port", to("Host: 127.0.0.1:1\n"), 403},
	{"our host without its port", to("Host: 127.0.0.1\n"), 403},
	{"localhost with a trailing dot", to("Host: localhost.:PORT\n"), 403},
	{"localhost as a prefix", to("Host: localhost.evil.example.com:PORT\n"), 403},
	{"localhost as a suffix", to("Host: evil-localhost:PORT\n"), 403},
	{"userinfo in the host", to("Host: HOST@evil.example.com\n"), 0},
	{"our host behind userinfo", to("Host: evil@HOST\n"), 0},
	{"a long spelling of ::1", to("Host: [0:0:0:0:0:0:0:1]:PORT\n"), 403},
	{"a mapped address", to("Host: [::ffff:127.0.0.1]:PORT\n"), 403},
	{"::1 with a zone", to("Host: [::1%25lo]:PORT\n"), 403},
	{"::1 without brackets", to("Host: ::1:PORT\n"), 0},
	{"127.1", to("Host: 127.1:PORT\n"), 403},
	{"a decimal address", to("Host: 2130706433:PORT\n"), 403},
	{"an octal address", to("Host: 0177.0.0.1:PORT\n"), 403},
	{"all addresses", to("Host: 0.0.0.0:PORT\n"), 403},
	{"an empty host", to("Host: \n"), 403},
	{"no host", to(""), 400},
	{"two hosts", to("Host: HOST\nHost: evil.example.com\n"), 400},
	{"two equal hosts", to("Host: HOST\nHost: HOST\n"), 400},
	{"a host in front of the colon with a space", to("Host : HOST\n"), 0},
	{"a host with a list", to("Host: HOST, evil.example.com\n"), 0},
	{"an absolute target", "POST http://evil.example.com/mcp HTTP/1.1\nHost: HOST\n" + usual + "Content-Length: 2\n\n{}", 400},
	{"an absolute target with our host", "POST http://HOST/mcp HTTP/1.1\nHost: evil.example.com\n" + usual + "Content-Length: 2\n\n{}", 400},
	{"an authority as target", "CONNECT HOST HTTP/1.1\nHost: HOST\n\n", 400},
	{"a star as target", "OPTIONS * HTTP/1.1\nHost: HOST\n\n", 400},
	{"X-Forwarded-Host does not help", to("Host: evil.example.com\nX-Forwarded-Host: HOST\n"), 403},

	// Origin
	{"a foreign origin", to("Host: HOST\nOrigin: https://evil.example.com\n"), 403},
	{"the origin null", to("Host: HOST\nOrigin: null\n"), 403},
	{"an empty origin", to("Host: HOST\nOrigin: \n"), 403},
	{"our host on another port", to("Host: HOST\nOrigin: http://127.0.0.1:1\n"), 403},
	{"our host as userinfo", to("Host: HOST\nOrigin: http://HOST@evil.example.com\n"), 403},
	{"our host as a prefix", to("Host: HOST\nOrigin: http://HOST.evil.example.com\n"), 403},
	{"an origin with a path", to("Host: HOST\nOrigin: http://HOST/\n"), 403},
	{"an origin of a file", to("Host: HOST\nOrigin: file://\n"), 403},
	{"an origin of an extension", to("Host: HOST\nOrigin: chrome-extension://HOST\n"), 403},
	{"a trailing dot", to("Host: HOST\nOrigin: http://localhost.:PORT\n"), 403},
	{"two origins", to("Host: HOST\nOrigin: http://HOST\nOrigin: https://evil.example.com\n"), 403},
	{"a list of origins", to("Host: HOST\nOrigin: http://HOST, https://evil.example.com\n"), 403},
	{"a page elsewhere, without an origin", to("Host: HOST\nSec-Fetch-Site: cross-site\n"), 403},
	{"a page of another port", to("Host: HOST\nSec-Fetch-Site: same-site\n"), 403},
	{"a cross-site request in disguise", to("Host: HOST\nOrigin: http://HOST\nSec-Fetch-Site: cross-site\n"), 403},
	{"a foreign origin asks for health", "GET /healthz HTTP/1.1\nHost: HOST\nOrigin: https://evil.example.com\n\n", 403},
	{"a foreign host asks for readiness", "GET /readyz HTTP/1.1\nHost: evil.example.com\n\n", 403},
	{"a foreign host asks for nothing", "GET /nothing HTTP/1.1\nHost: evil.example.com\n\n", 403},

	// Methods and paths
	{"PUT", "PUT /mcp HTTP/1.1\nHost: HOST\n" + usual + "Content-Length: 2\n\n{}", 405},
	{"OPTIONS", "OPTIONS /mcp HTTP/1.1\nHost: HOST\n\n", 405},
	{"HEAD", "HEAD /mcp HTTP/1.1\nHost: HOST\n\n", 405},
	{"TRACE", "TRACE /mcp HTTP/1.1\nHost: HOST\n\n", 405},
	{"a method in lower case", "post /mcp HTTP/1.1\nHost: HOST\n" + usual + "Content-Length: 2\n\n{}", 405},
	{"a POST to health", "POST /healthz HTTP/1.1\nHost: HOST\n" + usual + "Content-Length: 2\n\n{}", 405},
	{"a method override", "GET /mcp HTTP/1.1\nHost: HOST\nX-HTTP-Method-Override: POST\n\n", 400},
	{"a slash behind the path", strings.Replace(to("Host: HOST\n"), "/mcp", "/mcp/", 1), 404},
	{"two slashes", strings.Replace(to("Host: HOST\n"), "/mcp", "//mcp", 1), 404},
	{"dots in the path", strings.Replace(to("Host: HOST\n"), "/mcp", "/healthz/../mcp", 1), 404},
	{"an encoded path", strings.Replace(to("Host: HOST\n"), "/mcp", "/%6dcp", 1), 404},
	{"an encoded slash", strings.Replace(to("Host: HOST\n"), "/mcp", "/%2fmcp", 1), 404},
	{"a path parameter", strings.Replace(to("Host: HOST\n"), "/mcp", "/mcp;a=b", 1), 404},
	{"a zero byte in the path", strings.Replace(to("Host: HOST\n"), "/mcp", "/mcp%00", 1), 404},
	{"another case of the path", strings.Replace(to("Host: HOST\n"), "/mcp", "/MCP", 1), 404},
	{"a backslash", strings.Replace(to("Host: HOST\n"), "/mcp", "\\mcp", 1), 0},

	// Form
	{"text", posted("Host: HOST\nContent-Type: text/plain\nAccept: */*\n", initialize), 415},
	{"a form", posted("Host: HOST\nContent-Type: application/x-www-form-urlencoded\nAccept: */*\n", initialize), 415},
	{"no content type", posted("Host: HOST\nAccept: */*\n", initialize), 415},
	{"two content types", posted("Host: HOST\nContent-Type: application/json\nContent-Type: text/plain\nAccept: */*\n", initialize), 415},
	{"a content type that looks like ours", posted("Host: HOST\nContent-Type: text/plain;application/json\nAccept: */*\n", initialize), 415},
	{"an encoded body", posted("Host: HOST\n"+usual+"Content-Encoding: gzip\n", initialize), 415},
	{"an Accept without events", posted("Host: HOST\nContent-Type: application/json\nAccept: application/json\n", initialize), 406},
	{"an Accept without JSON", posted("Host: HOST\nContent-Type: application/json\nAccept: text/event-stream\n", initialize), 406},
	{"no Accept", posted("Host: HOST\nContent-Type: application/json\n", initialize), 406},
	{"an unknown version", to("Host: HOST\nMcp-Protocol-Version: 2023-01-01\n"), 400},
	{"two versions", to("Host: HOST\nMcp-Protocol-Version: 2025-06-18\nMcp-Protocol-Version: 2026-07-28\n"), 400},
	{"Last-Event-ID with a POST", to("Host: HOST\nLast-Event-ID: 1_1\n"), 400},

	// Sessions
	{"no session", saying(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + append1 + `}}`), 400},
	{"a session nobody has", posted("Host: HOST\nMcp-Session-Id: 1234\n"+usual, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), 404},
	{"an empty session", posted("Host: HOST\nMcp-Session-Id: \n"+usual, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), 400},
	{"two sessions", posted("Host: HOST\nMcp-Session-Id: 1\nMcp-Session-Id: 2\n"+usual, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), 400},
	{"a GET without a session", "GET /mcp HTTP/1.1\nHost: HOST\nAccept: text/event-stream\n\n", 400},
	{"a DELETE without a session", "DELETE /mcp HTTP/1.1\nHost: HOST\n\n", 400},
	{"a modern GET", "GET /mcp HTTP/1.1\nHost: HOST\nMcp-Protocol-Version: 2026-07-28\nAccept: text/event-stream\n\n", 405},

	// Bodies
	{"nothing", saying(""), 400},
	{"white space", saying(" \n "), 400},
	{"no JSON", saying("hello"), 400},
	{"a number", saying("1"), 400},
	{"half a message", saying(initialize[:60]), 400},
	{"two messages", saying(initialize + initialize), 400},
	{"a message and a tail", saying(initialize + "x"), 400},
	{"a method twice", saying(`{"jsonrpc":"2.0","id":1,"method":"ping","method":"initialize","params":{}}`), 400},
	{"a method in two cases", saying(`{"jsonrpc":"2.0","id":1,"method":"initialize","Method":"tools/call","params":{}}`), 400},
	{"an escaped key", saying(`{"jsonrpc":"2.0","id":1,"method":"initialize","m\u0065thod":"tools/call","params":{}}`), 400},
	{"an id twice", saying(`{"jsonrpc":"2.0","id":1,"id":2,"method":"initialize","params":{}}`), 400},
	{"an id of null", saying(`{"jsonrpc":"2.0","id":null,"method":"initialize","params":{}}`), 400},
	{"an object as id", saying(`{"jsonrpc":"2.0","id":{},"method":"initialize","params":{}}`), 400},
	{"another version of JSON-RPC", saying(`{"jsonrpc":"1.0","id":1,"method":"initialize","params":{}}`), 400},
	{"a question and an answer in one", saying(`{"jsonrpc":"2.0","id":1,"method":"initialize","result":{}}`), 400},
	{"a byte order mark", saying("\ufeff" + initialize), 400},
	{"a control character in a string", saying("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"init\tialize\",\"params\":{}}"), 400},
	{"broken UTF-8 in the method", saying("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"init\xff\",\"params\":{}}"), 400},
	{"a deep body", saying(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`), 400},
	{"a batch", saying("[" + initialize + "]"), 400},
	{"an empty batch", saying("[]"), 400},
	{"a batch that does not end", saying("[" + initialize), 400},
	{"a batch inside a batch", saying("[[" + initialize + "]]"), 400},
	{"_meta twice", modernly(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` + modernMeta + `},"_meta":{},` + append1 + `}}`), 400},
	{"_meta in two cases", modernly(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` + modernMeta + `},"_META":{},` + append1 + `}}`), 400},
	{"a version twice", modernly(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` + modernMeta + `,` + modernMeta + `},` + append1 + `}}`), 400},
	{"a name twice", modernly(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` + modernMeta + `},"name":"echo",` + append1 + `}}`), 400},
	{"a name in two cases", modernly(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` + modernMeta + `},"Name":"echo",` + append1 + `}}`), 400},
	{"no _meta", modernly(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + append1 + `}}`), 400},
	{"a modern initialize", posted("Host: HOST\n"+usual+"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: initialize\n", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{`+modernMeta+`}}}`), 404},
	{"two Mcp-Method headers", posted("Host: HOST\n"+usual+"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Method: tools/list\nMcp-Name: append\n", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{`+modernMeta+`},`+append1+`}}`), 400},

	// The way of the bytes
	{"two lengths", "POST /mcp HTTP/1.1\nHost: HOST\n" + usual + "Content-Length: 2\nContent-Length: 3\n\n{} ", 400},
	{"a negative length", "POST /mcp HTTP/1.1\nHost: HOST\n" + usual + "Content-Length: -1\n\n", 400},
	{"a length with a sign", "POST /mcp HTTP/1.1\nHost: HOST\n" + usual + "Content-Length: +2\n\n{}", 400},
	{"a length and chunks, in which another request is hidden", "POST /mcp HTTP/1.1\nHost: HOST\n" + usual + "Content-Length: 4\nTransfer-Encoding: chunked\n\n0\n\n" + to("Host: evil.example.com\n"), 400},
	{"an unknown transfer coding", "POST /mcp HTTP/1.1\nHost: HOST\n" + usual + "Transfer-Encoding: xchunked\n\n0\n\n", 501},
	{"two transfer codings", "POST /mcp HTTP/1.1\nHost: HOST\n" + usual + "Transfer-Encoding: chunked\nTransfer-Encoding: identity\n\n0\n\n", 0},
	{"chunks that are none", "POST /mcp HTTP/1.1\nHost: HOST\n" + usual + "Transfer-Encoding: chunked\n\nzz\n\n", 400},
	{"a folded header", "POST /mcp HTTP/1.1\nHost: HOST\nX-A: b\n Host: evil\n" + usual + "Content-Length: 2\n\n{}", 400},
	{"a bare carriage return in a header", "POST /mcp HTTP/1.1\nHost: HOST\nX-A: b\rX-B: c\n" + usual + "Content-Length: 2\n\n{}", 400},
	{"a zero byte in a header", "POST /mcp HTTP/1.1\nHost: HOST\nX-A: b\x00\n" + usual + "Content-Length: 2\n\n{}", 400},
	{"a header name with a space", "POST /mcp HTTP/1.1\nHost: HOST\nX A: b\n" + usual + "Content-Length: 2\n\n{}", 400},
	{"giant headers", to("Host: HOST\nX-A: " + strings.Repeat("a", httpguard.MaxHeaderBytes+8<<10) + "\n"), 431},
	{"many headers", to("Host: HOST\n" + strings.Repeat("X-A: "+strings.Repeat("a", 100)+"\n", 1000)), 431},
	{"a giant body, announced", "POST /mcp HTTP/1.1\nHost: HOST\n" + usual + "Content-Length: 99999999999\n\n{", 413},
	{"a giant body, in one chunk", "POST /mcp HTTP/1.1\nHost: HOST\n" + usual + "Transfer-Encoding: chunked\n\n1100001\n" + strings.Repeat(" ", 17<<20), 413},
	{"a slow body", "POST /mcp HTTP/1.1\nHost: HOST\n" + usual + "Content-Length: 100\n\n{", 408},
	{"a slow chunk", "POST /mcp HTTP/1.1\nHost: HOST\n" + usual + "Transfer-Encoding: chunked\n\n5\n{", 408},
	{"a GET with a body", "GET /mcp HTTP/1.1\nHost: HOST\nAccept: text/event-stream\nMcp-Session-Id: 1\nContent-Length: 2\n\n{}", 400},
	{"HTTP/1.0", strings.Replace(to("Host: HOST\n"), "HTTP/1.1", "HTTP/1.0", 1), 505},
	{"HTTP/2 from the start", "PRI * HTTP/2.0\n\nSM\n\n", 0},
	{"an upgrade to HTTP/2", posted("Host: HOST\nConnection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AAMAAABkAAQAAP__\n"+usual, "{}"), 400},
	{"an upgrade to a WebSocket", "GET /mcp HTTP/1.1\nHost: HOST\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\n\n", 400},
	{"no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n", 400},
}

// wired is a crafted request as it goes over the wire: line ends of the head
// are CRLF, the body stays as it is.
func (c crafted) wired(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	head, body, _ := strings.Cut(c.text, "\n\n")
	head = strings.ReplaceAll(head+"\n\n", "\n", "\r\n")
	if strings.Contains(head, "Transfer-Encoding") {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
	return strings.NewReplacer("HOST", addr, "PORT", port).Replace(head + body)
}

func TestNoCraftedRequestReachesAServer(t *testing.T) {
	t.Parallel()
	f := serve(t, quickly())
	o := quickly()
	o.BodyTimeout = 50 * time.Millisecond
	impatient := serve(t, o)
	if len(craftedRequests) < 60 {
		t.Errorf("only %d requests", len(craftedRequests))
	}
	t.Run("all", func(t *testing.T) {
		for _, c := range craftedRequests {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				f := f
				if c.status == 408 {
					f = impatient
				}
				response := f.rawExchange(c.wired(f.addr))
				switch {
				case response == nil && c.status != 0:
					t.Errorf("no answer, want %d", c.status)
				case response == nil:
				case c.status == 0 && response.StatusCode < 400, c.status != 0 && response.StatusCode != c.status:
					body, _ := io.ReadAll(response.Body)
					t.Errorf("status %d, want %d: %s", response.StatusCode, c.status, body)
				case response.StatusCode == 405 && response.Header.Get("Allow") == "":
					t.Error("405 without Allow")
				}
			})
		}
	})
	for _, f := range []*front{f, impatient} {
		if _, began := f.g.Counters(); began != 0 || f.executed() != "" {
			t.Errorf("%d servers were started, and executed %q", began, f.executed())
		}
	}
	// After all of this an honest client is served.
	f.client().initialize("2025-06-18").call("1", "echo", `{"text":"hello"}`).want(200).result().wantText(t, "hello")
}

func TestNamesOfTheAddressAreAllowed(t *testing.T) {
	t.Parallel()
	f := serve(t, Options{Hosts: []string{"mcp.example.com", "other.example.com:8443"}, Origins: []string{"https://app.example.com"}})
	for _, head := range []string{
		"Host: HOST\n", "Host: localhost:PORT\n", "Host: LocalhosT:PORT\n", "Host: [::1]:PORT\n",
		"Host: mcp.example.com\n", "Host: mcp.example.com:PORT\n", "Host: other.example.com:8443\n",
		"Host: HOST\nOrigin: http://HOST\n", "Host: HOST\nOrigin: http://localhost:PORT\nSec-Fetch-Site: same-origin\n",
		"Host: HOST\nSec-Fetch-Site: none\n",
		"Host: HOST\nOrigin: https://app.example.com\nSec-Fetch-Site: cross-site\n",
	} {
		response := f.rawExchange(crafted{text: "GET /healthz HTTP/1.1\n" + head + "\n"}.wired(f.addr))
		if response == nil || response.StatusCode != 200 {
			t.Errorf("%q: %v", head, response)
		}
	}
}

func TestFaultD01OnlyTheTokenOpens(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.Tokens = []string{"0123456789abcdef"}
	f := serve(t, o)
	for _, head := range []string{
		"", "Authorization: Bearer\n", "Authorization: Bearer 0123456789abcdeF\n", "Authorization: Bearer 0123456789abcde\n",
		"Authorization: Bearer 0123456789abcdef0\n", "Authorization: Basic 0123456789abcdef\n", "Authorization: 0123456789abcdef\n",
		"Authorization: Bearer x\nAuthorization: Bearer 0123456789abcdef\n", "Authorization: Bearer x, Bearer 0123456789abcdef\n",
		"X-Authorization: Bearer 0123456789abcdef\n", "Cookie: token=0123456789abcdef\n",
	} {
		f.g.guard.tokens.Load().Guesses = httpguard.NewGuesses() // they are many
		for _, text := range []string{to("Host: HOST\n" + head), "GET /readyz HTTP/1.1\nHost: HOST\n" + head + "\n", "GET /nothing HTTP/1.1\nHost: HOST\n" + head + "\n"} {
			response := f.rawExchange(crafted{text: text}.wired(f.addr))
			if response == nil || response.StatusCode != 401 || response.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%q: %v", head, response)
			}
		}
	}
	if response := f.rawExchange(crafted{text: "GET /healthz HTTP/1.1\nHost: HOST\n\n"}.wired(f.addr)); response == nil || response.StatusCode != 200 {
		t.Errorf("/healthz: %v", response)
	}
	if _, began := f.g.Counters(); began != 0 {
		t.Errorf("%d servers were started", began)
	}
	f.client("Authorization", "bearer 0123456789abcdef").initialize("2025-06-18").call("1", "echo", `{"text":"hello"}`).want(200).result().wantText(t, "hello")
}

func TestAWebPageThatWasNamedMaySpeak(t *testing.T) {
	t.Parallel()
	o := quickly()
	o.Origins, o.Tokens = []string{"https://app.example.com/"}, []string{"0123456789abcdef"}
	f := serve(t, o)
	beginRequest := "OPTIONS /mcp HTTP/1.1\nHost: HOST\nAccess-Control-Request-Method: POST\nAccess-Control-Request-Headers: authorization, mcp-session-id\nSec-Fetch-Site: cross-site\nOrigin: "
	response := f.rawExchange(crafted{text: beginRequest + "https://app.example.com\n\n"}.wired(f.addr))
	if response == nil || response.StatusCode != 204 || response.Header.Get("Access-Control-Allow-Origin") != "https://app.example.com" ||
		response.Header.Get("Access-Control-Allow-Headers") != "authorization, mcp-session-id" {
		t.Errorf("the question was answered with %v", response)
	}
	for _, origin := range []string{"https://evil.example.com", "null", "http://HOST", "https://app.example.com.evil.example.com"} {
		response := f.rawExchange(crafted{text: beginRequest + origin + "\n\n"}.wired(f.addr))
		if response == nil || response.StatusCode != 403 || response.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s was told %v", origin, response)
		}
	}
	c := f.client("Authorization", "Bearer 0123456789abcdef", "Origin", "https://app.example.com")
	a := c.request("POST", fmt.Sprintf(hello, "2025-06-18")).want(200)
	if a.Header.Get("Access-Control-Allow-Origin") == "" || !strings.Contains(a.Header.Get("Access-Control-Expose-Headers"), sessionHeader) {
		t.Errorf("the page cannot read %v", a.Header)
	}
	f.client("Origin", "https://app.example.com").request("POST", fmt.Sprintf(hello, "2025-06-18")).want(401)
}
