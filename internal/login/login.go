package login

import (
	"fmt"
	"time"
)

// Key identifies a login.
type Key struct {
	Resource string `json:"resource"` // Resource is the canonical URL of the server.
	Issuer   string `json:"issuer"`   // Issuer is the authorization server.
	Account  string `json:"account,omitempty"`
}

// Login is what is kept about one login. Its tokens are never shown: use Status.
type Login struct {
	Key
	Client        Client    `json:"client"`
	TokenURL      string    `json:"token_url"`
	RevocationURL string    `json:"revocation_url,omitempty"`
	Scopes        []string  `json:"scopes,omitempty"` // Scopes were granted.
	Access        string    `json:"access"`
	Expires       time.Time `json:"expires,omitzero"` // Expires is zero if the server did not say.
	Refresh       string    `json:"refresh,omitempty"`
	Previous      string    `json:"previous,omitempty"` // Previous is the refresh token before Refresh, until Refresh has worked.
	Who           string    `json:"who,omitempty"`      // Who is the person as the authorization server names them; empty if it does not.
	Began         time.Time `json:"began"`              // Began is when the person logged in.
	Refreshed     time.Time `json:"refreshed,omitzero"`
	Ended         string    `json:"ended,omitempty"` // Ended is why the login can no longer be used; empty while it can.
}

// Client is who gauze is to an authorization server.
type Client struct {
	ID          string `json:"id"`
	Secret      string `json:"secret,omitempty"`
	Method      string `json:"method,omitempty"` // Method is a token_endpoint_auth_method.
	RedirectURL string `json:"redirect_url,omitempty"`
	Registered  bool   `json:"registered,omitempty"` // Registered means that gauze registered it and may do so again.
}

// String keeps tokens out of messages, whatever prints a Login.
func (l Login) String() string { return fmt.Sprintf("login to %s at %s", l.Resource, l.Issuer) }

// GoString is String.
func (l Login) GoString() string { return l.String() }

// String keeps the secret out of messages.
func (c Client) String() string { return c.ID }

// GoString is String.
func (c Client) GoString() string { return c.ID }

// Status is what may be shown of a login.
type Status struct {
	Key
	Who       string    `json:"who,omitempty"`
	Scopes    []string  `json:"scopes,omitempty"`
	Expires   time.Time `json:"expires,omitzero"`
	Renewable bool      `json:"renewable"`
	Began     time.Time `json:"began"`
	Refreshed time.Time `json:"refreshed,omitzero"`
	Ended     string    `json:"ended,omitempty"`
}

// Status returns what may be shown of l.
func (l Login) Status() Status {
	return Status{l.Key, l.Who, l.Scopes, l.Expires, l.Refresh != "", l.Began, l.Refreshed, l.Ended}
}
