// Command release makes everything that a release of Gauze consists of: binaries for every system, and from
// them the packages of each channel, with checksums, a list of modules and a signature.
//
//	go -C lab/release run .                      into dist/, version and date from git
//	go -C lab/release run . -version 1.2.3       a given version
//	go -C lab/release run . -targets linux/amd64 -only npm,wheels
//	go -C lab/release run . -newkey FILE         a key for signatures, in FILE and FILE.pub
//	go -C lab/release run . -key FILE            signed; the binaries know the public key
//	go -C lab/release run . -verify DIR -public FILE.pub
//	go -C lab/release run . -push example.com/gauze
//
// Relative paths begin at the root of the repository.
//
// The same commit and the same version of Go produce the same bytes on any machine and in any
// directory: every time in an artefact is that of the commit.
//
// Everything in dist/ is published except bin/ and share/, from which the rest is made, and directories with
// an image layout. A release on GitHub has no directories, so no two artefacts have the same name:
//
//	SHA256SUMS, SHA256SUMS.sig            sums of all others by name, and their signature
//	gauze_VERSION_OS_ARCH.tar.gz, .zip    the program, manual and completions; also gauze-temporal_…
//	gauze_VERSION_linux_ARCH.deb, .rpm, .apk, .pkg.tar.zst
//	gauze_VERSION_OS_ARCH.cdx.json        modules of the binary (CycloneDX); also gauze-temporal_…
//	gauze_VERSION_image.tar               OCI image for both CPUs; with -base also …_image-node.tar
//	gauze_VERSION_ARCH.mcpb, server.json  for Claude Desktop, and for the MCP registry
//	npm/*.tgz                             gauze-mcp, and @gauze-mcp/cli-OS-CPU with the program
//	pypi/*.whl                            gauze-mcp for each system
//	gauze.rb, gauze.json                  for a Homebrew tap and a scoop bucket
//	GauzeMCP.Gauze*.yaml                  for winget
//	RELEASE_NOTES.md                      the changelog of this version
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// maker makes one kind of artefact from those before it.
type maker struct {
	name  string
	about string
	make  func(context.Context, *release) error
}

// makers are in order: each may use what those before it have written.
var makers = []maker{
	{"binaries", "gauze and gauze-temporal for each system", binaries},
	{"manual", "manual pages and shell completions", manual},
	{"archives", "each program with its papers", archives},
	{"packages", "deb, rpm, apk and Arch", packages},
	{"manifests", "Homebrew, winget and scoop", manifests},
	{"images", "OCI images for amd64 and arm64", images},
	{"bundles", "bundles for Claude Desktop, one for each CPU", bundles},
	{"registry", "server.json for the MCP registry", registryEntry},
	{"sbom", "modules of each binary", sbom},
	{"npm", "gauze-mcp, and a package for each system", npm},
	{"wheels", "wheels for PyPI", wheels},
	{"notes", "changelog of this version", notes},
	{"sums", "SHA256SUMS", sums}, // of all before it
	{"signature", "SHA256SUMS.sig", signature},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	o.define(flag.CommandLine)
	flag.Parse()
	if err := o.run(ctx, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		if errors.As(err, &misuse{}) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// verify checks a finished release: the signature if there is a public key, and every sum.
func verify(dir, public string, out io.Writer) error {
	if _, err := os.Stat(filepath.Join(dir, sumsFile)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no %s in %s: pass the directory of a release", sumsFile, dir)
	}
	if public != "" {
		if err := checkSignature(dir, public); err != nil {
			return fmt.Errorf("%w\nnext: do not publish or install these files", err)
		}
	}
	checked, err := checkSums(dir)
	if err != nil {
		return fmt.Errorf("%w\nnext: do not publish or install these files", err)
	}
	fmt.Fprintf(out, "%d files are as listed in %s\n", checked, sumsFile)
	if public == "" {
		fmt.Fprintln(out, "signature not checked: add -public FILE")
	}
	return nil
}

func kinds() string {
	var names []string
	for _, m := range makers {
		names = append(names, m.name)
	}
	return strings.Join(names, ", ")
}

// make makes the artefacts of the given kinds, or all if there are none.
func (r *release) make(ctx context.Context, chosen []string, out io.Writer) error {
	if err := r.ready(chosen); err != nil {
		return err
	}
	if chosen == nil {
		if err := r.clear(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	fmt.Fprintf(out, "gauze %s, commit %s of %s, in %s\n", r.version, r.commit, r.date.Format("2006-01-02"), r.dir)
	for _, m := range makers {
		if !includes(chosen, m.name) {
			continue
		}
		fmt.Fprintf(out, "%-10s %s\n", m.name, m.about)
		if err := m.make(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// ready finds what would otherwise fail only after everything is compiled.
func (r *release) ready(chosen []string) error {
	if includes(chosen, "notes") {
		if _, err := r.notes(); err != nil {
			return err
		}
	}
	if includes(chosen, "images") && r.base != "" {
		return checkBase(r.base)
	}
	return nil
}

// includes reports whether a kind is among the chosen ones, or all are made.
func includes(chosen []string, kind string) bool {
	return chosen == nil || slices.Contains(chosen, kind)
}

// clear removes an earlier release, whose files would be published with this one. It recognizes one by its
// binaries, and removes nothing else.
func (r *release) clear() error {
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if made, err := filepath.Glob(filepath.Join(r.dir, "bin", "*", "gauze*")); err != nil || made == nil {
		return fmt.Errorf("%s is not empty, and is not an earlier release\nnext: choose a different directory with -o", r.dir)
	}
	return os.RemoveAll(r.dir)
}
