// Command release builds gauze and gauze-temporal for every system they are released for, and writes
// the checksums, the manual pages and the shell completions.
//
//	go -C lab run ./release              into dist/, version from git describe
//	go -C lab run ./release -version v1  a given version
//
// The same commit and the same version of Go produce the same bytes on any machine and in any
// directory.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/gauze-mcp/gauze/lab/programs"
)

// target is a system that gauze is built for.
type target struct{ os, arch string }

var targets = []target{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// program is a binary of a release.
type program struct {
	name string
	dir  string // of its module, from the root of the repository
}

// released are the binaries of a release, separate so that gauze does not contain Temporal.
var released = []program{{"gauze", "."}, {"gauze-temporal", "temporal"}}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	version := flag.String("version", "", "version to stamp (default: from git describe)")
	dir := flag.String("o", "dist", "directory for the binaries")
	flag.Parse()
	root, err := programs.Root(ctx)
	if err == nil {
		err = os.Chdir(root)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\nnext: run it inside a checkout\n", err)
		os.Exit(1)
	}
	if err := release(ctx, *dir, *version, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// release builds every target from the repository in the working directory and writes SHA256SUMS.
func release(ctx context.Context, dir, version string, out io.Writer) error {
	if version == "" {
		var err error
		if version, err = describe(ctx); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, p := range released {
		for _, t := range targets {
			file := filepath.Join(dir, p.file(t))
			if err := p.build(ctx, ".", file, version, t); err != nil {
				return err
			}
			binary, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(binary), p.file(t))
		}
	}
	if err := manual(ctx, filepath.Join(dir, "share"), version); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(out, "gauze %s in %s\n%s", version, dir, sums.String())
	return nil
}

// describe returns a version that names the commit and says whether the tree differs from it. New files count: go build
// reads them. The length of the commit is fixed, because git's own depends on the repository.
func describe(ctx context.Context) (string, error) {
	described, err := exec.CommandContext(ctx, "git", "describe", "--tags", "--always", "--abbrev=12").Output()
	if err != nil {
		return "", fmt.Errorf("git describe: %w\nnext: run it inside a checkout, or give -version", err)
	}
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=normal").Output()
	if err != nil {
		return "", fmt.Errorf("git status: %w", err)
	}
	version := strings.TrimSpace(string(described))
	if len(changes) > 0 {
		version += "-dirty"
	}
	return version, nil
}

// manual writes the manual pages and the shell completions to dir.
func manual(ctx context.Context, dir, version string) error {
	cmd := exec.CommandContext(ctx, "go", "run", "-ldflags", "-X main.version="+version, "./cmd/gauze", "man", dir)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("gauze man: %w\n%s", err, output)
	}
	return nil
}

// file returns the file name of the binary for a system.
func (p program) file(t target) string {
	name := p.name + "-" + t.os + "-" + t.arch
	if t.os == "windows" {
		name += ".exe"
	}
	return name
}

// build compiles the program from the repository in root. The result depends only on the source, the
// version and Go itself: not on paths, times, a C compiler or the user's flags.
func (p program) build(ctx context.Context, root, file, version string, t target) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	origins, err := moduleOrigins(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X main.version="+version, "-o", file, "./cmd/"+p.name)
	cmd.Dir = filepath.Join(root, p.dir)
	cmd.Env = append(append(os.Environ(), origins...), "GOENV=off", "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off", "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s for %s on %s: %w\n%s", p.name, t.os, t.arch, err, output)
	}
	return nil
}

// moduleOrigins returns the user's settings for where modules and Go itself come from, as variables. An empty variable
// does not override what go env -w has written, so those settings are switched off for the build, and these are kept.
func moduleOrigins(ctx context.Context) ([]string, error) {
	names := []string{"GOAUTH", "GOCACHE", "GOINSECURE", "GOMODCACHE", "GONOPROXY", "GONOSUMDB", "GOPATH", "GOPRIVATE",
		"GOPROXY", "GOSUMDB", "GOTOOLCHAIN", "GOVCS"}
	said, err := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var values map[string]string
	if err := json.Unmarshal(said, &values); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var env []string
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	return env, nil
}
