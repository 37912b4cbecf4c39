package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Remote is shared by all connections to one URL: the pool of TCP connections, and the transport
// that the server uses.
type Remote struct {
	address   atomic.Pointer[url.URL]
	header    []launch.Header
	client    *http.Client
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	transport atomic.Int32            // untried, streamable or httpSSE
	served    atomic.Bool             // a request of some client was answered
	moved     atomic.Pointer[url.URL] // the target of a redirect; nil if there was none
	secrets   remoteSecrets           // the values of the headers and secrets in the address
	breaks    atomic.Int64            // connections that the other side, or the network, ended
	opaque    bool                    // the client has a caller's transport: when a request is written is not known

	logins     *Logins                                                    // nil if the credentials are the caller's
	authorize  func(context.Context, *http.Request, *http.Response) error // see Access
	headerWait time.Duration                                              // maximum time from the first byte of a response to the end of its header

	closes   atomic.Int32 // how many responses in a row ended their connection
	answers  sync.Map     // the questions that the server answered at least once, see look
	learned  atomic.Bool  // which questions it answers is known
	expires  atomic.Bool  // its tokens end without notice, so a recent proof is none
	pingless atomic.Bool  // it answers tools/list, but not ping
}

// The transports of MCP over HTTP. The one a server uses is detected by trying.
const (
	untried    = iota
	streamable // POST, answered with JSON or a stream
	httpSSE    // HTTP+SSE of 2024-11-05: responses come on a GET stream
)

// Limits on a server before it has answered.
const (
	connectTimeout = 5 * time.Second  // the system's own timeout is minutes
	headerTimeout  = 10 * time.Second // a header that takes longer is an attack
	maxHeaderBytes = 64 << 10
	maxIdleConns   = 64 // kept open between calls
)

// newRemote is NewRemote without an Access. allow decides about every address before it is dialled.
func newRemote(spec launch.Spec, allow func(netip.AddrPort) error) (*Remote, error) {
	if err := launch.CheckURL(spec.URL); err != nil {
		return nil, err
	}
	address, err := url.Parse(spec.URL)
	if err != nil {
		return nil, err
	}
	remote := &Remote{header: spec.Header, headerWait: headerTimeout}
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 15 * time.Second}
	proxy := proxyOf(address)
	checked := *dialer
	checked.Control = launch.Control(allow)
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		through := &checked
		if address == proxy { // configured by the user; it resolves the server's name
			through = dialer
		}
		conn, err := through.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &watchedConn{Conn: conn, breaks: &remote.breaks}, nil
	}
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment, // which leaves out loopback addresses
		DialContext:            dial,
		TLSHandshakeTimeout:    connectTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConnsPerHost:    maxIdleConns,
		IdleConnTimeout:        90 * time.Second,
		ForceAttemptHTTP2:      true,
		// With HTTP/2 one connection serves all requests, so a dead one must be detected: canceling
		// a request does not close it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second},
		// A thousand sessions may have a thousand streams that are idle most of the time.
		ReadBufferSize:  4 << 10,
		WriteBufferSize: 4 << 10,
	}
	if address.Scheme == "https" {
		transport.TLSClientConfig = &tls.Config{RootCAs: launch.Roots()}
	}
	remote.dial, remote.client = dial, &http.Client{
		Transport: transport,
		// By default, net/http would follow to any host, with the body and almost every header.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	remote.secrets.init(spec.Secrets())
	remote.address.Store(address)
	return remote, nil
}

// proxyOf returns the host and port of the proxy for requests to an address, or "".
func proxyOf(to *url.URL) string {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: to})
	if err != nil || proxy == nil {
		return ""
	}
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
	}
	return net.JoinHostPort(proxy.Hostname(), port)
}

// watchedConn records that a write failed, which means that not all of it reached the system, let
// alone the server. It also records the first bytes from a peer that does not speak HTTP: net/http
// often loses them while it is still writing.
type watchedConn struct {
	net.Conn
	breaks      *atomic.Int64 // counts the connections that ended
	writeFailed atomic.Bool
	broken      atomic.Bool
	hasRead     atomic.Bool
	nonHTTP     atomic.Pointer[string]
	head        *bytes.Buffer // the header of a request, until its body is written; nil: none
}

func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.hasRead.Swap(true) {
		const http, few = "HTTP/", 80
		if first := string(b[:min(n, few)]); !strings.HasPrefix(first, http[:min(len(http), n)]) {
			c.nonHTTP.Store(&first)
		}
	}
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.noteBroken()
	}
	return n, err
}

func (c *watchedConn) noteBroken() {
	if !c.broken.Swap(true) {
		c.breaks.Add(1)
	}
}

// Write does not write to a connection that the other side has closed, even if the transport has not
// noticed yet: the bytes would be lost, and nothing would prove that the server did not read them.
//
// The transport writes the header of a message before it reads the body, which might keep it waiting. This
// one never does, so both are one write, and the server need not read twice.
func (c *watchedConn) Write(b []byte) (n int, err error) {
	before := 0 // bytes of the header
	switch head := c.head; {
	case head != nil:
		defer giveBack(head)
		before, c.head = head.Len(), nil
		head.Write(b)
		b = head.Bytes()
	case c.hasRead.Load() && hasEnded(c.Conn):
		c.noteBroken()
		c.writeFailed.Store(true)
		return 0, io.ErrClosedPipe // the transport may use a different connection
	case knowsEnd && precedesBody(b): // otherwise the transport must see that the header was not written
		c.head = buffers.Get().(*bytes.Buffer)
		return c.head.Write(b)
	}
	if n, err = c.Conn.Write(b); err != nil {
		c.writeFailed.Store(true)
	}
	return max(0, n-before), err
}

