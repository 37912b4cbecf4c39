package login

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Limits on what authorization servers send.
const (
	oauthTimeout   = 10 * time.Second // for one request, with its body
	connectTimeout = 5 * time.Second
	maxBodyBytes   = 1 << 20
	maxRedirects   = 3
	maxAddressLen  = 2048 // of a URL in metadata
	maxIssuerLen   = 200  // of an issuer, which people are asked about
)

// unacceptable is why a request is not sent to an address.
type unacceptable struct{ error }

func (u unacceptable) Unwrap() error { return u.error }

// guard decides which addresses the requests of one login may be sent to: metadata may lead to
// addresses with at most the reach of the server that it belongs to, so a public server cannot make
// gauze send requests to the user's network.
type guard struct {
	server *url.URL

	mu    sync.Mutex
	reach launch.Reach // of the server's name; -1 until it was resolved
}

func newGuard(server *url.URL) *guard {
	return &guard{server: server, reach: -1}
}

// lookup resolves the name of a server. Tests replace it.
var lookup = net.DefaultResolver.LookupNetIP

// serverReach returns the reach of the server. A name is resolved when that is needed first, which
// is never for the public addresses that most metadata leads to. A name other than localhost is at
// most private, whatever it resolves to: its owner decides that.
func (g *guard) serverReach(ctx context.Context) launch.Reach {
	host := g.server.Hostname()
	if launch.IsLoopback(host) {
		return launch.Loopback
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return launch.ReachOf(ip)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reach < 0 {
		ips, err := lookup(ctx, "ip", host)
		if err != nil {
			return launch.Public
		}
		g.reach = launch.Private
		if slices.ContainsFunc(ips, func(ip netip.Addr) bool { return launch.ReachOf(ip) == launch.Public }) {
			g.reach = launch.Public
		}
	}
	return g.reach
}

// allow returns an error if requests must not go to an IP address.
func (g *guard) allow(ctx context.Context, ip netip.Addr) error {
	switch to := launch.ReachOf(ip); {
	case to == launch.Public, launch.StandIn.Contains(ip.Unmap()):
		return nil
	case to == launch.Nowhere:
		return fmt.Errorf("%s cannot be the address of a server", ip)
	case to > g.serverReach(ctx):
		return fmt.Errorf("%s is an address on your own network or machine, but %s is not", ip, g.server.Hostname())
	}
	return nil
}

// check returns an error if neither requests nor people must go to an address: it must be https, or
// http on this machine if the server is also there.
func (g *guard) check(ctx context.Context, u *url.URL) error {
	host := u.Hostname()
	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || !launch.IsLoopback(host)):
		return errors.New("it must use https")
	case u.Opaque != "" || host == "":
		return errors.New("it has no host")
	case u.User != nil:
		return errors.New("it contains a user name")
	case strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>\^{|}%`, r) }):
		return errors.New("its host is not valid")
	}
	if host == "localhost" {
		return g.allow(ctx, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.allow(ctx, ip)
	}
	return nil
}

// address parses a URL of metadata. name is the field that it is in.
func (g *guard) address(ctx context.Context, name, text string) (*url.URL, error) {
	u, err := g.parse(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("%s %q is not allowed: %w", name, shown(text), err)
	}
	return u, nil
}

func (g *guard) parse(ctx context.Context, text string) (*url.URL, error) {
	switch {
	case len(text) > maxAddressLen:
		return nil, fmt.Errorf("it is longer than %d bytes", maxAddressLen)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("it contains characters that a URL cannot contain")
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	if u.Fragment != "" {
		return nil, errors.New("it contains a fragment")
	}
	if err := g.check(ctx, u); err != nil {
		return nil, err
	}
	if !canonical(u) {
		return nil, errors.New("its host is written in an unusual way")
	}
	return u, nil
}

// maxHostLen is the length of the longest name that can be resolved.
const maxHostLen = 253

// canonical reports whether the host and the port of a URL have the only spelling that gauze accepts, but
// for upper case: with a different one, the host of an earlier login would not be recognized.
func canonical(u *url.URL) bool {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if number, err := strconv.ParseUint(port, 10, 16); strings.HasSuffix(u.Host, ":") || port != "" && (err != nil || strconv.FormatUint(number, 10) != port) {
		return false
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String() == host
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	number := strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") // which resolvers may read as an IPv4 address
	return !number && len(host) <= maxHostLen
}

// client returns a client for the requests of a login: to addresses that the guard accepts, with a
// limit on time and bytes, and without redirects to a different origin. A transport that dials by
// itself is not asked which address it dials.
func (g *guard) client(c *http.Client) *http.Client {
	var base http.RoundTripper
	if c != nil && c.Transport != nil {
		base = c.Transport
	}
	if base == nil {
		base = http.DefaultTransport
	}
	if t, ok := base.(*http.Transport); ok && (t.DialContext == nil || base == http.DefaultTransport) && t.DialTLSContext == nil {
		t = t.Clone()
		t.DialContext = g.dial
		t.MaxResponseHeaderBytes = 64 << 10
		t.DisableKeepAlives = true // a few requests, hours apart
		if t.TLSClientConfig == nil {
			t.TLSClientConfig = &tls.Config{}
		}
		if t.TLSClientConfig.RootCAs == nil {
			t.TLSClientConfig.RootCAs = launch.Roots()
		}
		base = t
	}
	return &http.Client{
		Transport:     guardedTransport{g, base},
		Timeout:       oauthTimeout,
		CheckRedirect: checkRedirect,
	}
}

// checkRedirect follows a few redirects of GET requests within an origin. Others are the response:
// a POST has a code, a token or a secret in it.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if first.Method != http.MethodGet || len(via) > maxRedirects || !launch.SameOrigin(first.URL, req.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// dial connects to an address if the guard allows it. It is asked after name resolution, so that a
// later DNS response cannot get around it. A proxy that the user configured resolves names itself.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: connectTimeout}
	if !isProxy(address) {
		d.ControlContext = func(ctx context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if err := g.allow(ctx, to.Addr()); err != nil {
				return unacceptable{err}
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, address)
}

// isProxy reports whether the user's proxy for some request is at an address.
func isProxy(address string) bool {
	for _, scheme := range []string{"https", "http"} {
		proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: scheme, Host: "proxied.invalid"}})
		if err != nil || proxy == nil {
			continue
		}
		port := proxy.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
		}
		if address == net.JoinHostPort(proxy.Hostname(), port) {
			return true
		}
	}
	return false
}

// guardedTransport sends requests that a guard accepts, and limits their responses.
type guardedTransport struct {
	guard *guard
	base  http.RoundTripper
}

func (t guardedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.guard.check(req.Context(), req.URL); err != nil {
		return nil, unacceptable{fmt.Errorf("%s is not allowed: %w", launch.Origin(req.URL), err)}
	}
	res, err := t.base.RoundTrip(req)
	if err == nil {
		res.Body = &limitedBody{res.Body, maxBodyBytes}
	}
	return res, err
}

// limitedBody fails after so many bytes, so that a body that is cut off is not taken for a whole
// one.
type limitedBody struct {
	io.ReadCloser
	left int
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the response is larger than %d KiB", maxBodyBytes>>10)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
