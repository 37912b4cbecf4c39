// Package bearer validates the access tokens that clients of gauze serve send. An authorization
// server, the issuer, issues them.
//
//	bearer.go      Verifier: who sent a token, or why it is not accepted
//	claims.go      what a token says, and the checks that every token must pass
//	jwt.go         tokens that are signed: JWTs (RFC 9068)
//	keys.go        the keys of the issuer, which may change at any time
//	introspect.go  tokens that only the issuer understands (RFC 7662)
//	issuer.go      the addresses of the issuer, from its metadata
//
// A token is sent only to the issuer, and only for introspection.
package bearer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// Config is what a Verifier requires of a token.
type Config struct {
	Issuer   string   // Issuer is the authorization server, exactly as its tokens name it.
	Audience string   // Audience must be among those that a token is for.
	Scopes   []string // Scopes must all have been granted.

	// Introspection is how gauze authenticates when it asks the issuer about a token. Nil: tokens
	// are JWTs, and nothing is asked.
	Introspection *Credentials

	// Report is called when tokens cannot be validated because of the issuer, at most once a
	// minute; nil: it is not reported. It must not block.
	Report func(error)

	now func() time.Time // for tests
}

// Credentials are a client ID and its secret.
type Credentials struct {
	ID     string
	Secret string // Secret is never shown.
}

// String keeps the secret out of messages.
func (c Credentials) String() string { return c.ID }

// GoString is String.
func (c Credentials) GoString() string { return c.ID }

// Verifier validates tokens. It is safe for concurrent use.
type Verifier struct {
	Config
	issuer   *issuer
	keys     *keySet
	answers  *answers
	reported rate.Sometimes
}

// New returns a Verifier. It sends no request until Prepare or Verify is called.
func New(c Config) (*Verifier, error) {
	if err := CheckURL(c.Issuer); err != nil {
		return nil, err
	}
	if c.now == nil {
		c.now = time.Now
	}
	v := &Verifier{Config: c, issuer: newIssuer(c.Issuer), reported: rate.Sometimes{First: 1, Interval: time.Minute}}
	if c.Introspection != nil {
		v.answers = newAnswers()
	} else {
		v.keys = newKeySet(v.issuer, c.now)
	}
	return v, nil
}

// Prepare checks that the issuer can be used. The error is *Unavailable if that may be so later;
// other errors are permanent: the configuration is wrong.
func (v *Verifier) Prepare(ctx context.Context) error {
	if v.Introspection == nil {
		_, err := v.keys.address(ctx)
		return err
	}
	// A token that was never issued shows whether the issuer accepts the credentials.
	if _, err := v.introspect(ctx, "gauze-checks-its-credentials"); err != nil {
		return err
	}
	return nil
}

// Identity is who a token was issued to.
type Identity struct {
	Issuer  string
	Subject string // Subject is the person, or the program if no person is involved.
	Client  string // Client is the program that sends the token; empty if the issuer does not say.

	Expires time.Time // Expires is when the token is no longer accepted; zero if the issuer does not say.
}

// Key identifies who sent a request. It is never that of a different identity, and never zero.
func (i Identity) Key() [sha256.Size]byte {
	text, _ := json.Marshal([]string{i.Issuer, i.Subject, i.Client}) // strings only: it cannot fail
	return sha256.Sum256(text)
}

// Person identifies the person, whichever client is used; empty if the issuer does not say who it is.
func (i Identity) Person() string {
	if i.Subject == "" {
		return ""
	}
	return strconv.QuoteToASCII(i.Subject) + " of " + i.Issuer
}

// Invalid means that a token is not accepted.
type Invalid struct {
	Why string // Why is a sentence without a full stop. It contains nothing of the token.
}

func (e *Invalid) Error() string { return e.Why }

// MissingScope means that a token is valid but does not permit enough.
type MissingScope struct {
	Required []string
}

func (e *MissingScope) Error() string {
	return "the token lacks a scope; required: " + strings.Join(e.Required, " ")
}

// Unavailable means that the issuer did not say whether a token is valid. Nothing is known about the
// token.
type Unavailable struct {
	Issuer string
	Err    error
}

func (e *Unavailable) Error() string {
	return fmt.Sprintf("the authorization server %s cannot be used: %v", e.Issuer, e.Err)
}

func (e *Unavailable) Unwrap() error { return e.Err }

// maxTokenLen limits a token. Those with many groups have about 8 KB.
const maxTokenLen = 16 << 10

// Verify returns who a token was issued to. The error is *Invalid, *MissingScope or *Unavailable.
func (v *Verifier) Verify(ctx context.Context, token string) (Identity, error) {
	switch {
	case len(token) > maxTokenLen:
		return Identity{}, &Invalid{fmt.Sprintf("the token is longer than %d bytes", maxTokenLen)}
	case strings.Trim(token, tokenCharacters) != "" || token == "":
		return Identity{}, &Invalid{"the token contains characters that are not valid in a token"}
	}
	who, err := v.verify(ctx, token)
	if down, ok := errors.AsType[*Unavailable](err); ok && v.Report != nil && ctx.Err() == nil {
		v.reported.Do(func() { v.Report(down) })
	}
	return who, err
}

// tokenCharacters are those of a bearer token (RFC 6750, section 2.1).
const tokenCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="

func (v *Verifier) verify(ctx context.Context, token string) (Identity, error) {
	var c claims
	var err error
	if v.Introspection != nil {
		c, err = v.answers.about(ctx, token, v.now, v.introspect)
	} else {
		c, err = v.readJWT(ctx, token)
	}
	if err != nil {
		return Identity{}, v.explain(err)
	}
	return v.check(c)
}

// explain returns err as one of the types that Verify returns. Whatever is not about the token is
// about the issuer.
func (v *Verifier) explain(err error) error {
	switch err.(type) {
	case *Invalid, *Unavailable:
		return err
	}
	return &Unavailable{v.Issuer, err}
}
