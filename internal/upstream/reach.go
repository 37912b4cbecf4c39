package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
)

// unreachable reports whether err means that no connection was made, and returns the reason without
// the address that net/http puts before it.
func unreachable(err error) (reason error, dead bool) {
	if own := (*loginError)(nil); err == nil || errors.As(err, &own) {
		return nil, false
	}
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var op *net.OpError
	switch {
	case untrusted(err), notFoundHost(err):
		return err, true
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect"):
		return err, true
	}
	return nil, false
}

// untrusted reports whether the server's certificate or TLS is invalid. A retry cannot fix that,
// and gauze never connects without verification.
func untrusted(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		host        x509.HostnameError
		invalid     x509.CertificateInvalidError
		record      tls.RecordHeaderError
		alert       tls.AlertError
	)
	return errors.As(err, &certificate) || errors.As(err, &authority) || errors.As(err, &host) ||
		errors.As(err, &invalid) || errors.As(err, &record) || errors.As(err, &alert)
}

// notFoundHost reports whether the host name has no address.
func notFoundHost(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}
