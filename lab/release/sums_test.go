package main

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// signed returns a finished release of stand-ins with a signature, and its public key.
func signed(t *testing.T) (r *release, public string) {
	t.Helper()
	r = standIns(t)
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := newKey(file); err != nil {
		t.Fatal(err)
	}
	if err := r.useKey(file); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(r.dir, keylessFile), "{}")
	write(t, filepath.Join(r.dir, "npm", "gauze-mcp.tgz"), "a package")
	write(t, filepath.Join(r.dir, "images", "layout", "oci-layout"), "{}")
	write(t, filepath.Join(r.dir, "images", "layout", "blob"), "part of an image")
	write(t, filepath.Join(r.dir, "images", "gauze.tar"), "an image")
	r.run(t, archives, packages, manifests, notes, sums, signature)
	return r, file + ".pub"
}

// A finished release is accepted, as it was made and as it is published.
func TestVerifyAcceptsTheRelease(t *testing.T) {
	r, public := signed(t)
	var out bytes.Buffer
	if err := verify(r.dir, public, &out); err != nil || strings.Contains(out.String(), "not checked") {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := verify(r.dir, "", &out); err != nil || !strings.Contains(out.String(), "signature not checked") {
		t.Errorf("without a key: %v\n%s", err, out.String())
	}
	flat := flattened(t, r)
	if err := verify(flat, public, &out); err != nil {
		t.Error(err)
	}
	list := string(read(t, filepath.Join(r.dir, sumsFile)))
	if strings.Contains(list, "/") || strings.Contains(list, "blob") || !strings.Contains(list, "  gauze.tar\n") || strings.Count(list, "\n") != len(filesIn(t, flat))-2 {
		t.Errorf("the list:\n%s", list)
	}
}

// flattened returns a directory with the files of a release as GitHub has them.
func flattened(t *testing.T, r *release) string {
	t.Helper()
	flat := t.TempDir()
	files, err := artefacts(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{sumsFile, signatureFile} {
		files[name] = filepath.Join(r.dir, name)
	}
	for name, file := range files {
		write(t, filepath.Join(flat, name), string(read(t, file)))
	}
	return flat
}

// One changed byte in any file, a missing file and an added one are refused by name.
func TestVerifyRefusesWhatChanged(t *testing.T) {
	r, public := signed(t)
	files, err := artefacts(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(name, why string) {
		t.Helper()
		err := verify(r.dir, public, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "next: do not publish") {
			t.Errorf("%s %s: %v", name, why, err)
		}
	}
	for name, file := range files {
		content := read(t, file)
		content[len(content)/2] ^= 1
		write(t, file, string(content))
		refused(name, "has changed")
		content[len(content)/2] ^= 1
		if err := os.Rename(file, r.dir+".moved"); err != nil {
			t.Fatal(err)
		}
		refused(name, "is missing")
		if err := os.Rename(r.dir+".moved", file); err != nil {
			t.Fatal(err)
		}
		write(t, file, string(content))
	}
	for _, name := range []string{"pypi/extra.whl", "SHA256SUMS.exe", "npm/SHA256SUMS"} {
		extra := filepath.Join(r.dir, name)
		write(t, extra, "")
		refused(filepath.Base(name), "is not in SHA256SUMS")
		os.Remove(extra)
	}
	for _, name := range []string{sumsFile, signatureFile} {
		file := filepath.Join(r.dir, name)
		content := read(t, file)
		content[10] ^= 1
		write(t, file, string(content))
		refused(signatureFile, "is not a signature")
		content[10] ^= 1
		write(t, file, string(content))
	}
	if err := verify(r.dir, public, &bytes.Buffer{}); err != nil {
		t.Errorf("after everything was put back: %v", err)
	}
	os.Remove(filepath.Join(r.dir, signatureFile))
	refused(signatureFile, "")
	other := filepath.Join(t.TempDir(), "other")
	if err := newKey(other); err != nil {
		t.Fatal(err)
	}
	r.run(t, signature)
	public = other + ".pub"
	refused(signatureFile, "is not a signature")
}

// The files of a release are in one directory, so two of one name are refused.
func TestSumsRefuseTwoFilesOfOneName(t *testing.T) {
	r := standIns(t)
	write(t, filepath.Join(r.dir, "npm", "gauze.tgz"), "one")
	write(t, filepath.Join(r.dir, "other", "gauze.tgz"), "two")
	if err := sums(t.Context(), r); err == nil || !strings.Contains(err.Error(), "gauze.tgz have the same name") {
		t.Errorf("%v", err)
	}
	for _, list := range []string{"", "short  name\n", strings.Repeat("a", 64) + "  ../name\n", strings.Repeat("a", 64) + " name\n"} {
		write(t, filepath.Join(r.dir, sumsFile), list)
		if _, err := readSums(filepath.Join(r.dir, sumsFile)); err == nil {
			t.Errorf("%q is accepted as a list", list)
		}
	}
}

// A key is for its owner alone, and is never overwritten. The binaries know its public part.
func TestKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := newKey(file); err != nil {
		t.Fatal(err)
	}
	before := read(t, file)
	if err := newKey(file); err == nil || !bytes.Equal(before, read(t, file)) {
		t.Errorf("the key was overwritten: %v", err)
	}
	os.Rename(file, file+".old")
	if err := newKey(file); err == nil { // its public part is still there
		t.Error("the public key was overwritten")
	}
	if info, err := os.Stat(file + ".old"); runtime.GOOS != "windows" && (err != nil || info.Mode() != 0o600) {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	r := standIns(t)
	if err := r.useKey(file + ".old"); err != nil {
		t.Fatal(err)
	}
	_, flag, _ := strings.Cut(r.flags(), "-X main.releaseKey=")
	der, err := base64.StdEncoding.DecodeString(flag)
	if public := read(t, file+".pub"); err != nil || !strings.Contains(strings.ReplaceAll(string(public), "\n", ""), base64.StdEncoding.EncodeToString(der)) {
		t.Errorf("flags: %s, %v, public key:\n%s", r.flags(), err, public)
	}
	if err := r.useKey(file + ".pub"); err == nil || !strings.Contains(err.Error(), "-newkey") {
		t.Errorf("a public key was accepted for signing: %v", err)
	}
	if _, err := readPublic(file + ".old"); err == nil {
		t.Error("a private key was accepted as a public one")
	}
}

// Without a key there is no signature, not even that of an earlier list.
func TestUnsignedReleaseHasNoSignature(t *testing.T) {
	r, public := signed(t)
	r.signer = nil
	r.run(t, sums, signature)
	if err := verify(r.dir, public, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), signatureFile) {
		t.Errorf("%v", err)
	}
}

// A whole release replaces an earlier one, and nothing else.
func TestReleaseClearsItsDirectory(t *testing.T) {
	r := standIns(t)
	if err := r.clear(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.dir); err == nil {
		t.Error("the earlier release is still there")
	}
	if err := r.clear(); err != nil {
		t.Errorf("nothing there: %v", err)
	}
	r.dir = t.TempDir()
	write(t, filepath.Join(r.dir, "thesis.txt"), "years of work")
	if err := r.make(t.Context(), nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("%v", err)
	}
	read(t, filepath.Join(r.dir, "thesis.txt"))
}
