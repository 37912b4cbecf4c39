package attacks

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// ledger has the secrets that were issued, and where each may be seen.
type ledger struct {
	mu      sync.Mutex
	secrets []secret
	wrong   []string // wrong is what else must not happen.
}

// secret is a value that may be sent to some hosts only.
type secret struct {
	kind, value string
	issuer      string // issuer is the origin that issued it, which may always see it.
	resource    string // resource is the server that an access token was issued for; empty: none.
}

// note adds a secret.
func (l *ledger) note(s secret) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secrets = append(l.secrets, s)
}

// fail records something that must not happen.
func (l *ledger) fail(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// kindVerifier is the kind of a secret that is known by its hash only, until it is sent.
const kindVerifier = "verifier"

// in reports whether a request contains the secret.
func (s secret) in(r request) bool {
	if s.kind != kindVerifier {
		return strings.Contains(r.text(), s.value) || strings.Contains(r.text(), url.QueryEscape(s.value)) || strings.Contains(basic(r), s.value)
	}
	form, _ := url.ParseQuery(r.body)
	return form.Has("code_verifier") && challengeOf(form.Get("code_verifier")) == s.value
}

// basic returns the user and password of a request.
func basic(r request) string {
	text, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.header.Get("Authorization"), "Basic "))
	return string(text)
}

// challengeOf returns the challenge of a verifier (RFC 7636).
func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// belongs reports whether the secret may be seen at an address.
func (s secret) belongs(to *url.URL) bool {
	if originOf(to.String()) == s.issuer {
		return true
	}
	return s.resource != "" && originOf(s.resource) == originOf(to.String()) && strings.TrimSuffix(to.Path, "/") == pathOf(s.resource)
}

// verdict returns what went wrong: the secrets that were seen where they do not belong, each host once.
func (l *ledger) verdict(sent []request, heard string) (wrong []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wrong = slices.Clone(l.wrong)
	for _, s := range l.secrets {
		for _, r := range sent {
			if s.in(r) && !s.belongs(r.to) {
				wrong = append(wrong, fmt.Sprintf("%s of %s%s was sent to %s", s.kind, s.issuer, s.forWhat(), originOf(r.to.String())+r.to.Path))
			}
		}
		if s.kind != kindVerifier && s.kind != kindCode && strings.Contains(heard, s.value) {
			wrong = append(wrong, fmt.Sprintf("%s of %s was shown", s.kind, s.issuer))
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

func (s secret) forWhat() string {
	if s.resource == "" {
		return ""
	}
	return " for " + s.resource
}

// originOf returns the scheme, host and port of an address.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Path
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
