package doctor

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Reach is what was found out about the host of a URL.
type Reach struct {
	Late     bool // whether the time was up before the rest was known
	Resolved bool // whether its name resolves
	Accepted bool // whether it accepted a connection
	TLS      TLS
}

// TLS is the result of a TLS handshake. Nothing is sent after it.
type TLS struct {
	Good     bool
	Spoken   bool      // whether the server uses TLS
	Issuer   string    // issuer of the rejected certificate
	Names    []string  // host names that the certificate is issued for
	Expired  time.Time // when the certificate expired, or zero
	Unknown  bool      // whether its authority is not trusted
	Mismatch bool      // whether it is issued for different host names
}

// Reach examines the host of a server's own URL: its name, its port and its certificate.
func (m *Machine) Reach(address string) Reach {
	return once(m, "reach\n"+address, func() (r Reach) {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return r
		}
		ctx, cancel := m.inTime()
		defer cancel()
		defer func() { r.Late = ctx.Err() != nil }()
		if net.ParseIP(u.Hostname()) == nil {
			if found, err := m.Lookup(ctx, u.Hostname()); err != nil || len(found) == 0 {
				return r
			}
		}
		r.Resolved = true
		conn, err := m.Dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), portOf(u)))
		if err != nil {
			return r
		}
		defer conn.Close()
		r.Accepted = true
		if u.Scheme != "https" {
			return r
		}
		secure := tls.Client(conn, &tls.Config{ServerName: u.Hostname()})
		r.TLS = judge(secure.HandshakeContext(ctx))
		return r
	})
}

// judge returns what is wrong with a certificate.
func judge(err error) (t TLS) {
	if err == nil {
		return TLS{Good: true, Spoken: true}
	}
	var refused *tls.CertificateVerificationError
	if !errors.As(err, &refused) || len(refused.UnverifiedCertificates) == 0 {
		return t
	}
	leaf := refused.UnverifiedCertificates[0]
	t.Spoken, t.Issuer, t.Names = true, leaf.Issuer.String(), leaf.DNSNames
	var unknown x509.UnknownAuthorityError
	var mismatch x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		t.Unknown = true
	case errors.As(err, &mismatch):
		t.Mismatch = true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		t.Expired = leaf.NotAfter
	}
	return t
}

// portOf returns the port of a URL, or its scheme's default.
func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// SpeaksMCP reports whether an address is likely an MCP server: it opens a stream or names the
// methods that it supports. It sends a plain GET without the user's headers. A web page or a 404 is
// not an MCP server.
func (m *Machine) SpeaksMCP(address string) bool {
	return once(m, "speaks\n"+address, func() bool {
		ctx, cancel := m.inTime()
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return false
		}
		req.Header.Set("Accept", "text/event-stream, application/json")
		client := http.Client{
			Transport:     &http.Transport{DialContext: m.Dial, DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		res, err := client.Do(req)
		if err != nil {
			return false
		}
		res.Body.Close()
		kind := res.Header.Get("Content-Type")
		switch res.StatusCode {
		case http.StatusOK:
			return strings.HasPrefix(kind, "text/event-stream")
		case http.StatusMethodNotAllowed: // any other service returns it as well
			return true
		case http.StatusUnauthorized, http.StatusNotAcceptable, http.StatusBadRequest:
			return !strings.HasPrefix(kind, "text/html")
		}
		return false
	})
}

// proxyVariables returns the names of the variables that redirect connections.
func proxyVariables(env []string) (names []string) {
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		switch strings.ToUpper(name) {
		case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NPM_CONFIG_PROXY", "NPM_CONFIG_HTTPS_PROXY":
			if value != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// AuthorityFile returns the file with the authorities that this machine trusts, from gauze's
// environment or the system's usual place, or "".
func (m *Machine) AuthorityFile() string {
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
		if file := m.variable(name); filepath.IsAbs(file) && isFile(file) {
			return file
		}
	}
	for _, file := range []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
		"/etc/ssl/cert.pem"} {
		if _, err := os.Stat(m.system(file)); err == nil {
			return m.system(file)
		}
	}
	return ""
}
