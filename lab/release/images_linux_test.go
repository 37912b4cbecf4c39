package main

import (
	"archive/tar"
	"bufio"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// The image has one manifest for each CPU, gauze's user, and what registries read; pushed and pulled, it is the same.
func TestImageIsForEveryCPUAndNotForRoot(t *testing.T) {
	t.Parallel()
	r := standIns(t)
	r.version = "1.2.3"
	r.run(t, images)
	r.root = t.TempDir() // with tags of its own
	gitIn(t, r.root, "init", "-q")
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	repository := strings.TrimPrefix(server.URL, "http://") + "/gauze"
	var said strings.Builder
	if err := r.push(t.Context(), repository, &said); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"1.2.3", "latest"} {
		if !strings.Contains(said.String(), repository+":"+tag+"@sha256:") {
			t.Errorf("no digest for %s:\n%s", tag, said.String())
		}
	}
	reference, err := name.ParseReference(repository + ":latest")
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Index(reference)
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range []string{"amd64", "arm64"} {
		one, err := imageFor(pulled, v1.Platform{OS: "linux", Architecture: cpu})
		if err != nil {
			t.Fatal(err)
		}
		wantConfig(t, one, r, cpu)
		program, err := fileOf(one, "usr/bin/gauze")
		if err != nil || string(program) != "gauze for linux/"+cpu {
			t.Errorf("%q, %v", program, err)
		}
	}
}

// wantConfig expects what a container runtime and the registries read.
func wantConfig(t *testing.T, one v1.Image, r *release, cpu string) {
	t.Helper()
	file, err := one.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := file.Config
	if file.Architecture != cpu || file.OS != "linux" || !file.Created.Equal(r.date) {
		t.Errorf("%s/%s of %s", file.OS, file.Architecture, file.Created)
	}
	if c.User != "65532:65532" || c.WorkingDir != "/home/gauze" || strings.Join(c.Entrypoint, " ") != "/usr/bin/gauze" || c.Env[0] != "HOME=/home/gauze" {
		t.Errorf("%+v", c)
	}
	for key, want := range map[string]string{
		"org.opencontainers.image.source":     "https://github.com/gauze-mcp/gauze",
		"org.opencontainers.image.version":    r.version,
		"org.opencontainers.image.revision":   r.commit,
		"org.opencontainers.image.licenses":   "Apache-2.0",
		"io.modelcontextprotocol.server.name": "io.github.gauze-mcp/gauze",
	} {
		if c.Labels[key] != want {
			t.Errorf("%s is %q, expected %q", key, c.Labels[key], want)
		}
	}
}

// A version that precedes a release, follows one, or repairs an older one does not become what everyone gets.
func TestOnlyTheNewestReleaseIsTheLatestImage(t *testing.T) {
	for _, c := range []struct{ version, tags, want string }{
		{"1.2.3", "", "1.2.3 latest"},
		{"1.2.3", "v1.2.2 v1.2.3 v2.0.0-rc.1 v1 vault", "1.2.3 latest"},
		{"1.10.0", "v1.9.9 v1.10.0", "1.10.0 latest"},
		{"1.2.9", "v1.2.8 v1.2.9 v2.0.0", "1.2.9"},
		{"1.2.3-rc.1", "v1.2.2", "1.2.3-rc.1"},
		{"1.2.4-dev.5+gabcdef012", "", "1.2.4-dev.5-gabcdef012"},
	} {
		if got := strings.Join(image{}.tags(c.version, newest(c.version, strings.Fields(c.tags))), " "); got != c.want {
			t.Errorf("%s with %s: %s, expected %s", c.version, c.tags, got, c.want)
		}
	}
	if got := strings.Join(image{suffix: "-node"}.tags("1.2.3", true), " "); got != "1.2.3-node node" {
		t.Error(got)
	}
}

// The authorities of the image can be read, and are not a handful.
func TestImageTrustsCertificateAuthorities(t *testing.T) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authorities()) || strings.Count(string(authorities()), "BEGIN CERTIFICATE") < 100 {
		t.Error("the bundle of the image is not one")
	}
}

// Exported, the image runs as a root file system, without a daemon, as its own user,
// and without anything else.
func TestImageRuns(t *testing.T) {
	t.Parallel()
	r := built(t)
	r.run(t, images)
	index, clean, err := unpackLayout(read(t, filepath.Join(r.dir, "images", image{}.file(r.version))))
	if err != nil {
		t.Fatal(err)
	}
	defer clean()
	one, err := imageFor(index, v1.Platform{OS: "linux", Architecture: linux.arch})
	if err != nil {
		t.Fatal(err)
	}
	c := export(t, one)
	said, err := c.command(t, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(said), "gauze "+r.version+"\n") || !strings.Contains(string(said), "channel: image") {
		t.Errorf("gauze version: %v\n%s", err, said)
	}
	said, err = c.command(t, "demo").CombinedOutput()
	if err != nil || !strings.Contains(string(said), "every guarantee held") {
		t.Errorf("gauze demo: %v\n%s", err, said)
	}
	c.wantEcho(t, "--url", everythingAtURL(t))
}

// container is an exported image.
type container struct {
	root   string
	config v1.Config
}

// export unpacks an image as a root file system. It requires root, as chroot does.
func export(t *testing.T, one v1.Image) container {
	t.Helper()
	needRoot(t)
	file, err := one.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := container{t.TempDir(), file.Config}
	if err := os.Chmod(c.root, 0o755); err != nil {
		t.Fatal(err)
	}
	content := mutate.Extract(one)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			c.mount(t)
			return c
		}
		if err == nil {
			err = c.unpack(header, r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// mount adds what a program reads of the file systems that every container runtime mounts: the null device, and where
// the program is. A real mount needs more rights than root has in CI.
func (c container) mount(t *testing.T) {
	t.Helper()
	null := filepath.Join(c.root, "dev", "null")
	if err := os.MkdirAll(filepath.Dir(null), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mknod(null, syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(null, 0o666); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	self := filepath.Join(c.root, "proc", "self")
	if err := errors.Join(os.MkdirAll(self, 0o755), os.Symlink(c.config.Entrypoint[0], filepath.Join(self, "exe"))); err != nil {
		t.Fatal(err)
	}
}

// unpack writes one entry with its mode and owner.
func (c container) unpack(header *tar.Header, content io.Reader) error {
	file := filepath.Join(c.root, header.Name)
	switch header.Typeflag {
	case tar.TypeDir:
		if err := os.MkdirAll(file, 0o755); err != nil {
			return err
		}
	case tar.TypeSymlink:
		return os.Symlink(header.Linkname, file)
	default:
		b, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, b, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chown(file, header.Uid, header.Gid); err != nil {
		return err
	}
	return os.Chmod(file, header.FileInfo().Mode())
}

// command starts the image as a container runtime does: with its entrypoint, user, variables and directory.
func (c container) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(patience.Context(t), c.config.Entrypoint[0], append(c.config.Entrypoint[1:], args...)...)
	cmd.Env, cmd.Dir = c.config.Env, c.config.WorkingDir
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}}
	return cmd
}

// needRoot ends a test that requires root: it is skipped, or fails in CI.
func needRoot(t *testing.T) {
	t.Helper()
	switch {
	case os.Geteuid() == 0:
	case os.Getenv("CI") == "true":
		t.Fatal("requires root, to change the root directory")
	default:
		t.Skip("requires root, to change the root directory")
	}
}

// wantEcho has a session with a real server through gauze run in the container, and calls its tool.
func (c container) wantEcho(t *testing.T, args ...string) {
	t.Helper()
	cmd := c.command(t, append([]string{"run"}, args...)...)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"contained"}}}
