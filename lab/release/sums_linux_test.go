package main

import (
	"encoding/base64"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// The tools that users have accept the sums and the signature, and refuse a changed list.
func TestOthersAcceptTheRelease(t *testing.T) {
	sha256sum, openssl := realparts.Tool(t, "sha256sum", "coreutils"), realparts.Tool(t, "openssl", "openssl")
	r, public := signed(t)
	dir := flattened(t, r)
	signed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(read(t, filepath.Join(dir, signatureFile)))))
	if err != nil {
		t.Fatal(err)
	}
	raw, list := filepath.Join(t.TempDir(), "signature"), filepath.Join(dir, sumsFile)
	write(t, raw, string(signed))
	check := exec.Command(sha256sum, "--strict", "-c", sumsFile)
	check.Dir = dir
	if said, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	do(t, openssl, "dgst", "-sha256", "-verify", public, "-signature", raw, list)
	write(t, list, string(read(t, list))+"\n")
	if said, err := exec.Command(openssl, "dgst", "-sha256", "-verify", public, "-signature", raw, list).CombinedOutput(); err == nil {
		t.Errorf("a changed list is accepted: %s", said)
	}
}

// A key that openssl made can be used, if it is of the right curve.
func TestKeysOfOpenSSL(t *testing.T) {
	openssl := realparts.Tool(t, "openssl", "openssl")
	r, file := standIns(t), filepath.Join(t.TempDir(), "key.pem")
	do(t, openssl, "ecparam", "-genkey", "-name", "prime256v1", "-out", file)
	if err := r.useKey(file); err != nil {
		t.Error(err)
	}
	do(t, openssl, "ecparam", "-genkey", "-name", "secp384r1", "-out", file)
	if err := r.useKey(file); err == nil {
		t.Error("a key of another curve was accepted")
	}
}
