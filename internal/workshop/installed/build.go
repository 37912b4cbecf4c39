package installed

import (
	"runtime/debug"
	"strings"
	"time"
)

// Build is what is known about the build of a binary.
type Build struct {
	Version  string // Version has no leading v. It is "dev" if nothing is known.
	Commit   string
	Date     string // Date is the commit's or the release's, in RFC 3339.
	Modified bool   // Modified means that the clone had changes that were not committed.
	Go       string // Go is the version of Go that built it.

	stamped bool // by the release
	module  bool // by go install, from a module whose sum was checked
}

// Unstamped is the version of a build that is not a release.
const Unstamped = "dev"

// BuildOf returns the build that a release stamped, or else what Go recorded about it.
func BuildOf(version, commit, date string, info *debug.BuildInfo) Build {
	b := Build{Version: strings.TrimPrefix(version, "v"), Commit: commit, Date: date, stamped: version != Unstamped && version != ""}
	if info == nil {
		return b
	}
	b.Go = info.GoVersion
	if b.stamped {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	b.module = info.Main.Sum != ""
	switch main := info.Main.Version; {
	case main != "" && main != "(devel)":
		b.Version = strings.TrimPrefix(main, "v")
	case b.Commit != "":
		b.Version = b.pseudoVersion()
	}
	return b
}

// pseudoVersion returns the version that Go would give to the commit.
func (b Build) pseudoVersion() string {
	version := "0.0.0-"
	if t, err := time.Parse(time.RFC3339, b.Date); err == nil {
		version += t.UTC().Format("20060102150405") + "-"
	}
	version += b.Commit[:min(12, len(b.Commit))]
	if b.Modified {
		version += "+dirty"
	}
	return version
}

// channel returns the channel of a build that no tool installed.
func (b Build) channel() Channel {
	switch {
	case b.stamped:
		return Download
	case b.module:
		return Go
	}
	return Clone
}
