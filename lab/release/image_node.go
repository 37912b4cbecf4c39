package main

import (
	"archive/tar"
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// uv is the Python launcher in the image, by its wheel for each CPU.
var uv = struct {
	version string
	wheels  map[string]wheel
}{"0.13.7", map[string]wheel{
	"amd64": {"manylinux2014_x86_64", "2c9bdc4a872b60a93c5f26c0791089ea11585a4f9d3b3c017d78eb8487505e25"},
	"arm64": {"manylinux2014_aarch64", "a90f5d95716ab83091f0f73a8e7ec64e557abf2a28537fcd719b2ac88e6f725a"},
}}

type wheel struct{ platform, sum string }

// onNode returns a base that has Node.js, and the files that are added to it: uv, and gauze's user.
func onNode(ctx context.Context, base string, t target) (v1.Image, []entry, error) {
	found, err := baseImage(ctx, base, t)
	if err != nil {
		return nil, nil, fmt.Errorf("-base %s: %w", base, err)
	}
	users, err := fileOf(found, "etc/passwd")
	if err != nil {
		return nil, nil, fmt.Errorf("-base %s: %w", base, err)
	}
	files, err := uvFiles(ctx, t)
	return found, append(files, entry{"etc/passwd", 0o644, append(users, passwdLine...)}), err
}

// checkBase returns an error unless base is an OCI layout, or a reference with a digest.
func checkBase(base string) error {
	if _, err := name.NewDigest(base); err != nil && !isLayout(base) {
		return misusef("-base %s: %w\nnext: pass an OCI layout, or a reference with a digest such as node@sha256:…", base, err)
	}
	return nil
}

// baseImage returns the image for a system from a layout on this machine, or from a registry. There it must be given by
// its digest, because a tag is a different image tomorrow.
func baseImage(ctx context.Context, base string, t target) (v1.Image, error) {
	platform := v1.Platform{OS: t.os, Architecture: t.arch}
	if local, err := layout.ImageIndexFromPath(base); err == nil {
		return imageFor(local, platform)
	}
	reference, err := name.NewDigest(base)
	if err != nil {
		return nil, err
	}
	index, err := remote.Index(reference, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return nil, err
	}
	return imageFor(index, platform)
}

// imageFor returns the image for a platform. In a layout, the index is inside an outer index.
func imageFor(index v1.ImageIndex, platform v1.Platform) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, m := range manifest.Manifests {
		if m.MediaType.IsIndex() {
			if inner, err := index.ImageIndex(m.Digest); err == nil {
				return imageFor(inner, platform)
			}
		}
		if m.Platform != nil && m.Platform.OS == platform.OS && m.Platform.Architecture == platform.Architecture {
			return index.Image(m.Digest)
		}
	}
	return nil, fmt.Errorf("it has no image for %s", platform)
}

// fileOf returns the content of a file in the root file system of an image.
func fileOf(from v1.Image, file string) ([]byte, error) {
	content := mutate.Extract(from)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("the image has no file /%s", file)
		}
		if err != nil {
			return nil, err
		}
		if path.Clean(header.Name) == file {
			return io.ReadAll(r)
		}
	}
}

// uvFiles returns uv and uvx for a CPU, from the index that pip is configured for.
func uvFiles(ctx context.Context, t target) ([]entry, error) {
	file, clean, err := fetchWheel(ctx, uv.wheels[t.arch])
	if err != nil {
		return nil, err
	}
	defer clean()
	archive, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	var files []entry
	for _, program := range []string{"uv", "uvx"} {
		in, err := archive.Open("uv-" + uv.version + ".data/scripts/" + program)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(in)
		in.Close()
		if err != nil {
			return nil, err
		}
		files = append(files, entry{"usr/local/bin/" + program, 0o755, content})
	}
	return files, nil
}

// fetchWheel fetches a wheel of uv and checks its sum.
func fetchWheel(ctx context.Context, w wheel) (file string, clean func(), err error) {
	dir, err := os.MkdirTemp("", "gauze-uv-*")
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	cmd := exec.CommandContext(ctx, "python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
		"--platform", w.platform, "--dest", dir, "uv=="+uv.version)
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("pip download uv: %w\n%s\nnext: check that python3 has pip, and that pip can reach its index", err, said)
	}
	found, err := filepath.Glob(filepath.Join(dir, "uv-*.whl"))
	if err != nil || len(found) != 1 {
		return "", nil, fmt.Errorf("pip download uv: %d files, expected one wheel", len(found))
	}
	content, err := os.ReadFile(found[0])
	if err != nil {
		return "", nil, err
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != w.sum {
		return "", nil, fmt.Errorf("%s: its SHA-256 is %x, expected %s", filepath.Base(found[0]), sum, w.sum)
	}
	return found[0], func() { os.RemoveAll(dir) }, nil
}
