package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

// command runs the command line and returns what it prints.
func command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	windowstest.Skip(t)
	var (
		o     options
		out   bytes.Buffer
		flags = flag.NewFlagSet("release", flag.ContinueOnError)
	)
	o.define(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	err := o.run(t.Context(), flags.Args(), &out)
	return out.String(), err
}

// An invalid command line is refused before anything is made or removed.
func TestMisuse(t *testing.T) {
	r, public := signed(t)
	before := read(t, filepath.Join(r.dir, signatureFile))
	for want, args := range map[string][]string{
		`unexpected argument "extra"`:                                  {"extra", "-only", "x"},
		`-only: unknown kind "x": must be one of binaries, manual, `:   {"-only", "notes, x"},
		`-only: unknown kind "": must be one of`:                       {"-only", "notes,"},
		`-targets: unknown system "x": must be one of darwin/amd64, d`: {"-only", "notes", "-targets", "linux/amd64, x"},
		`invalid -version "x": must look like 1.2.3`:                   {"-only", "notes", "-version", "x"},
		"-only signature requires -key FILE":                           {"-only", "signature"},
		"-only signature requires -key FILE\n":                         {"-only", "sums, signature", "-public", public},
		"pass an OCI layout, or a reference with a digest":             {"-base", "node:22", "-version", "1.2.3-rc.1"},
	} {
		said, err := command(t, append([]string{"-o", r.dir}, args...)...)
		if err == nil || !strings.Contains(err.Error()+"\n", want) || !errors.As(err, &misuse{}) || said != "" {
			t.Errorf("%q: %v\n%s\nexpected %s", args, err, said, want)
		}
	}
	if after := read(t, filepath.Join(r.dir, signatureFile)); !bytes.Equal(before, after) {
		t.Errorf("the signature was changed: %s", after)
	}
}

// What a release needs in the end is checked before anything is compiled or removed.
func TestReleaseWithoutNotesIsRefusedFirst(t *testing.T) {
	r := standIns(t)
	if said, err := command(t, "-o", r.dir, "-version", "77.0.0"); err == nil || !strings.Contains(err.Error(), "CHANGELOG.md has no text for 77.0.0") || said != "" {
		t.Errorf("%v\n%s", err, said)
	}
	read(t, r.binary(released[0], linux))
}

// Lists may have spaces, and a base may be a layout below the root of the repository.
func TestListsAndPaths(t *testing.T) {
	r := &release{}
	if err := r.choose("linux/amd64, windows/arm64"); err != nil || len(r.targets) != 2 {
		t.Errorf("%v, %v", r.targets, err)
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "base", "index.json"), "{}")
	o := options{dir: "dist", base: "base"}
	if o.resolve(root); o.base != filepath.Join(root, "base") || o.dir != filepath.Join(root, "dist") || o.key != "" {
		t.Errorf("%+v", o)
	}
	if err := checkBase(o.base); err != nil {
		t.Error(err)
	}
	o = options{base: "node@sha256:" + strings.Repeat("a", 64)}
	if o.resolve(root); o.base[:5] != "node@" || checkBase(o.base) != nil {
		t.Errorf("%+v, %v", o, checkBase(o.base))
	}
}

// A new key is announced with the places of both parts.
func TestNewKeySaysWhereItIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gauze-release.key")
	said, err := command(t, "-newkey", file)
	if err != nil || !strings.Contains(said, "private key: "+file+" (keep it secret") || !strings.Contains(said, "public key:  "+file+".pub (commit it as deploy/release.pub)") {
		t.Errorf("%v\n%s", err, said)
	}
	if _, err := os.Stat(file + ".pub"); err != nil {
		t.Error(err)
	}
}

// A directory that is not a release is reported as such.
func TestVerifyNeedsARelease(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nodir")
	if _, err := command(t, "-verify", dir, "-public", "deploy/release.pub"); err == nil || err.Error() != "no SHA256SUMS in "+dir+": pass the directory of a release" {
		t.Error(err)
	}
}
