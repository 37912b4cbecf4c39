package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// Remote is what all connections to one URL share: the pool of TCP
// connections, and how the server turned out to speak.
type Remote struct {
	address atomic.Pointer[url.URL]
	header  []launch.Header
	client  *http.Client
	way     atomic.Int32            // one of the ways
	served  atomic.Bool             // a request of some client was answered
	moved   atomic.Pointer[url.URL] // where a redirect led; nil: nowhere
	secrets remoteSecrets           // of the headers and the address
	opaque  bool                    // client's transport is not ours: when a request is written is not known

	authorize func(context.Context, *http.Request, *http.Response) error // see Access
	patient   time.Duration                                              // from the first byte of an answer to the end of its header
}

// The ways a server can speak over HTTP. They are found out by trying, once.
const (
	untried    = iota
	streamable // POST, answered by JSON or a stream
	twoWays    // HTTP+SSE of 2024-11-05: POST there, answers on a GET stream
)

// Limits of what a server may do to us before it has answered.
const (
	connectTimeout = 5 * time.Second  // the system's own would be minutes
	headerTimeout  = 10 * time.Second // a header that takes longer is meant to hold us up
	headerMost     = 64 << 10
	idleConns      = 64 // kept open between calls
)

// NewRemote prepares to reach the server of a spec with a URL.
func NewRemote(spec launch.Spec) (*Remote, error) { return newRemote(spec, nil) }

// newRemote is NewRemote with a say about every address before it is dialled.
func newRemote(spec launch.Spec, allow func(netip.AddrPort) error) (*Remote, error) {
	if err := launch.CheckURL(spec.URL); err != nil {
		return nil, err
	}
	address, err := url.Parse(spec.URL)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: 15 * time.Second}
	proxy := proxyOf(address)
	checked := *dialer
	checked.Control = Control(allow)
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, // which leaves loopback out
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			through := &checked
			if address == proxy { // the user's own; it resolves the server's name, not we
				through = dialer
			}
			conn, err := through.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &watchedConn{Conn: conn}, nil
		},
		TLSHandshakeTimeout:    connectTimeout,
		MaxResponseHeaderBytes: headerMost,
		MaxIdleConnsPerHost:    idleConns,
		IdleConnTimeout:        90 * time.Second,
		ForceAttemptHTTP2:      true,
		// One connection serves everybody there, so one that went silent has to
		// be noticed: a cancelled request does not close it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second},
		// A thousand sessions may have a thousand streams that are silent most
		// of the time.
		ReadBufferSize:  4 << 10,
		WriteBufferSize: 4 << 10,
	}
	if address.Scheme == "https" {
		transport.TLSClientConfig = &tls.Config{RootCAs: extraRoots()}
	}
	remote := &Remote{header: spec.Header, patient: headerTimeout, client: &http.Client{
		Transport: transport,
		// Go would follow to any host, with the body and every header but a few.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	remote.secrets.init(spec.Secrets())
	remote.address.Store(address)
	return remote, nil
}

// Control returns a function for a net.Dialer that asks allow about each address after
// its name was resolved, so that no later answer of a name server gets around it.
func Control(allow func(netip.AddrPort) error) func(network, address string, _ syscall.RawConn) error {
	if allow == nil {
		return nil
	}
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return allow(to)
	}
}

// proxyOf returns the host and port of the proxy that requests to an address go
// through, or nothing.
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

// watchedConn remembers that a write failed: what it held did not all reach
// the system, let alone the server. And it remembers what somebody says first
// who does not speak HTTP: while we still write, that is easily lost.
type watchedConn struct {
	net.Conn
	spilt atomic.Bool
	heard atomic.Bool
	alien atomic.Pointer[string]
}

func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.heard.Swap(true) {
		const http, few = "HTTP/", 80
		if first := string(b[:min(n, few)]); !strings.HasPrefix(first, http[:min(len(http), n)]) {
			c.alien.Store(&first)
		}
	}
	return n, err
}

func (c *watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		c.spilt.Store(true)
	}
	return n, err
}

// reason is why a request failed: somebody who does not speak HTTP is hung up
// on, and who still writes then would blame the connection.
func (c *watchedConn) reason(err error) error {
	if c == nil || c.alien.Load() == nil {
		return err
	}
	first, _, _ := strings.Cut(*c.alien.Load(), "\r\n")
	return fmt.Errorf("malformed HTTP response %q", first) // as net/http has it
}

// watched is our connection if nothing but the request is written to it. TLS
// writes for itself: that its goodbye fails says nothing about the request.
func watched(conn net.Conn) *watchedConn {
	own, _ := conn.(*watchedConn)
	return own
}

// to is where requests go.
func (r *Remote) to() *url.URL {
	if moved := r.moved.Load(); moved != nil {
		return moved
	}
	return r.address.Load()
}

// extraRoots honours SSL_CERT_FILE on every system: Go does by itself on some.
// nil: the system's roots.
func extraRoots() *x509.CertPool {
	file := os.Getenv("SSL_CERT_FILE")
	if file == "" {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if pem, err := os.ReadFile(file); err == nil {
		pool.AppendCertsFromPEM(pem)
	}
	return pool
}

// Close gives up the connections nobody uses.
func (r *Remote) Close() { r.client.CloseIdleConnections() }

// Reach reports whether the server's host, or the proxy before it, takes
// connections, without saying anything to it.
func (r *Remote) Reach(ctx context.Context) error {
	to := r.address.Load()
	if proxy, err := http.ProxyFromEnvironment(r.request(ctx, http.MethodGet, to)); err == nil && proxy != nil {
		to = proxy
	}
	port := to.Port()
	if port == "" {
		port = to.Scheme // http and https are names of their ports
	}
	conn, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, "tcp", net.JoinHostPort(to.Hostname(), port))
	if err != nil {
		return err
	}
	return conn.Close()
}

// request makes one with the user's headers; what the protocol says comes on
// top of them.
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

// sameOrigin: only there may a request be sent on to.
func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }
