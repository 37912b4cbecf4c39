package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// target is a system that gauze is built for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// exe returns the file name of a program on the system.
func (t target) exe(name string) string {
	if t.os == "windows" {
		return name + ".exe"
	}
	return name
}

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

// binaries compiles every program for every target.
func binaries(ctx context.Context, r *release) error {
	for _, p := range released {
		for _, t := range r.targets {
			if err := p.build(ctx, r.root, r.binary(p, t), r.stamp, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// manual writes the manual pages and the shell completions. They are the same for every system.
func manual(ctx context.Context, r *release) error {
	here := target{runtime.GOOS, runtime.GOARCH}
	gauze := r.binary(released[0], here)
	if _, err := os.Stat(gauze); err != nil { // this system is not among the targets
		dir, err := os.MkdirTemp("", "gauze-manual-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		gauze = filepath.Join(dir, here.exe("gauze"))
		if err := released[0].build(ctx, r.root, gauze, r.stamp, here); err != nil {
			return err
		}
	}
	if output, err := exec.CommandContext(ctx, gauze, "man", r.share()).CombinedOutput(); err != nil {
		return fmt.Errorf("gauze man: %w\n%s", err, output)
	}
	return nil
}

// build compiles the program from the repository in root. The result depends only on the source, the
// stamp and Go itself: not on paths, times, a C compiler or the user's flags. Functions are aligned to 16
// bytes, as on arm64, instead of 32: 0.2 MB less.
func (p program) build(ctx context.Context, root, file string, s stamp, t target) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	origins, err := moduleOrigins(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -funcalign=16 "+s.flags(), "-o", file, "./cmd/"+p.name)
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
