package main

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// release is what the artefacts of one release have in common.
type release struct {
	stamp
	root    string // of the repository
	dir     string // for the artefacts
	targets []target
	base    string            // image for the one with Node.js and uv; may be empty
	signer  *ecdsa.PrivateKey // nil: the release is not signed
}

// stamp is what the binaries know of their release.
type stamp struct {
	version string // as npm reads it: 1.2.3, or 1.2.4-dev.5+gabcdef for what follows a tag
	commit  string
	date    time.Time // of the commit; every time in an artefact
	key     string    // base64 of the public key (PKIX DER) that signs the release; may be empty
}

// flags are those of the linker.
func (s stamp) flags() string {
	flags := fmt.Sprintf("-X main.version=%s -X main.commit=%s -X main.date=%s", s.version, s.commit, s.date.UTC().Format(time.RFC3339))
	if s.key != "" {
		flags += " -X main.releaseKey=" + s.key
	}
	return flags
}

// binary returns the file of a program for a system. Every artefact is made from it.
func (r *release) binary(p program, t target) string {
	return filepath.Join(r.dir, "bin", t.os+"-"+t.arch, t.exe(p.name))
}

// share has the manual pages, and the completions gauze.bash, _gauze, gauze.fish and gauze.ps1.
func (r *release) share() string { return filepath.Join(r.dir, "share") }

// newRelease reads version, commit and date from the repository.
func newRelease(ctx context.Context, root, dir, version string) (*release, error) {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = root
		said, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w", args[0], err)
		}
		return strings.TrimSpace(string(said)), nil
	}
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return nil, fmt.Errorf("%w\nnext: run it inside a checkout", err)
	}
	seconds, err := git("show", "-s", "--format=%ct", "HEAD")
	if err != nil {
		return nil, err
	}
	committed, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	if version == "" {
		described, err := git("describe", "--tags", "--match", "v[0-9]*", "--always", "--long", "--abbrev=12")
		if err != nil {
			return nil, err
		}
		changes, err := git("status", "--porcelain", "--untracked-files=normal") // go build reads new files too
		if err != nil {
			return nil, err
		}
		version = versionOf(described, changes != "")
	}
	version = strings.TrimPrefix(version, "v")
	if !semver.MatchString(version) {
		return nil, misusef("invalid -version %q: must look like 1.2.3 or 1.2.3-rc.1", version)
	}
	return &release{stamp: stamp{version: version, commit: commit, date: time.Unix(committed, 0).UTC()}, root: root, dir: dir, targets: targets}, nil
}

var (
	semver    = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	afterATag = regexp.MustCompile(`^v([0-9]+\.[0-9]+\.)([0-9]+)-([0-9]+)-(g[0-9a-f]+)$`)
)

// versionOf turns what git describes into a version that is sorted after its tag, and says whether the
// tree differs from the commit. The length of the commit is fixed, because git's own depends on the
// repository.
func versionOf(described string, changed bool) string {
	version, build := "0.0.0-dev", "g"+described
	if m := afterATag.FindStringSubmatch(described); m != nil {
		patch, _ := strconv.Atoi(m[2])
		if version, build = m[1]+m[2], ""; m[3] != "0" {
			version, build = fmt.Sprintf("%s%d-dev.%s", m[1], patch+1, m[3]), m[4]
		}
	}
	if changed {
		build = strings.TrimPrefix(build+".dirty", ".")
	}
	if build != "" {
		version += "+" + build
	}
	return version
}

// choose limits the systems.
func (r *release) choose(systems string) error {
	if systems == "" {
		return nil
	}
	r.targets = nil
	for _, name := range listed(systems) {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return misusef("-targets: unknown system %q: must be one of %s", name, systemNames())
		}
		r.targets = append(r.targets, targets[i])
	}
	return nil
}

func systemNames() string {
	var names []string
	for _, t := range targets {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}
