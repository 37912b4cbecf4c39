package upgrade

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/workshop/installed"
)

// Address is where releases are published. GAUZE_RELEASES replaces it.
const Address = "https://github.com/gauze-mcp/gauze/releases"

// Releases is a place with releases, and what is needed to choose one and to believe it.
type Releases struct {
	URL      string            // URL has /latest/download/FILE and /download/vVERSION/FILE. Default Address.
	Key      string            // Key is the public release key: base64 of its PKIX form.
	OS, Arch string            // OS and Arch are the system that the program is for, in Go's words.
	HTTP     http.RoundTripper // HTTP replaces Go's default transport.

	stallTimeout time.Duration // default stallTimeout
}

// Release is a release that the release key has signed.
type Release struct {
	Version string // Version is that of the signed file names.
	Archive string // Archive is the file with the program for this system.
	Address string // Address is where the release was found.

	sums map[string][sha256.Size]byte // of all files by name
	from Releases
}

// Find returns the release of a version, or the latest if version is empty. What it returns is signed.
func (r Releases) Find(ctx context.Context, version string) (*Release, error) {
	key, err := parseKey(r.Key)
	if err != nil {
		return nil, err
	}
	base, err := r.base()
	if err != nil {
		return nil, err
	}
	address := base.String() + "/latest/download"
	if version != "" {
		address = base.String() + "/download/v" + version
	}
	list, err := r.get(ctx, address+"/"+sumsFile, maxSums, listTimeout, nil)
	if err != nil {
		return nil, err
	}
	signature, err := r.get(ctx, address+"/"+signatureFile, maxSignature, listTimeout, nil)
	if err != nil {
		return nil, err
	}
	if err := verify(key, list, signature); err != nil {
		return nil, fmt.Errorf("%w (%s)%s", err, address, suspicious)
	}
	sums, err := parseSums(list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w%s", address, err, suspicious)
	}
	found := &Release{Address: address, sums: sums, from: r}
	if err := found.choose(r.OS, r.Arch); err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	if version != "" && found.Version != version {
		return nil, fmt.Errorf("%s is release %s, not %s; nothing was changed%s", address, found.Version, version, suspicious)
	}
	return found, nil
}

// archiveName is the file name of an archive with gauze for one system.
var archiveName = regex.New(`^gauze_(` + installed.VersionPattern + `)_([a-z0-9]+)_([a-z0-9]+)\.(?:tar\.gz|zip)$`)

// choose reads the version from the file names, which must agree on it, and takes the archive for one
// system.
func (r *Release) choose(os, arch string) error {
	for name := range r.sums {
		parts := archiveName.FindStringSubmatch(name)
		switch {
		case parts == nil:
			continue
		case r.Version != "" && r.Version != parts[1]:
			return fmt.Errorf("%s lists archives for two versions, %s and %s; nothing was changed%s", sumsFile, r.Version, parts[1], suspicious)
		}
		r.Version = parts[1]
		if parts[2] == os && parts[3] == arch {
			r.Archive = name
		}
	}
	switch {
	case r.Version == "":
		return fmt.Errorf("%s does not list a gauze archive; nothing was changed\nnext: choose a release from %s", sumsFile, Address)
	case r.Archive == "":
		return fmt.Errorf("the release %s has no archive for %s/%s; nothing was changed\nnext: build gauze from source: go install github.com/gauze-mcp/gauze/cmd/gauze@latest", r.Version, os, arch)
	}
	return nil
}

// Program downloads the archive, verifies it, and returns the program in it. Progress, if not nil, is
// called with the bytes that have arrived and their total, -1 if the server did not announce it.
func (r *Release) Program(ctx context.Context, progress func(done, total int64)) ([]byte, error) {
	archive, err := r.from.get(ctx, r.Address+"/"+r.Archive, maxArchive, archiveTimeout, progress)
	if err != nil {
		return nil, err
	}
	if sum, signed := sha256.Sum256(archive), r.sums[r.Archive]; sum != signed {
		return nil, fmt.Errorf("%s/%s was modified or is incomplete: its SHA-256 is %x, but the signed %s lists %x; nothing was changed%s",
			r.Address, r.Archive, sum, sumsFile, signed, suspicious)
	}
	program, err := unpack(r.Archive, archive, programName(r.from.OS))
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w; nothing was changed\nnext: report it at https://github.com/gauze-mcp/gauze/issues", r.Address, r.Archive, err)
	}
	return program, nil
}

// programName returns the name of the program in an archive for a system.
func programName(os string) string {
	if os == "windows" {
		return "gauze.exe"
	}
	return "gauze"
}
