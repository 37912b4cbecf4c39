package login

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// The certificates of SSL_CERT_FILE are trusted on every system, as by the connection to the server.
func TestLoginsTrustTheCertificatesOfTheUser(t *testing.T) {
	x509.SystemCertPool() // Go itself reads the variable only before the first use of the system's
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := newGuard(u).client(nil).Get(s.URL); err == nil {
		res.Body.Close()
		t.Fatal("an unknown certificate is trusted")
	}
	file := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	res, err := newGuard(u).client(nil).Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}
