package bearer

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// algorithms are those with a key pair: with any other, the key that verifies a token also signs one.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// tokenTypes are the accepted values of typ. RFC 9068 requires the first, and its issuers may write
// the second; most issuers are older and write JWT or nothing. Tokens for other purposes have types
// of their own, such as logout+jwt.
var tokenTypes = map[string]bool{"at+jwt": true, "application/at+jwt": true, "jwt": true, "": true}

// readJWT returns the claims of a token with a valid signature. Nothing else is checked.
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
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return c, &Invalid{"the token is not a JWT signed with an accepted algorithm"}
	}
	payload, err := v.keys.payload(ctx, signed)
	if err != nil {
		return c, err
	}
	if wire.DecodeExact(payload, &c) != nil {
		return c, &Invalid{"the token's claims are malformed"}
	}
	return c, nil
}
