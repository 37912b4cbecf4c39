package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/lab/programs"
)

// options are those of the command line.
type options struct {
	version, dir, systems, only, key string
	newKey, verify, public           string
	base, push                       string
}

// misuse is an error in the command line. Nothing was made.
type misuse struct{ error }

func misusef(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

// define defines the flags.
func (o *options) define(flags *flag.FlagSet) {
	flags.StringVar(&o.version, "version", "", "version to stamp (default: from git describe)")
	flags.StringVar(&o.dir, "o", "dist", "directory for the artefacts")
	flags.StringVar(&o.systems, "targets", "", "only these systems, such as linux/amd64,windows/arm64 (default: all)")
	flags.StringVar(&o.only, "only", "", "only these kinds: "+kinds()+" (default: all)")
	flags.StringVar(&o.key, "key", "", "sign with the P-256 private key in this PEM file")
	flags.StringVar(&o.newKey, "newkey", "", "make a key in this file and its public part in FILE.pub, and exit")
	flags.StringVar(&o.verify, "verify", "", "check the sums of the release in this directory, and exit")
	flags.StringVar(&o.public, "public", "", "with -verify: check the signature with the public key in this PEM file; otherwise: the binaries know this key")
	flags.StringVar(&o.base, "base", "", "image with Node.js for the second image: an OCI layout, or a reference with a digest (default: only the first image)")
	flags.StringVar(&o.push, "push", "", "push the images in the directory to this repository of a registry, and exit")
}

// run does what the command line asks for; rest is what follows the flags.
func (o options) run(ctx context.Context, rest []string, out io.Writer) error {
	if len(rest) > 0 {
		return misusef("unexpected argument %q", rest[0])
	}
	chosen, err := o.kinds()
	if err != nil {
		return err
	}
	root, err := programs.Root(ctx)
	if err != nil {
		return fmt.Errorf("%w\nnext: run it inside a checkout", err)
	}
	o.resolve(root)
	switch {
	case o.newKey != "":
		return o.makeKey(out)
	case o.verify != "":
		return verify(o.verify, o.public, out)
	}
	r, err := o.release(ctx, root)
	if err != nil {
		return err
	}
	if o.push != "" {
		return r.push(ctx, o.push, out)
	}
	return r.make(ctx, chosen, out)
}

// resolve makes paths absolute. Relative ones begin at the root of the repository.
func (o *options) resolve(root string) {
	for _, path := range []*string{&o.dir, &o.key, &o.newKey, &o.verify, &o.public} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(root, *path)
		}
	}
	if layout := filepath.Join(root, o.base); o.base != "" && !filepath.IsAbs(o.base) && isLayout(layout) {
		o.base = layout
	}
}

// kinds returns those of -only, or nil for all.
func (o options) kinds() ([]string, error) {
	chosen := listed(o.only)
	for _, name := range chosen {
		if !slices.ContainsFunc(makers, func(m maker) bool { return m.name == name }) {
			return nil, misusef("-only: unknown kind %q: must be one of %s", name, kinds())
		}
	}
	if slices.Contains(chosen, "signature") && o.key == "" {
		return nil, misusef("-only signature requires -key FILE")
	}
	return chosen, nil
}

// listed returns the parts of a list with commas, or nil if it is empty.
func listed(text string) []string {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// release returns the release that is asked for.
func (o options) release(ctx context.Context, root string) (*release, error) {
	r, err := newRelease(ctx, root, o.dir, o.version)
	if err != nil {
		return nil, err
	}
	if o.key != "" {
		if err := r.useKey(o.key); err != nil {
			return nil, fmt.Errorf("-key: %w", err)
		}
	}
	if o.public != "" {
		if err := r.usePublic(o.public); err != nil {
			return nil, fmt.Errorf("-public: %w", err)
		}
	}
	r.base = o.base
	return r, r.choose(o.systems)
}

// makeKey makes a key and says what its two files are for.
func (o options) makeKey(out io.Writer) error {
	if err := newKey(o.newKey); err != nil {
		return err
	}
	fmt.Fprintf(out, "private key: %s (keep it secret, and outside of the repository)\n", o.newKey)
	fmt.Fprintf(out, "public key:  %s.pub (commit it as deploy/release.pub)\n", o.newKey)
	return nil
}

// isLayout reports whether a path is an OCI layout.
func isLayout(path string) bool {
	_, err := os.Stat(filepath.Join(path, "index.json"))
	return err == nil
}
