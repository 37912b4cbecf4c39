package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push sends the images of the release to a repository of a registry, such as ghcr.io/gauze-mcp/gauze, with the user's
// login of docker, podman or crane. It prints each tag with its digest, which signatures are made for.
func (r *release) push(ctx context.Context, repository string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, "git", "tag", "--list", "v*")
	cmd.Dir = r.root
	released, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git tag: %w\nnext: push from a clone of the repository, whose tags say which release is the newest", err)
	}
	latest := newest(r.version, strings.Fields(string(released)))
	for _, i := range []image{{suffix: ""}, {suffix: "-node"}} {
		packed, err := os.ReadFile(filepath.Join(r.dir, "images", i.file(r.version)))
		if errors.Is(err, os.ErrNotExist) && i.suffix != "" { // made only with -base
			continue
		}
		if err != nil {
			return fmt.Errorf("%w\nnext: make the images first, with -only images", err)
		}
		index, clean, err := unpackLayout(packed)
		if err != nil {
			return err
		}
		err = pushIndex(ctx, index, repository, i.tags(r.version, latest), out)
		clean()
		if err != nil {
			return err
		}
	}
	return nil
}

// newest reports whether a version is a release, and none of the tags is a newer one.
func newest(version string, tags []string) bool {
	own, err := numbers(version)
	for _, tag := range tags {
		other, invalid := numbers(strings.TrimPrefix(tag, "v"))
		if invalid == nil && slices.Compare(other, own) > 0 {
			return false
		}
	}
	return err == nil
}

// numbers returns the three numbers of a release.
func numbers(version string) (all []int, err error) {
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	if len(all) != 3 {
		return nil, errors.New("not a release: " + version)
	}
	return all, nil
}

// tags are the version and, for the newest release, what those who do not choose a version get.
func (i image) tags(version string, newest bool) []string {
	tags := []string{i.tag(version)}
	if !newest {
		return tags
	}
	if i.suffix == "" {
		return append(tags, "latest")
	}
	return append(tags, strings.TrimPrefix(i.suffix, "-"))
}

func pushIndex(ctx context.Context, index v1.ImageIndex, repository string, tags []string, out io.Writer) error {
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	for _, tag := range tags {
		reference, err := name.NewTag(repository + ":" + tag)
		if err != nil {
			return err
		}
		if err := remote.WriteIndex(reference, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return fmt.Errorf("pushing %s: %w", reference, err)
		}
		fmt.Fprintf(out, "%s@%s\n", reference, digest)
	}
	return nil
}

// unpackLayout returns the index in a packed layout. It can be used until clean is called.
func unpackLayout(packed []byte) (index v1.ImageIndex, clean func(), err error) {
	dir, err := os.MkdirTemp("", "gauze-layout-*")
	if err != nil {
		return nil, nil, err
	}
	clean = func() { os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			clean()
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	for r := tar.NewReader(bytes.NewReader(packed)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(header.Name)), 0o755); err != nil {
			return nil, nil, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, nil, err
		}
		if err := root.WriteFile(filepath.FromSlash(header.Name), content, 0o644); err != nil {
			return nil, nil, err
		}
	}
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, nil, err
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return nil, nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, nil, fmt.Errorf("the layout has %d images, expected one", len(manifest.Manifests))
	}
	index, err = outer.ImageIndex(manifest.Manifests[0].Digest)
	return index, clean, err
}
