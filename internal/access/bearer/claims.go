package bearer

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// claims are what a JWT or the answer of an introspection says.
type claims struct {
	Active    bool   `json:"active"` // only of an introspection
	Issuer    string `json:"iss"`
	Subject   string `json:"sub"`
	ClientID  string `json:"client_id"`
	Party     string `json:"azp"` // what OpenID Connect calls the client
	Audience  list   `json:"aud"`
	Expires   *date  `json:"exp"`
	NotBefore *date  `json:"nbf"`
	Scope     words  `json:"scope"`
	Scp       words  `json:"scp"` // some issuers use this name

	Confirmation json.RawMessage `json:"cnf"`     // of a token that is bound to a key
	TokenHash    string          `json:"at_hash"` // of an ID token, which accompanies an access token
}

// leeway is how much the clocks of gauze and the issuer may differ.
const leeway = time.Minute

// check returns who the token was issued to, if it can be used here and now.
func (v *Verifier) check(c claims) (Identity, error) {
	now := v.now()
	switch {
	// An answer need not repeat the issuer: only this one was asked.
	case c.Issuer != v.Issuer && (v.Introspection == nil || c.Issuer != ""):
		return Identity{}, &Invalid{"the token was issued by a different authorization server; required: " + v.Issuer}
	case !slices.Contains(c.Audience, v.Audience):
		return Identity{}, &Invalid{"the token is for a different audience; required: " + v.Audience}
	case c.Expires == nil && v.Introspection == nil:
		return Identity{}, &Invalid{"the token has no expiry"}
	case c.Expires != nil && !now.Before(c.Expires.Add(leeway)):
		return Identity{}, &Invalid{"the token has expired"}
	case c.NotBefore != nil && now.Before(c.NotBefore.Add(-leeway)):
		return Identity{}, &Invalid{"the token is not valid yet"}
	case len(c.Confirmation) > 0 && string(c.Confirmation) != "null":
		return Identity{}, &Invalid{"the token is bound to a key (DPoP or mutual TLS), which gauze does not support; use a bearer token"}
	case c.TokenHash != "":
		return Identity{}, &Invalid{"this is an ID token; send the access token"}
	}
	who := Identity{Issuer: v.Issuer, Subject: c.Subject, Client: c.ClientID}
	if who.Client == "" {
		who.Client = c.Party
	}
	if c.Expires != nil {
		who.Expires = c.Expires.Add(leeway)
	}
	if who.Subject == "" && who.Client == "" {
		return Identity{}, &Invalid{"the token has neither a subject nor a client"}
	}
	for _, scope := range v.Scopes {
		if !slices.Contains(c.Scope, scope) && !slices.Contains(c.Scp, scope) {
			return Identity{}, &MissingScope{v.Scopes}
		}
	}
	return who, nil
}

// list is one string or several.
type list []string

func (l *list) UnmarshalJSON(text []byte) error {
	var one string
	if err := json.Unmarshal(text, &one); err == nil {
		*l = list{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(l))
}

// words are strings separated by spaces, or a list of strings.
type words []string

func (w *words) UnmarshalJSON(text []byte) error {
	var one string
	if err := json.Unmarshal(text, &one); err == nil {
		*w = strings.Fields(one)
		return nil
	}
	return json.Unmarshal(text, (*[]string)(w))
}

// date is a number of seconds, possibly with a fraction.
type date struct{ time.Time }

const maxSeconds = 1 << 37 // about 4,000 years

func (d *date) UnmarshalJSON(text []byte) error {
	var seconds float64
	if err := json.Unmarshal(text, &seconds); err != nil {
		return err
	}
	if seconds < 0 || seconds > maxSeconds {
		return errors.New("a date is out of range")
	}
	d.Time = time.Unix(int64(seconds), 0)
	return nil
}
