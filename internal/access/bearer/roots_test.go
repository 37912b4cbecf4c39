package bearer

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The certificates of SSL_CERT_FILE are trusted on every system: for the metadata and for the keys.
func TestIssuersWithCertificatesOfTheUser(t *testing.T) {
	x509.SystemCertPool() // Go itself reads the variable only before the first use of the system's
	var s *httptest.Server
	s = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			fmt.Fprint(w, `{"keys":[]}`)
			return
		}
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, s.URL, s.URL+"/keys")
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	v, err := New(Config{Issuer: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	const token = "eyJhbGciOiJFUzI1NiJ9.e30.AAAA" // signed with no key
	if _, err := v.Verify(t.Context(), token); err == nil || !strings.Contains(err.Error(), "not signed with a key from "+s.URL) {
		t.Error(err)
	}
}
