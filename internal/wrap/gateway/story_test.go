package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/testonly/census"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	os.Exit(census.Run(m))
}

// front is a gateway that serves on a real address, with faulty servers behind
// it and verbs that read like what clients do.
type front struct {
	t      testing.TB
	g      *Gateway
	addr   string
	ledger string
	events <-chan event.Event
	cancel context.CancelFunc
	served chan error
	once   sync.Once
	err    error
}

// serve starts a gateway in front of faulty servers with these flags.
func serve(t *testing.T, o Options, flags ...string) *front {
	t.Helper()
	ledger := filepath.Join(t.TempDir(), "ledger")
	path, args, env := faultyserver.Command(append(flags, "-ledger", ledger)...)
	o.Session.Spec = launch.Spec{Command: path, Args: args, Env: append(os.Environ(), env...)}
	f := serveSpec(t, o)
	f.ledger = ledger
	return f
}

// serveURL starts a gateway in front of the server at an address.
func serveURL(t testing.TB, o Options, address string) *front {
	t.Helper()
	o.Session.Spec = launch.Spec{URL: address}
	return serveSpec(t, o)
}

func serveSpec(t testing.TB, o Options) *front {
	t.Helper()
	return serveOn(t, o, listen(t))
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func serveOn(t testing.TB, o Options, l net.Listener) *front {
	t.Helper()
	f := &front{t: t, served: make(chan error, 1)}
	if mark := census.Mark(t); o.Session.Spec.Command != "" {
		o.Session.Spec.Env = append(slices.Clip(o.Session.Spec.Environment()), mark)
	}
	o.Session.Name = "faulty"
	o.Session.Restart = upstream.Restart{Backoff: time.Millisecond, Limit: -1}
	o.Session.Events = event.New()
	lastByte, stop := o.Session.Events.Subscribe(10_000)
	f.events = lastByte
	f.addr = l.Addr().String()
	f.g = New(o, l.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	go func() { f.served <- f.g.Serve(ctx, l) }()
	t.Cleanup(func() {
		f.g.Hurry()
		f.end()
		stop()
	})
	return f
}

// end stops the gateway and waits until nothing is left.
func (f *front) end() error {
	f.once.Do(func() {
		f.cancel()
		select {
		case f.err = <-f.served:
		case <-time.After(patience.Limit()):
			f.t.Error("the gateway does not end")
		}
		f.g.table.mu.Lock()
		defer f.g.table.mu.Unlock()
		if n := len(f.g.table.lives) + len(f.g.table.sessions) + len(f.g.table.shared); n != 0 || f.g.table.asked != 0 {
			f.t.Errorf("%d sessions and %d requests are left", n, f.g.table.asked)
		}
	})
	return f.err
}

// await waits for an event of this kind.
func (f *front) await(kind event.Kind) event.Event {
	f.t.Helper()
	return f.awaitAny(kind)
}

// awaitAny waits for the first event of one of these kinds.
func (f *front) awaitAny(kinds ...event.Kind) event.Event {
	f.t.Helper()
	alarm := time.After(patience.Limit())
	for {
		select {
		case e := <-f.events:
			if slices.Contains(kinds, e.Kind) {
				return e
			}
		case <-alarm:
			f.t.Fatalf("no event of %q", kinds)
		}
	}
}

// executed are the lines of the ledger: what the servers really did.
func (f *front) executed() string {
	text, _ := os.ReadFile(f.ledger)
	return string(text)
}

// client is somebody with an HTTP connection pool of its own.
type client struct {
	*front
	http    *http.Client
	headers []string
	session string
}

func (f *front) client(headers ...string) *client {
	transport := &http.Transport{}
	f.t.Cleanup(transport.CloseIdleConnections)
	return &client{front: f, http: &http.Client{Transport: transport}, headers: headers}
}

// answer is one HTTP response, which may still be coming in.
type answer struct {
	t testing.TB
	*http.Response
	lines  *bufio.Reader
	lastID string
	cancel context.CancelFunc
}

// request sends one request and returns its answer as soon as it begins.
func (c *client) request(method, body string, headers ...string) *answer {
	c.t.Helper()
	a, err := c.try(method, body, headers...)
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

func (c *client) try(method, body string, headers ...string) (*answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience.Limit())
	r, err := http.NewRequestWithContext(ctx, method, "http://"+c.addr+Path, strings.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		r.Header.Set(sessionHeader, c.session)
	}
	all := append(append([]string(nil), c.headers...), headers...)
	for i := 0; i < len(all); i += 2 {
		r.Header.Set(all[i], all[i+1])
	}
	response, err := c.http.Do(r)
	if err != nil {
		cancel()
		return nil, err
	}
	c.t.Cleanup(func() { cancel(); response.Body.Close() })
	return &answer{t: c.t, Response: response, lines: bufio.NewReader(response.Body), cancel: cancel}, nil
}

// hangUp breaks the connection.
func (a *answer) hangUp() {
	a.cancel()
	a.Body.Close()
}

// reply is what a client would decode.
type reply struct {
	raw    string
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// next reads the next message: an SSE event with data, or the whole JSON body.
// It returns nil at the end.
func (a *answer) next() *reply {
	a.t.Helper()
	var data string
	if strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		all, _ := io.ReadAll(a.lines)
		data = string(all)
	}
	for data == "" {
		line, err := a.lines.ReadString('\n')
		if err != nil {
			return nil
		}
		line = strings.TrimSuffix(line, "\n")
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			a.lastID = id
		}
		data, _ = strings.CutPrefix(line, "data: ")
		if !strings.HasPrefix(line, "data: ") {
			data = ""
		}
	}
	m := &reply{raw: data}
	if err := json.Unmarshal([]byte(data), m); err != nil {
		a.t.Fatalf("told %q: %v", data, err)
	}
	return m
}

// result reads up to the answer of the request.
func (a *answer) result() *reply {
	a.t.Helper()
	for {
		m := a.next()
		if m == nil {
			a.t.Fatalf("status %d, and no answer", a.StatusCode)
		}
		if m.Method == "" {
			return m
		}
	}
}

func (a *answer) want(status int) *answer {
	a.t.Helper()
	if a.StatusCode != status {
		body, _ := io.ReadAll(io.LimitReader(a.Body, 500))
		a.t.Fatalf("status %d, want %d: %s", a.StatusCode, status, body)
	}
	return a
}

func (m *reply) wantText(t testing.TB, text string) {
	t.Helper()
	if m.Error != nil || !strings.Contains(string(m.Result), text) {
		t.Fatalf("told %s, want %q in it", m.raw, text)
	}
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// initialize begins a legacy session.
func (c *client) initialize(version string) *client {
	c.t.Helper()
	a := c.request("POST", fmt.Sprintf(hello, version)).want(200)
	a.result().wantText(c.t, version)
	if c.session = a.Header.Get(sessionHeader); c.session == "" {
		c.t.Fatal("no session id")
	}
	c.headers = append(c.headers, versionHeader, version)
	c.request("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`).want(202)
	return c
}

// call posts a tools/call of the legacy era.
func (c *client) call(id, tool, arguments string) *answer {
	c.t.Helper()
	return c.request("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments))
}

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`

// modern posts a modern request; params has to be an object without _meta.
func (c *client) modern(id, method, params string, headers ...string) *answer {
	c.t.Helper()
	body, all := modernRequest(id, method, params, "")
	return c.request("POST", body, append(all, headers...)...)
}

func modernRequest(id, method, params, meta string) (body string, headers []string) {
	if meta != "" {
		meta = "," + meta
	}
	inner := strings.TrimPrefix(params, "{")
	if inner != "}" {
		inner = "," + inner
	}
	body = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"_meta":{%s%s}%s}`, id, method, modernMeta, meta, inner)
	headers = []string{versionHeader, wire.FirstModern, methodHeader, method}
	var named struct{ Name, URI string }
	json.Unmarshal([]byte(params), &named)
	if named.Name+named.URI != "" {
		headers = append(headers, nameHeader, named.Name+named.URI)
	}
	return body, headers
}

func (c *client) modernCall(id, tool, arguments string) *answer {
	c.t.Helper()
	return c.modern(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// quickly are settings that do not wait for what a test has not in mind.
func quickly() Options {
	return Options{Session: proxy.Options{Timing: proxy.Timing{Timeout: patience.Limit(), Patience: patience.Limit()}}}
}

// rawExchange sends bytes as they are and reads one response; nil if the
// server closed the connection without one.
func (f *front) rawExchange(text string) *http.Response {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience.Limit()))
	go io.Copy(conn, strings.NewReader(text)) // the answer may come before all is written
	method, _, _ := strings.Cut(text, " ")    // HEAD has no body
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response
}
