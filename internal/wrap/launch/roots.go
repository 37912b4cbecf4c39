package launch

import (
	"crypto/x509"
	"os"
)

// Roots returns the certificate authorities that connections to servers trust: those of
// SSL_CERT_FILE, which Go reads by itself only on some systems, in addition to the system's. nil
// means the system's.
func Roots() *x509.CertPool {
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
