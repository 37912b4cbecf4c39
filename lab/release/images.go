package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	imageName = "ghcr.io/gauze-mcp/gauze"

	imageUser = 65532 // as in other images without root
	imageHome = "home/gauze"
)

// image is one of the images of a release.
type image struct {
	suffix string // of its tags
	about  string
	base   string // a layout or a reference, or "" for none
}

// images writes an OCI layout for each image: one with nothing but gauze, and with -base one with Node.js and uv. No
// daemon and no container runtime take part.
func images(ctx context.Context, r *release) error {
	all := []image{{"", "Keeps MCP servers working. Nothing but gauze: for remote servers", ""}}
	if r.base != "" {
		all = append(all, image{"-node", "Keeps MCP servers working. With Node.js and uv: for servers that npx and uvx start", r.base})
	}
	for _, i := range all {
		index, err := i.index(ctx, r)
		if err != nil {
			return err
		}
		packed, err := packLayout(r.date, index, i.tag(r.version))
		if err != nil {
			return err
		}
		if err := r.write("images/"+i.file(r.version), packed); err != nil {
			return err
		}
	}
	return nil
}

func (i image) file(version string) string { return "gauze_" + version + "_image" + i.suffix + ".tar" }

// tag returns the tag of a version. A tag may not contain a plus sign.
func (i image) tag(version string) string { return strings.ReplaceAll(version, "+", "-") + i.suffix }

// index returns the image for every CPU.
func (i image) index(ctx context.Context, r *release) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		platform := v1.Platform{OS: t.os, Architecture: t.arch}
		one, err := i.build(ctx, r, t)
		if err != nil {
			return nil, fmt.Errorf("the image for %s: %w", t, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return mutate.Annotations(index, i.labels(r)).(v1.ImageIndex), nil
}

// build returns the image for one CPU.
func (i image) build(ctx context.Context, r *release, t target) (v1.Image, error) {
	base, files, err := i.start(ctx, t)
	if err != nil {
		return nil, err
	}
	program, err := fileEntry("usr/bin/gauze", 0o755, r.binary(released[0], t))
	if err != nil {
		return nil, err
	}
	files = append(files, program,
		entry{"usr/share/gauze/channel", 0o644, []byte("image\n")},
		entry{imageHome + "/", 0o755, nil})
	layer, err := layerOf(r.date, files)
	if err != nil {
		return nil, err
	}
	made, err := mutate.Append(base, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{
		Created: v1.Time{Time: r.date}, CreatedBy: "gauze " + r.version,
	}})
	if err != nil {
		return nil, err
	}
	config, err := made.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Architecture, config.OS, config.Created = t.arch, t.os, v1.Time{Time: r.date}
	config.Config.User = fmt.Sprintf("%d:%d", imageUser, imageUser)
	config.Config.WorkingDir = "/" + imageHome
	config.Config.Env = imageEnv(config.Config.Env)
	config.Config.Entrypoint, config.Config.Cmd = []string{"/usr/bin/gauze"}, nil
	config.Config.Labels = i.labels(r)
	return mutate.ConfigFile(made, config)
}

// start returns what the image is built on, and the files that only this kind of image needs.
func (i image) start(ctx context.Context, t target) (v1.Image, []entry, error) {
	if i.base != "" {
		return onNode(ctx, i.base, t)
	}
	made := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	return made, []entry{
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/sbin/nologin\n" + passwdLine)},
		{"etc/group", 0o644, []byte("root:x:0:\ngauze:x:65532:\n")},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, authorities()},
		{"tmp/", 0o777, nil},
	}, nil
}

const passwdLine = "gauze:x:65532:65532:gauze:/home/gauze:/sbin/nologin\n"

// labels are what registries show, and how the MCP registry knows that the image is ours.
func (i image) labels(r *release) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "gauze",
		"org.opencontainers.image.description": i.about,
		"org.opencontainers.image.source":      homepage,
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.commit,
		"org.opencontainers.image.created":     r.date.UTC().Format(time.RFC3339),
		"org.opencontainers.image.licenses":    license,
		"io.modelcontextprotocol.server.name":  registryName,
	}
}

// imageEnv keeps the base's variables, except those that gauze's own replace.
func imageEnv(base []string) []string {
	env := []string{"HOME=/" + imageHome}
	path := "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, e := range base {
		switch {
		case strings.HasPrefix(e, "PATH="):
			path = e
		case !strings.HasPrefix(e, "HOME="):
			env = append(env, e)
		}
	}
	return append(env, path)
}

// authorities returns Mozilla's certificate authorities, from a pinned module. Those that are trusted only under a
// condition, such as for certificates issued before a date, are left out: a PEM file cannot express it.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer accepts everything
		}
	}
	return b.Bytes()
}

// layerOf returns a layer with the files and the directories above them. The home belongs to the image's user.
func layerOf(date time.Time, files []entry) (v1.Layer, error) {
	files, err := inOrder(append(files, parents(files)...))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range files {
		header := tar.Header{Name: e.name, Mode: int64(e.mode), Size: int64(len(e.content)), ModTime: date, Typeflag: tar.TypeReg}
		if strings.HasSuffix(e.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		switch {
		case strings.HasPrefix(e.name, imageHome+"/"):
			header.Uid, header.Gid = imageUser, imageUser
		case e.name == "tmp/":
			header.Mode |= 0o1000 // only the owner of a file may delete it
		}
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// parents returns the directories of the files that are not among them.
func parents(files []entry) (missing []entry) {
	seen := map[string]bool{}
	for _, f := range files {
		seen[f.name] = true
	}
	for _, f := range files {
		for dir := path.Dir(strings.TrimSuffix(f.name, "/")); dir != "."; dir = path.Dir(dir) {
			if !seen[dir+"/"] {
				seen[dir+"/"] = true
				missing = append(missing, entry{dir + "/", 0o755, nil})
			}
		}
	}
	return missing
}

// packLayout returns an OCI layout with the index as one file, which docker load, podman load and skopeo read.
func packLayout(date time.Time, index v1.ImageIndex, tag string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "gauze-layout-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	into, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, err
	}
	if err := into.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag,
		"io.containerd.image.name":          imageName + ":" + tag,
	})); err != nil {
		return nil, err
	}
	var files []entry
	err = filepath.WalkDir(dir, func(file string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		f, err := fileEntry(filepath.ToSlash(name), 0o644, file)
		files = append(files, f)
		return err
	})
	if err != nil {
		return nil, err
	}
	return tarred(date, files)
}
