package upgrade

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/releasetest"
)

// signed returns a list of checksums and its signature.
func signed(t *testing.T) (releasetest.Key, *ecdsa.PublicKey, []byte, []byte) {
	t.Helper()
	key := releasetest.NewKey()
	public, err := parseKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	list := releasetest.Sums(releasetest.Files("1.3.0", []byte("a program")))
	return key, public, list, key.Sign(list)
}

func TestEveryChangedBitIsRefused(t *testing.T) {
	_, key, list, signature := signed(t)
	if err := verify(key, list, signature); err != nil {
		t.Fatal(err)
	}
	for what, content := range map[string][]byte{sumsFile: list, signatureFile: signature} {
		for i := range content {
			for bit := range 8 {
				content[i] ^= 1 << bit
				if verify(key, list, signature) == nil {
					t.Errorf("%s with bit %d of byte %d changed is accepted", what, bit, i)
				}
				content[i] ^= 1 << bit
			}
		}
	}
}

func TestASignatureIsOneLine(t *testing.T) {
	_, key, list, signature := signed(t)
	text := strings.TrimSpace(string(signature))
	for content, accepted := range map[string]bool{
		text: true, text + "\n": true,
		text + "\n\n": false, text + "\r\n": false, "\n" + text: false, text[:9] + "\n" + text[9:]: false, text[:9] + "\r" + text[9:]: false, text + " ": false, text + "\x00": false,
	} {
		if err := verify(key, list, []byte(content)); (err == nil) != accepted {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestASignatureOfADifferentKeyIsRefused(t *testing.T) {
	_, key, list, _ := signed(t)
	err := verify(key, list, releasetest.NewKey().Sign(list))
	if err == nil || !strings.Contains(err.Error(), "SHA256SUMS.sig does not match SHA256SUMS") {
		t.Errorf("got %v", err)
	}
}

// What we verify is what openssl and cosign sign and verify.
func TestOpenSSLAgrees(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	made, _, list, signature := signed(t)
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	run := func(args ...string) (string, error) {
		out, err := exec.Command(openssl, args...).CombinedOutput()
		return string(out), err
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(signature)))
	if err != nil {
		t.Fatal(err)
	}
	listed, sig := write(sumsFile, list), write("raw.sig", raw)
	public := write("key.pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: made.DER()}))
	if out, err := run("dgst", "-sha256", "-verify", public, "-signature", sig, listed); err != nil || !strings.Contains(out, "Verified OK") {
		t.Errorf("openssl does not verify our signature: %v\n%s", err, out)
	}
	private := filepath.Join(dir, "key.pem")
	if out, err := run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", private); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	der := filepath.Join(dir, "key.der")
	if out, err := run("ec", "-in", private, "-pubout", "-outform", "DER", "-out", der); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := run("dgst", "-sha256", "-sign", private, "-out", sig, listed); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	key, err := parseKey(base64.StdEncoding.EncodeToString(read(t, der)))
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(key, list, []byte(base64.StdEncoding.EncodeToString(read(t, sig))+"\n")); err != nil {
		t.Errorf("we do not verify the signature of openssl: %v", err)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestAnotherKindOfKeyIsRefused(t *testing.T) {
	larger, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&larger.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{"P-384": base64.StdEncoding.EncodeToString(der), "not base64": "%", "not a key": "aGVsbG8="} {
		if _, err := parseKey(key); err == nil || !strings.Contains(err.Error(), "is not an ECDSA P-256 key") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := parseKey(""); err != ErrNoKey {
		t.Errorf("without a key: got %v", err)
	}
}

func TestAListMustBeExact(t *testing.T) {
	list := releasetest.Sums(map[string][]byte{"a": nil, "b": nil})
	if sums, err := parseSums(list); err != nil || len(sums) != 2 {
		t.Fatalf("got %v, %v", sums, err)
	}
	line := string(list[:bytes.IndexByte(list, '\n')+1])
	for name, text := range map[string]string{
		"a name twice":       line + line,
		"a directory":        strings.Replace(line, "  a", "  ../a", 1),
		"a Windows path":     strings.Replace(line, "  a", `  x\a`, 1),
		"a short sum":        line[2:],
		"a long sum":         "00" + line,
		"no name":            strings.TrimSuffix(line, "a\n") + "\n",
		"a binary mark":      strings.Replace(line, "  a", " *a", 1),
		"a Windows newline":  strings.Replace(line, "\n", "\r\n", 1),
		"an empty line":      line + "\n",
		"something else":     "<html>\n",
		"a sum with no name": line[:64],
	} {
		if sums, err := parseSums([]byte(text)); err == nil {
			t.Errorf("%s is accepted: %v", name, sums)
		}
	}
}
