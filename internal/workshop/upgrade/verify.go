package upgrade

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// The files of a release that verify the others.
const (
	sumsFile      = "SHA256SUMS"
	signatureFile = "SHA256SUMS.sig"
)

// suspicious ends the message about files that do not match their signature.
const suspicious = "\nnext: try again later; if it happens again, do not install from there, and report it: https://github.com/gauze-mcp/gauze/security"

// ErrNoKey means that this program was built without a release key, so it cannot verify a release.
var ErrNoKey = errors.New("this copy of gauze was built without a release key and cannot verify a release; nothing was changed\nnext: download a signed release from " + Address)

// parseKey reads a public key: base64 of the PKIX form of an ECDSA key on the curve P-256.
func parseKey(text string) (*ecdsa.PublicKey, error) {
	if text == "" {
		return nil, ErrNoKey
	}
	var key any
	der, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		key, err = x509.ParsePKIXPublicKey(der)
	}
	public, ok := key.(*ecdsa.PublicKey)
	if err != nil || !ok || public.Curve != elliptic.P256() {
		return nil, errors.New("the release key in this build of gauze is not an ECDSA P-256 key, so it cannot verify a release; nothing was changed\nnext: download a signed release from " + Address)
	}
	return public, nil
}

// verify returns an error unless the signature, base64 of its ASN.1 form, is the key's over the SHA-256
// of list.
func verify(key *ecdsa.PublicKey, list, signature []byte) error {
	text := strings.TrimSuffix(string(signature), "\n")
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // which base64 skips
		return fmt.Errorf("%s is not a signature (it must be base64); nothing was changed", signatureFile)
	}
	digest := sha256.Sum256(list)
	if !ecdsa.VerifyASN1(key, digest[:], raw) {
		return fmt.Errorf("%s does not match %s: one of them was modified, or the signature was made with a different key from the one in this build of gauze; nothing was changed", signatureFile, sumsFile)
	}
	return nil
}

// parseSums reads lines as sha256sum writes them. It is strict, because a list that two programs read
// differently proves nothing.
func parseSums(list []byte) (map[string][sha256.Size]byte, error) {
	sums := map[string][sha256.Size]byte{}
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSuffix(line, "\n")
		digits, name, ok := strings.Cut(line, "  ")
		var sum [sha256.Size]byte
		raw, err := hex.DecodeString(digits)
		if !ok || err != nil || copy(sum[:], raw) != len(sum) || len(raw) != len(sum) || name == "" || strings.ContainsAny(name, "/\\ \r") {
			return nil, fmt.Errorf("%s has a line that is not a SHA-256 hash and a file name: %q; nothing was changed", sumsFile, line)
		}
		if _, twice := sums[name]; twice {
			return nil, fmt.Errorf("%s lists %q twice; nothing was changed", sumsFile, name)
		}
		sums[name] = sum
	}
	return sums, nil
}
