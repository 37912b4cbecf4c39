package attacks

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// network is a network of hosts by name. Programs reach it through a proxy, which is also how they find
// its hosts, so the hosts have names and certificates as on the Internet.
type network struct {
	proxy string
	inner *tunnels

	mu    sync.Mutex
	hosts map[string]http.Handler // hosts is by address, or by origin for all others there.
	sent  []request
}

// request is a request that a host received.
type request struct {
	method string
	to     *url.URL
	header http.Header
	body   string
}

// text returns everything in the request that can contain a secret.
func (r request) text() string {
	var b strings.Builder
	b.WriteString(r.to.String() + "\n")
	r.header.Write(&b)
	b.WriteString(r.body)
	return b.String()
}

func newNetwork(t *testing.T) *network {
	n := &network{hosts: map[string]http.Handler{}, inner: &tunnels{conns: make(chan net.Conn), closed: make(chan struct{})}}
	inner := &http.Server{
		Handler: http.HandlerFunc(n.serve),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, tunnelKey{}, c.(*tunnel).host)
		},
	}
	go inner.Serve(n.inner)
	proxy := httptest.NewServer(http.HandlerFunc(n.forward))
	n.proxy = proxy.URL
	t.Cleanup(func() {
		inner.Close()
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return n
}

// at lets h answer at an address, or for a whole origin.
func (n *network) at(address string, h http.HandlerFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[address] = h
}

// all returns the requests so far.
func (n *network) all() []request {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent[:len(n.sent):len(n.sent)]
}

// received reports whether a host received a request to an address that begins so.
func (n *network) received(address string) bool {
	for _, r := range n.all() {
		if strings.HasPrefix(r.to.String(), address) {
			return true
		}
	}
	return false
}

// tunnel is a connection to a host through the proxy.
type tunnel struct {
	*tls.Conn
	host string
}

// tunnelKey is the key of its host in the context of a request.
type tunnelKey struct{}

// tunnels is a listener for them.
type tunnels struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (t *tunnels) Accept() (net.Conn, error) {
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.closed:
		return nil, net.ErrClosed
	}
}

func (t *tunnels) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

func (t *tunnels) Addr() net.Addr { return &net.TCPAddr{} }

// forward is the proxy.
func (n *network) forward(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		n.serve(w, r)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	secure := tls.Server(conn, &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return certify(h.ServerName) }})
	select {
	case n.inner.conns <- &tunnel{secure, r.Host}:
	case <-n.inner.closed:
		conn.Close()
	}
}

// serve records a request and lets its host answer. Names are compared as DNS does it.
func (n *network) serve(w http.ResponseWriter, r *http.Request) {
	to := *r.URL
	if host, ok := r.Context().Value(tunnelKey{}).(string); ok {
		to.Scheme, to.Host = "https", strings.TrimSuffix(host, ":443")
	}
	name, port, found := strings.Cut(strings.ToLower(to.Host), ":")
	to.Host = strings.TrimSuffix(name, ".")
	if found {
		to.Host += ":" + port
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	n.mu.Lock()
	n.sent = append(n.sent, request{r.Method, &to, r.Header.Clone(), string(body)})
	origin := to.Scheme + "://" + to.Host
	h, ok := n.hosts[origin+to.Path]
	if !ok {
		h, ok = n.hosts[origin]
	}
	n.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	h.ServeHTTP(w, r)
}

// authority is the certificate authority of the network.
var authority = sync.OnceValue(func() *tls.Certificate {
	c, err := issue(&x509.Certificate{Subject: pkix.Name{CommonName: "laboratory"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true}, nil)
	if err != nil {
		panic(err)
	}
	return c
})

// authorityPEM returns its certificate.
func authorityPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority().Certificate[0]})
}

// certificates are those of the hosts.
var certificates sync.Map

func certify(host string) (*tls.Certificate, error) {
	if c, ok := certificates.Load(host); ok {
		return c.(*tls.Certificate), nil
	}
	c, err := issue(&x509.Certificate{Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, authority())
	if err == nil {
		certificates.Store(host, c)
	}
	return c, err
}

// issue returns a certificate that an authority signed; nil: its own.
func issue(template *x509.Certificate, by *tls.Certificate) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	parent, signer := template, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}
