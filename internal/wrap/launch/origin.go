package launch

import (
	"net/url"
	"strings"
)

// SameOrigin reports whether two addresses have the same origin (RFC 6454, section 4).
func SameOrigin(a, b *url.URL) bool { return Origin(a) == Origin(b) }

// Origin returns the scheme, host and port of an address, without the default port of the scheme.
func Origin(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; port != "" {
		host = strings.TrimSuffix(strings.TrimSuffix(host, port), ":")
	}
	return u.Scheme + "://" + host
}
