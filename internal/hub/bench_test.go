package hub

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/access/httpguard"
)

// BenchmarkACall measures a call of a server behind /mcp, and of the same server as it is.
func BenchmarkACall(b *testing.B) {
	for _, test := range []struct{ name, path, tool string }{{"one server", "/mcp/two", "pid"}, {"a view", "/mcp", "two__pid"}} {
		b.Run(test.name, func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			server := httpguard.Server(start(b, Options{Addr: l.Addr()}, file(b, faulty(b, "one"), faulty(b, "two"), faulty(b, "three"))))
			go server.Serve(l)
			b.Cleanup(func() { server.Close() })
			c := &poster{b: b, path: test.path, host: l.Addr().String()}
			if c.conn, err = net.Dial("tcp", c.host); err != nil {
				b.Fatal(err)
			}
			defer c.conn.Close()
			c.r = bufio.NewReader(c.conn)
			for line := range strings.Lines(opening + `{"jsonrpc":"2.0","id":"tools","method":"tools/list"}`) {
				c.post(strings.TrimSpace(line))
			}
			call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,%s}`, callOf(test.tool))
			c.post(call)
			b.ReportAllocs()
			for b.Loop() {
				c.post(call)
			}
		})
	}
}

// poster is a client with one connection and one session.
type poster struct {
	b          *testing.B
	conn       net.Conn
	r          *bufio.Reader
	path, host string
	session    string
}

func (c *poster) post(body string) {
	fmt.Fprintf(c.conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s", c.path, c.host, c.session, len(body), body)
	answer, err := http.ReadResponse(c.r, nil)
	if err != nil {
		c.b.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode >= 300 {
		c.b.Fatal(answer.Status, err)
	}
	if id := answer.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = "Mcp-Session-Id: " + id + "\r\n"
	}
}
