// Package bearertest is an authorization server for tests: it issues tokens of every kind, rotates
// its keys, and can be down.
package bearertest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Issuer is an authorization server.
type Issuer struct {
	URL    string // URL is the issuer.
	Client string // Client and Secret are accepted by the introspection endpoint.
	Secret string

	server *httptest.Server

	mu       sync.Mutex
	keys     map[string]crypto.Signer // by key ID; all are published
	current  string
	down     bool
	metadata string // the only path that has the metadata; empty: all known ones
	change   func(map[string]any)
	active   map[string]map[string]any // what introspection says about a token
	codes    map[string]map[string]string
	seen     map[string]int
}

// Start returns an issuer at a free port of this machine. path is that of the issuer, such as
// /realms/one, or empty.
func Start(path string) *Issuer {
	i := &Issuer{Client: "gauze", Secret: "the secret: of+gauze", keys: map[string]crypto.Signer{}, active: map[string]map[string]any{},
		codes: map[string]map[string]string{}, seen: map[string]int{}}
	i.server = httptest.NewServer(http.HandlerFunc(i.serve))
	i.URL = i.server.URL + path
	i.Rotate("first")
	return i
}

// Close stops the issuer.
func (i *Issuer) Close() { i.server.Close() }

// Rotate replaces all keys with a new one.
func (i *Issuer) Rotate(id string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	i.Publish(id, key)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys, i.current = map[string]crypto.Signer{id: key}, id
}

// Publish adds a key.
func (i *Issuer) Publish(id string, key crypto.Signer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[id] = key
}

// SetDown makes every request fail, or not any more.
func (i *Issuer) SetDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

// MetadataOnlyAt makes path the only one that has the metadata.
func (i *Issuer) MetadataOnlyAt(path string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.metadata = path
}

// ChangeMetadata changes the metadata before it is sent.
func (i *Issuer) ChangeMetadata(change func(map[string]any)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.change = change
}

// Seen returns how many requests had this path.
func (i *Issuer) Seen(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.seen[path]
}

// Activate makes introspection say these claims about a token; nil: that it is not active.
func (i *Issuer) Activate(token string, claims map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.active[token] = claims
}

// Claims returns the claims of a valid token, with changes; nil removes a claim.
func (i *Issuer) Claims(audience string, changes map[string]any) map[string]any {
	all := map[string]any{"iss": i.URL, "sub": "alice", "client_id": "editor", "aud": audience, "scope": "tools:read tools:call",
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return all
}

// Token returns a token with these claims, signed with the current key.
func (i *Issuer) Token(claims map[string]any) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return Sign(map[string]any{"alg": "ES256", "typ": "at+jwt", "kid": i.current}, claims, i.keys[i.current])
}

// PublicKey returns the current public key as it is published.
func (i *Issuer) PublicKey() []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	text, _ := json.Marshal(published(i.current, i.keys[i.current].Public()))
	return text
}

// Sign returns a JWT. key is a crypto.Signer, the bytes of a shared secret, or nil for no signature.
func Sign(header, claims map[string]any, key any) string {
	text := func(value map[string]any) string {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		return string(text)
	}
	return SignText(text(header), text(claims), key)
}

// SignText is Sign for a header and claims that need not be what an issuer would write.
func SignText(header, claims string, key any) string {
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	signed := encode(header) + "." + encode(claims)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature([]byte(signed), key))
}

func signature(text []byte, key any) []byte {
	digest := sha256.Sum256(text)
	var out []byte
	var err error
	switch key := key.(type) {
	case nil:
	case []byte:
		mac := hmac.New(sha256.New, key)
		mac.Write(text)
		out = mac.Sum(nil)
	case *ecdsa.PrivateKey:
		var r, s *big.Int
		if r, s, err = ecdsa.Sign(rand.Reader, key, digest[:]); err == nil {
			out = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	case *rsa.PrivateKey:
		out, err = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	case ed25519.PrivateKey:
		out = ed25519.Sign(key, text)
	default:
		err = fmt.Errorf("no way to sign with %T", key)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// published returns a public key as a JWK.
func published(id string, key crypto.PublicKey) map[string]any {
	number := func(bytes []byte) string { return base64.RawURLEncoding.EncodeToString(bytes) }
	jwk := map[string]any{"kid": id, "use": "sig"}
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		point, err := key.Bytes() // 4, x, y
		if err != nil {
			panic(err)
		}
		jwk["kty"], jwk["crv"], jwk["x"], jwk["y"] = "EC", "P-256", number(point[1:33]), number(point[33:])
	case *rsa.PublicKey:
		jwk["kty"], jwk["n"], jwk["e"] = "RSA", number(key.N.Bytes()), number(big.NewInt(int64(key.E)).Bytes())
	case ed25519.PublicKey:
		jwk["kty"], jwk["crv"], jwk["x"] = "OKP", "Ed25519", number(key)
	}
	return jwk
}
