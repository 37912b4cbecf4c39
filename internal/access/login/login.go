package login

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Key identifies a login.
type Key struct {
	Resource string `json:"resource"` // the canonical URL of the server
	Issuer   string `json:"issuer"`   // the authorization server
	Account  string `json:"account,omitempty"`
}

// Resource returns the canonical form of the URL of a server, by which logins are kept: scheme and
// host in lower case, without a default port, user, query, fragment and trailing slash. Queries may
// contain secrets, and RFC 8707 advises against them.
func Resource(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && !(scheme == "https" && port == "443") && !(scheme == "http" && port == "80") {
		host += ":" + port
	}
	return scheme + "://" + host + strings.TrimRight(u.EscapedPath(), "/")
}

// Login is what is kept about one login. Its tokens are never shown: use Status.
type Login struct {
	Key
	Client        Client `json:"client"`
	AuthorizeURL  string `json:"authorize_url,omitempty"`
	TokenURL      string `json:"token_url"`
	RevocationURL string `json:"revocation_url,omitempty"`
	// Indicator is the resource parameter that the login was requested with, if it is not
	// Key.Resource: the server may call itself by the prefix of its URL.
	Indicator  string    `json:"indicator,omitempty"`
	Unbound    bool      `json:"unbound,omitempty"`     // no resource parameter is sent: the authorization server does not know it, or the user said so
	NoResource bool      `json:"no_resource,omitempty"` // the user said so, for this login and not for the next
	Scopes     []string  `json:"scopes,omitempty"`      // those that were granted
	Asked      []string  `json:"asked,omitempty"`       // the scopes that were asked for
	Access     string    `json:"access"`
	Expires    time.Time `json:"expires,omitzero"` // zero if the server did not say
	Refresh    string    `json:"refresh,omitempty"`
	Previous   string    `json:"previous,omitempty"` // the refresh token before Refresh, until Refresh has worked
	Who        string    `json:"who,omitempty"`      // the person, as the authorization server calls them; empty if it does not say
	Began      time.Time `json:"began"`              // when the person logged in
	Refreshed  time.Time `json:"refreshed,omitzero"`
	Ended      string    `json:"ended,omitempty"` // why the login can no longer be used; empty while it can
	Grant      string    `json:"grant,omitempty"` // how a program logged in without a person; empty for a person
}

// Client is who gauze is to an authorization server.
type Client struct {
	ID          string `json:"id"`
	Secret      string `json:"secret,omitempty"`
	Method      string `json:"method,omitempty"` // a token_endpoint_auth_method
	RedirectURL string `json:"redirect_url,omitempty"`
	Registered  bool   `json:"registered,omitempty"` // gauze registered it and may do so again
}

// String returns the key of the login.
func (l Login) String() string { return fmt.Sprintf("login to %s at %s", l.Resource, l.Issuer) }

// Format keeps tokens out of messages, whatever verb prints a Login.
func (l Login) Format(f fmt.State, _ rune) { fmt.Fprint(f, l.String()) }

// LogValue keeps tokens out of logs.
func (l Login) LogValue() slog.Value { return slog.StringValue(l.String()) }

// MarshalJSON returns the status, so that only the store can write tokens.
func (l Login) MarshalJSON() ([]byte, error) { return json.Marshal(l.Status()) }

// String returns the ID.
func (c Client) String() string { return c.ID }

// Format keeps the secret out of messages.
func (c Client) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.ID) }

// LogValue keeps the secret out of logs.
func (c Client) LogValue() slog.Value { return slog.StringValue(c.ID) }

// Status is what may be shown of a login.
type Status struct {
	Key
	Who       string    `json:"who,omitempty"`
	Scopes    []string  `json:"scopes,omitempty"`
	Missing   []string  `json:"missing,omitempty"` // scopes that were asked for but not granted
	Expires   time.Time `json:"expires,omitzero"`
	Renewable bool      `json:"renewable"`
	Began     time.Time `json:"began"`
	Refreshed time.Time `json:"refreshed,omitzero"`
	Ended     string    `json:"ended,omitempty"`
	Grant     string    `json:"grant,omitempty"` // how gauze logs in again without a person, if it does
}

// Status returns what may be shown of l.
func (l Login) Status() Status {
	return Status{l.Key, l.Who, l.Scopes, l.Missing(), l.Expires, l.Refresh != "", l.Began, l.Refreshed, l.Ended, l.Grant}
}

// Usable reports whether l may work without a person: its token may be valid, or can be renewed.
func (l Login) Usable(now time.Time) bool {
	return l.usable(now) || l.Ended == "" && (l.Refresh != "" || l.Grant != "")
}

// usable reports whether the access token of l may be valid.
func (l Login) usable(now time.Time) bool {
	return l.Ended == "" && l.Access != "" && (l.Expires.IsZero() || now.Before(l.Expires))
}

// lifetime returns how long the access token is valid in all, or 0 if the server did not say.
func (l Login) lifetime() time.Duration {
	from := l.Refreshed
	if from.IsZero() {
		from = l.Began
	}
	if l.Expires.IsZero() || !from.Before(l.Expires) {
		return 0
	}
	return l.Expires.Sub(from)
}

// Missing returns the scopes that were asked for but not granted. offline_access is not among them:
// it is granted as a refresh token.
func (l Login) Missing() []string {
	return without(l.Asked, append(slices.Clone(l.Scopes), offlineAccess))
}

// without returns the elements of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}
