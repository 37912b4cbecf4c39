package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// signature signs the list of sums if the release has a key: the base64 of an ASN.1 ECDSA signature, which
// is what cosign sign-blob writes. The same key and list give the same signature (RFC 6979).
func signature(_ context.Context, r *release) error {
	if r.signer == nil {
		err := os.Remove(filepath.Join(r.dir, signatureFile)) // of an earlier list
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	list, err := os.ReadFile(filepath.Join(r.dir, sumsFile))
	if err != nil {
		return err
	}
	digest := sha256.Sum256(list)
	signed, err := r.signer.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return err
	}
	return r.write(signatureFile, []byte(base64.StdEncoding.EncodeToString(signed)+"\n"))
}

// checkSignature verifies the list of sums in a directory with the public key in a file.
func checkSignature(dir, public string) error {
	key, err := readPublic(public)
	if err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, signatureFile))
	if err != nil {
		return err
	}
	signed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	digest := sha256.Sum256(list)
	if err != nil || !ecdsa.VerifyASN1(key, digest[:], signed) {
		return fmt.Errorf("%s is not a signature of %s by the key in %s", signatureFile, sumsFile, public)
	}
	return nil
}

// useKey reads the private key of the release: for the signature, and its public part for the binaries.
func (r *release) useKey(file string) error {
	key, err := readPrivate(file)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	r.signer, r.key = key, base64.StdEncoding.EncodeToString(public)
	return nil
}

// usePublic makes the binaries know a public key, for a release that is signed later and elsewhere.
func (r *release) usePublic(file string) error {
	key, err := readPublic(file)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key)
	r.key = base64.StdEncoding.EncodeToString(public)
	return err
}

// readPrivate reads a P-256 key in PEM: what newKey and openssl ecparam -genkey write, or PKCS #8.
func readPrivate(file string) (*ecdsa.PrivateKey, error) {
	rest, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, fmt.Errorf("%s is not a P-256 private key in PEM\nnext: make one with -newkey FILE", file)
		}
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			parsed, _ = x509.ParseECPrivateKey(block.Bytes)
		}
		if key, ok := parsed.(*ecdsa.PrivateKey); ok && key != nil && key.Curve == elliptic.P256() {
			return key, nil
		}
	}
}

func readPublic(file string) (*ecdsa.PublicKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if block, _ := pem.Decode(text); block != nil {
		parsed, _ := x509.ParsePKIXPublicKey(block.Bytes)
		if key, ok := parsed.(*ecdsa.PublicKey); ok && key.Curve == elliptic.P256() {
			return key, nil
		}
	}
	return nil, fmt.Errorf("%s is not a P-256 public key in PEM", file)
}

// newKey makes a key for releases: the private part in file, for its owner alone, and the public part in
// file.pub. It does not overwrite either.
func newKey(file string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file + ".pub"); err == nil {
		return fmt.Errorf("%s exists already", file+".pub")
	}
	if err := writeNew(file, 0o600, "PRIVATE KEY", private); err != nil {
		return err
	}
	return writeNew(file+".pub", 0o644, "PUBLIC KEY", public)
}

func writeNew(file string, mode os.FileMode, kind string, der []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already", file)
	}
	if err != nil {
		return err
	}
	return errors.Join(pem.Encode(f, &pem.Block{Type: kind, Bytes: der}), f.Close())
}