// precedesBody reports whether b is the whole header of a request whose body follows immediately.
func precedesBody(b []byte) bool {
	return bytes.HasPrefix(b, []byte("POST ")) && bytes.HasSuffix(b, []byte("\r\n\r\n")) &&
		!bytes.Contains(b, []byte("\r\nExpect: ")) && !bytes.Contains(b, []byte("\r\nContent-Length: 0\r\n"))
}

// ReadFrom writes a body. Without it the transport would make a new buffer for each.
func (c *watchedConn) ReadFrom(r io.Reader) (n int64, err error) {
	room := buffers.Get().(*bytes.Buffer)
	defer giveBack(room)
	room.Grow(maxAnnounced)
	return io.CopyBuffer(writerOnly{c}, r, room.AvailableBuffer()[:maxAnnounced])
}

// writerOnly hides ReadFrom.
type writerOnly struct{ io.Writer }

// reason returns why a request failed. A peer that does not speak HTTP is disconnected, and the
// write that fails then would hide it.
func (c *watchedConn) reason(err error) error {
	if c == nil || c.nonHTTP.Load() == nil {
		return err
	}
	first, _, _ := strings.Cut(*c.nonHTTP.Load(), "\r\n")
	return fmt.Errorf("malformed HTTP response %q", first) // the wording of net/http
}

// watched returns the watchedConn if nothing but the request is written to it. TLS writes alerts of
// its own: a failed close_notify says nothing about the request.
func watched(conn net.Conn) *watchedConn {
	own, _ := conn.(*watchedConn)
	return own
}

// to returns where requests go.
func (r *Remote) to() *url.URL {
	if moved := r.moved.Load(); moved != nil && r.logins.follows(moved) {
		return moved
	}
	return r.address.Load()
}

// Close closes the idle connections.
func (r *Remote) Close() { r.client.CloseIdleConnections() }

// Reach reports whether the server's host, or the proxy before it, accepts connections. It sends
// nothing. How a caller's own transport connects is not known, so it counts as reachable.
func (r *Remote) Reach(ctx context.Context) error {
	if r.opaque {
		return nil
	}
	to := r.address.Load()
	proxy := proxyOf(to)
	address := proxy
	if proxy == "" {
		address = net.JoinHostPort(to.Hostname(), cmp.Or(to.Port(), to.Scheme)) // "http" and "https" are also names of ports
	}
	conn, err := r.dial(ctx, "tcp", address)
	switch {
	case err != nil && proxy != "":
		return &net.OpError{Op: "proxyconnect", Net: "tcp", Err: err} // as net/http says it
	case err != nil:
		return err
	}
	return conn.Close()
}

// send sends a request. It does without http.Client if that has nothing to add: it would copy the
// headers of each request for a redirect, which it must not follow.
func (r *Remote) send(req *http.Request) (*http.Response, error) {
	if r.opaque || r.client.Jar != nil || r.client.Timeout != 0 {
		return r.client.Do(req)
	}
	return r.client.Transport.RoundTrip(req)
}

// request returns a request with the user's headers. The headers of the protocol are added to it.
func (r *Remote) request(ctx context.Context, method string, to *url.URL) *http.Request {
	req := (&http.Request{Method: method, URL: to, Host: to.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	for _, h := range r.header {
		if http.CanonicalHeaderKey(h.Name) == "Host" {
			req.Host = h.Value
			continue
		}
		req.Header.Add(h.Name, h.Value)
	}
	if user := to.User; user != nil && req.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	return req
}

// redirected returns the target of a redirect that keeps the method, stays on the same origin and does
// not lead away from what the login is for, or nil.
func (r *Remote) redirected(from *url.URL, res *http.Response) *url.URL {
	next := redirect(from, res)
	if next == nil || login.Resource(next.String()) != login.Resource(from.String()) && !r.logins.follows(next) {
		return nil
	}
	return next
}

// redirect returns the target of a redirect that keeps the method and stays on the same origin, or nil.
func redirect(from *url.URL, res *http.Response) *url.URL {
	if res == nil || res.StatusCode != http.StatusTemporaryRedirect && res.StatusCode != http.StatusPermanentRedirect {
		return nil
	}
	next, err := res.Location()
	if err != nil || !launch.SameOrigin(from, next) {
		return nil
	}
	next.User = from.User
	return next
}

// Relocate moves all users of r to a different path of the same server.
func (r *Remote) Relocate(from, to launch.Spec) bool {
	next, err := url.Parse(to.URL)
	if err != nil || r.served.Load() || !launch.SameOrigin(r.address.Load(), next) || !slices.Equal(from.Header, to.Header) {
		return false
	}
	if next.String() != r.address.Load().String() { // unless a different session was faster
		r.address.Store(next)
		r.moved.Store(nil)
		r.transport.Store(untried)
	}
	return true
}

// Logins returns the login, or nil if the credentials are the caller's.
func (r *Remote) Logins() *Logins { return r.logins }

// Served reports whether a request of some client was answered.
func (r *Remote) Served() bool { return r.served.Load() }