`)
	cmd.Stderr = t.Output()
	said, err := cmd.Output()
	if err != nil || !strings.Contains(string(said), "Echo: contained") {
		t.Errorf("gauze run %s: %v\n%s", args, err, said)
	}
}

// everythingAtURL starts server-everything on this machine, outside every container.
func everythingAtURL(t *testing.T) string {
	t.Helper()
	for range 20 {
		port := 20000 + rand.IntN(12000) // the kernel gives none of these to those who do not name one
		argv := realparts.Need(t, realparts.Everything, "streamableHttp")
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
		out, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.Contains(lines.Text(), "listening on port") {
				go io.Copy(io.Discard, out)
				return fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
			}
		}
	}
	t.Fatal("server-everything found no port")
	return ""
}

// The image with Node.js and uv runs a server with Node.js, and has uv. Its base is a stand-in: Node.js of this machine.
func TestImageWithNodeRuns(t *testing.T) {
	onRequest(t)
	t.Parallel()
	r := built(t)
	r.base = nodeBase(t)
	r.run(t, images)
	index, clean, err := unpackLayout(read(t, filepath.Join(r.dir, "images", image{suffix: "-node"}.file(r.version))))
	if err != nil {
		t.Fatal(err)
	}
	defer clean()
	one, err := imageFor(index, v1.Platform{OS: "linux", Architecture: linux.arch})
	if err != nil {
		t.Fatal(err)
	}
	wantConfig(t, one, r, linux.arch)
	c := export(t, one)
	if users := string(read(t, filepath.Join(c.root, "etc/passwd"))); users != "root:x:0:0::/root:/bin/sh\n"+passwdLine {
		t.Errorf("%q", users)
	}
	script := realparts.Need(t, realparts.Everything)[1]
	modules := strings.SplitAfter(script, "/node_modules/")[0]
	if err := os.CopyFS(filepath.Join(c.root, "srv/node_modules"), os.DirFS(modules)); err != nil {
		t.Fatal(err)
	}
	c.wantEcho(t, "--", "node", "/srv/node_modules/"+strings.TrimPrefix(script, modules))
	c.config.Entrypoint = []string{"/usr/local/bin/uv"}
	exe := filepath.Join(c.root, "proc", "self", "exe")
	if err := errors.Join(os.Remove(exe), os.Symlink(c.config.Entrypoint[0], exe)); err != nil {
		t.Fatal(err)
	}
	if said, err := c.command(t, "--version").CombinedOutput(); err != nil || !strings.Contains(string(said), uv.version) {
		t.Errorf("uv: %v\n%s", err, said)
	}
}

// nodeBase returns a layout with this machine's Node.js and the libraries that it and uv use.
func nodeBase(t *testing.T) string {
	t.Helper()
	node := realparts.Node(t)
	node, err := filepath.EvalSymlinks(node)
	if err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("ldd", node).Output()
	if err != nil {
		t.Fatal(err)
	}
	libraries := regexp.MustCompile(`/\S+\.so\S*`).FindAllString(string(said), -1)
	libraries = append(libraries, "/lib/x86_64-linux-gnu/librt.so.1") // uv's
	files := []entry{{"etc/passwd", 0o644, []byte("root:x:0:0::/root:/bin/sh\n")}, {"tmp/", 0o777, nil}}
	for name, from := range map[string]string{"usr/bin/node": node, "usr/bin/env": "/usr/bin/env", "bin/sh": "/bin/sh"} {
		f, err := fileEntry(name, 0o755, from)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	for _, library := range slices.Compact(slices.Sorted(slices.Values(libraries))) {
		f, err := fileEntry(strings.TrimPrefix(library, "/"), 0o755, library)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	layer, err := layerOf(time.Unix(0, 0), files)
	if err != nil {
		t.Fatal(err)
	}
	made, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: made, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: linux.arch}}})
	if _, err := layout.Write(dir, index); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The image for arm64 runs, on an emulated CPU.
func TestImageForARMRuns(t *testing.T) {
	onRequest(t)
	t.Parallel()
	r := built(t)
	emulator := realparts.Tool(t, "qemu-aarch64-static", "qemu-user-static")
	arm := target{"linux", "arm64"}
	r.dir, r.targets = t.TempDir(), []target{arm}
	if err := released[0].build(t.Context(), r.root, r.binary(released[0], arm), r.stamp, arm); err != nil {
		t.Fatal(err)
	}
	one, err := image{}.build(t.Context(), r, arm)
	if err != nil {
		t.Fatal(err)
	}
	wantConfig(t, one, r, "arm64")
	c := export(t, one)
	if err := os.WriteFile(filepath.Join(c.root, "qemu"), read(t, emulator), 0o755); err != nil {
		t.Fatal(err)
	}
	c.config.Entrypoint = append([]string{"/qemu"}, c.config.Entrypoint...)
	if said, err := c.command(t, "version").CombinedOutput(); err != nil || !strings.HasPrefix(string(said), "gauze "+r.version+"\n") {
		t.Errorf("gauze version: %v\n%s", err, said)
	}
	c.wantEcho(t, "--url", everythingAtURL(t))
}
