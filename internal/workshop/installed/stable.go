package installed

import (
	"path"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// versioned finds a directory that the next version does not have.
var versioned = regex.New(`[0-9]+\.[0-9]+`)

// linked returns the path for configuration files of a binary: its own or, if that has a version in it,
// the link on the PATH that leads to it.
func (s System) linked(real string) string {
	if !versioned.MatchString(real) {
		return real
	}
	separator := ":"
	if s.OS == "windows" {
		separator = ";"
	}
	for dir := range strings.SplitSeq(s.Env("PATH"), separator) {
		link := path.Join(s.slashed(dir), path.Base(real))
		if s.absolute(link) && !versioned.MatchString(link) && s.leadsTo(link, real) {
			return link
		}
	}
	return real
}

// absolute reports whether a path, with slashes, is that of one file wherever gauze runs.
func (s System) absolute(path string) bool {
	if s.OS == "windows" {
		return strings.HasPrefix(path, "//") || len(path) > 2 && path[1:3] == ":/"
	}
	return strings.HasPrefix(path, "/")
}

// named reports whether a path has the version of a build in it, so that an upgrade does not keep it.
func (b Build) named(path string) bool {
	version, _, _ := strings.Cut(b.Version, "+")
	return version != Unstamped && version != "" && strings.Contains(path, version)
}

// temporary reports whether a path is in a temporary directory, or where go run and go test build.
func (s System) temporary(real string) bool {
	dirs := []string{s.Env("TMPDIR"), s.Env("TMP"), s.Env("TEMP"), "/tmp", "/var/tmp", "/var/folders"}
	for _, dir := range dirs {
		dir = strings.TrimRight(s.slashed(dir), "/")
		if followed, err := s.Disk.Real(dir); err == nil {
			dir = s.slashed(followed)
		}
		if s.absolute(dir) && len(dir) < len(real) && real[len(dir)] == '/' && s.same(real[:len(dir)], dir) {
			return true
		}
	}
	return strings.Contains(real, "/go-build")
}
