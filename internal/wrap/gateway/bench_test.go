package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkACallToAURL measures a call from one HTTP connection to another. Client and server are
// loops over a socket that allocate nothing, so -benchmem shows what gauze and net/http allocate.
func BenchmarkACallToAURL(b *testing.B) {
	for _, test := range []struct {
		name   string
		stream bool
		length int
	}{{"json", false, 100}, {"stream", true, 100}, {"json 10 kB", false, 10_000}, {"stream 10 kB", true, 10_000}} {
		b.Run(test.name, func(b *testing.B) {
			l := listen(b)
			defer l.Close()
			go serveEcho(l, test.stream)
			o := quickly()
			f := serveURL(b, o, "http://"+l.Addr().String())
			conn, err := net.Dial("tcp", f.addr)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			c := &rawHTTP{w: conn, r: bufio.NewReaderSize(conn, 64<<10)}
			request := func(body, session string) []byte {
				return []byte("POST /mcp HTTP/1.1\r\nHost: " + f.addr + "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" + session +
					"Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
			}
			c.exchange(request(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`, ""))
			session := "Mcp-Session-Id: " + c.session + "\r\nMcp-Protocol-Version: 2025-11-25\r\n"
			c.exchange(request(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session))
			c.exchange(request(`{"jsonrpc":"2.0","id":"tools","method":"tools/list"}`, session))
			call := request(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`+strings.Repeat("x", test.length)+`"}}}`, session)
			c.exchange(call)
			if c.err != nil {
				b.Fatal(c.err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if c.exchange(call); c.err != nil {
					b.Fatal(c.err)
				}
			}
		})
	}
}

// rawHTTP is one connection of HTTP/1.1. It reads messages and keeps the first error.
type rawHTTP struct {
	w       io.Writer
	r       *bufio.Reader
	body    []byte
	session string
	err     error
}

func (c *rawHTTP) exchange(request []byte) {
	if _, err := c.w.Write(request); err != nil {
		c.err = err
		return
	}
	status, _ := c.read()
	if c.err == nil && !strings.HasPrefix(status, "HTTP/1.1 20") {
		c.err = fmt.Errorf("%s: %s", status, c.body)
	}
}

// read reads one message.
func (c *rawHTTP) read() (first string, ok bool) {
	length, chunked := 0, false
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			c.err = err
			return "", false
		}
		line = line[:len(line)-2]
		switch name, value, _ := bytes.Cut(line, []byte(": ")); {
		case first == "":
			if first = "HTTP/1.1 200 OK"; string(line) == "POST / HTTP/1.1" {
				first = "POST"
			} else if string(line) != first {
				first = string(line)
			}
		case len(line) == 0:
			c.body = c.body[:0]
			for chunked {
				line, err := c.r.ReadSlice('\n')
				if err != nil {
					c.err = err
					return "", false
				}
				length = 0
				for _, digit := range line[:len(line)-2] {
					length = length*16 + strings.IndexByte("0123456789abcdef", digit)
				}
				chunked = length > 0
				c.take(length)
				c.r.Discard(2)
				length = 0
			}
			c.take(length)
			return first, c.err == nil
		case string(name) == "Content-Length":
			for _, digit := range value {
				length = length*10 + int(digit-'0')
			}
		case string(name) == "Transfer-Encoding":
			chunked = true
		case string(name) == "Mcp-Session-Id" && c.session == "":
			c.session = string(value)
		}
	}
}

func (c *rawHTTP) take(n int) {
	at := len(c.body)
	if cap(c.body) < at+n {
		c.body = append(make([]byte, 0, 2*(at+n)), c.body...)
	}
	c.body = c.body[:at+n]
	if _, err := io.ReadFull(c.r, c.body[at:]); err != nil {
		c.err = err
	}
}

// serveEcho is a server that answers each request with its own arguments.
func serveEcho(l net.Listener, stream bool) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			c := &rawHTTP{r: bufio.NewReaderSize(conn, 64<<10)}
			var answer, message []byte
			for {
				first, ok := c.read()
				if !ok {
					return
				}
				if !strings.HasPrefix(first, "POST") {
					io.WriteString(conn, "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
					continue
				}
				_, rest, hasID := bytes.Cut(c.body, []byte(`"id":`))
				if !hasID {
					io.WriteString(conn, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
					continue
				}
				id := rest[:bytes.IndexAny(rest, ",}")]
				message = append(append(append(message[:0], `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...)
				switch {
				case bytes.Contains(c.body, []byte(`"initialize"`)):
					message = append(message, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"e","version":"1"}}`...)
				case bytes.Contains(c.body, []byte(`"tools/list"`)):
					message = append(message, `{"tools":[{"name":"echo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`...)
				default:
					_, text, _ := bytes.Cut(c.body, []byte(`"text":`))
					message = append(message, `{"content":[{"type":"text","text":`...)
					message = append(message, text[:bytes.IndexByte(text, '}')]...)
					message = append(message, `}]}`...)
				}
				message = append(message, '}')
				answer = append(answer[:0], "HTTP/1.1 200 OK\r\nMcp-Session-Id: s\r\n"...)
				if stream {
					answer = append(answer, "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"...)
					answer = append(strconv.AppendInt(answer, int64(len(message)+len("event: message\ndata: \n\n")), 16), "\r\nevent: message\ndata: "...)
					answer = append(append(answer, message...), "\n\n\r\n0\r\n\r\n"...)
				} else {
					answer = append(strconv.AppendInt(append(answer, "Content-Type: application/json\r\nContent-Length: "...), int64(len(message)), 10), "\r\n\r\n"...)
					answer = append(answer, message...)
				}
				if _, err := conn.Write(answer); err != nil {
					return
				}
			}
		}()
	}
}
