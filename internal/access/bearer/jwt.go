package bearer

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// algorithms are those with a key pair: with any other, the key that verifies a token also signs one.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
	oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// tokenTypes are the accepted values of typ. RFC 9068 requires the first, and its issuers may write
// the second; most issuers are older and write JWT or nothing. Tokens for other purposes have types
// of their own, such as logout+jwt.
var tokenTypes = map[string]bool{"at+jwt": true, "application/at+jwt": true, "jwt": true, "": true}

// readJWT returns the claims of a token with a valid signature. Nothing else is checked: package
// oidc would treat it as an ID token, with other rules.
func (v *Verifier) readJWT(ctx context.Context, token string) (c claims, err error) {
	head, _, _ := strings.Cut(token, ".")
	var header struct {
		Type string `json:"typ"`
	}
	text, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil || strings.Count(token, ".") != 2 || wire.DecodeExact(text, &header) != nil {
		return c, &Invalid{"the token is not a signed JWT"}
	}
	if !tokenTypes[strings.ToLower(header.Type)] {
		return c, &Invalid{"the token is a JWT of another type; an access token is required"}
	}
	keys := &signature{keys: v.keys}
	_, err = oidc.NewVerifier(v.Issuer, keys, &oidc.Config{
		SupportedSigningAlgs: algorithms, SkipClientIDCheck: true, SkipExpiryCheck: true, SkipIssuerCheck: true,
	}).Verify(ctx, token)
	switch {
	case keys.err != nil:
		return c, keys.err
	case err != nil && keys.payload == nil:
		return c, &Invalid{"the token is not a JWT signed with an accepted algorithm"}
	case err != nil || wire.DecodeExact(keys.payload, &c) != nil:
		return c, &Invalid{"the token's claims are malformed"}
	}
	return c, nil
}

// signature verifies one token. It keeps what was signed, which is never nil if the signature is
// valid, and the error, which package oidc turns into text.
type signature struct {
	keys    *keySet
	payload []byte
	err     error
}

func (s *signature) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	s.payload, s.err = s.keys.VerifySignature(ctx, jwt)
	return s.payload, s.err
}
