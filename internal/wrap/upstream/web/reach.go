package web

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
	if err == nil || is[*loginError](err) {
		return nil, false
	}
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var op *net.OpError
	switch {
	case Untrusted(err), HostNotFound(err):
		return err, true
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect"):
		return err, true
	}
	return nil, false
}

// Untrusted reports whether the server's certificate or TLS is invalid. A retry cannot fix that,
// and gauze never connects without verification.
func Untrusted(err error) bool {
	return is[*tls.CertificateVerificationError](err) || is[x509.UnknownAuthorityError](err) || is[x509.HostnameError](err) ||
		is[x509.CertificateInvalidError](err) || is[tls.RecordHeaderError](err) || is[tls.AlertError](err)
}

// is reports whether err is or wraps an error of type E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// HostNotFound reports whether the host name has no address.
func HostNotFound(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound
}
