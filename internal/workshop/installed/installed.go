// Package installed knows how this gauze was installed: by which channel, where clients find it
// after the next upgrade, and which commands upgrade and uninstall it.
//
//	installed.go  Find: the channel, by what its tool left on the disk
//	node.go       npm and what installs its packages
//	python.go     pip, uv and pipx
//	system.go     Homebrew, Scoop, winget, the packages of Linux distributions, and a bundle
//	commands.go   the commands that upgrade and uninstall
//	stable.go     the path for configuration files
//	build.go      version, commit and date of a build
//	version.go    the order of versions
//	copy.go       a copy in the user's data directory, for a gauze in a cache
//
// A channel is known by evidence and never guessed from a name: a receipt or a package.json beside the
// binary, or the build information. Without evidence it is Download or Clone.
package installed

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// Channel is what installed gauze.
type Channel string

const (
	NPM      Channel = "npm"
	NPX      Channel = "npx"
	PNPM     Channel = "pnpm"
	PNPMDlx  Channel = "pnpm dlx"
	Bun      Channel = "bun"
	Bunx     Channel = "bunx"
	Yarn     Channel = "yarn"
	Pip      Channel = "pip"
	UV       Channel = "uv"
	UVX      Channel = "uvx"
	Pipx     Channel = "pipx"
	PipxRun  Channel = "pipx run"
	Brew     Channel = "brew"
	Scoop    Channel = "scoop"
	Winget   Channel = "winget"
	Deb      Channel = "deb"
	RPM      Channel = "rpm"
	APK      Channel = "apk"
	Arch     Channel = "arch"
	Image    Channel = "image"
	Bundle   Channel = "bundle"   // an .mcpb file, opened in Claude Desktop
	Go       Channel = "go"       // go install
	Download Channel = "download" // an archive of a release
	Clone    Channel = "clone"    // built from a clone
)

// Installation is one gauze on this machine.
type Installation struct {
	Channel Channel
	Path    string // Path is the running binary, without symbolic links.
	Stable  string // Stable is the path for configuration files: an upgrade keeps it.
	Cached  bool   // Cached means that its tool may delete it at any time: copy it before its path is written anywhere.

	local bool   // of one project, not of the user
	dir   string // of the project or the environment
	name  string // what the tool calls gauze or, with pip, the Python to run
	byUV  bool   // installed by uv in place of pip
	os    string

	target bool // in a directory of pip --target
}

// System is the machine on which gauze is installed.
type System struct {
	OS   string // in Go's words
	Disk Disk
	Env  func(name string) string
}

// Disk reads files. Paths have slashes on all systems.
type Disk interface {
	Real(path string) (string, error) // without symbolic links; an error if there is no such file
	ReadFile(path string) ([]byte, error)
	ReadDir(path string) ([]fs.DirEntry, error)
}

// Here returns the installation of the running binary.
func Here(b Build) (Installation, error) {
	own, err := os.Executable()
	if err != nil {
		return Installation{}, errors.New("cannot determine the path of this binary")
	}
	return This().Find(own, b), nil
}

// This returns the system that gauze runs on.
func This() System { return System{OS: runtime.GOOS, Disk: disk{}, Env: os.Getenv} }

// Find returns how the gauze at a path, with this build, was installed.
func (s System) Find(own string, b Build) Installation {
	real := s.slashed(own)
	if followed, err := s.Disk.Real(real); err == nil {
		real = s.slashed(followed)
	}
	i := Installation{Path: real, Stable: real, os: s.OS}
	found := s.inImage(&i) || s.byNode(&i) || s.byPython(&i) || s.bySystem(&i) || s.byBundle(&i)
	if found {
		i.Cached = i.Cached || b.named(i.Stable)
	} else {
		i.Channel, i.Cached = b.channel(), s.temporary(real)
		i.Stable = s.linked(real)
	}
	i.Path, i.Stable, i.dir = s.native(i.Path), s.native(i.Stable), s.native(i.dir)
	return i
}

// slashed returns a path with slashes.
func (s System) slashed(path string) string {
	if s.OS == "windows" {
		return strings.ReplaceAll(path, `\`, "/")
	}
	return path
}

// native returns a path as the system writes it.
func (s System) native(path string) string {
	if s.OS == "windows" {
		return strings.ReplaceAll(path, "/", `\`)
	}
	return path
}

// same reports whether two paths are of the same file; Windows and macOS ignore case.
func (s System) same(a, b string) bool {
	if s.OS == "windows" || s.OS == "darwin" {
		return strings.EqualFold(path.Clean(a), path.Clean(b))
	}
	return path.Clean(a) == path.Clean(b)
}

// leadsTo reports whether a path is there and leads to the file real.
func (s System) leadsTo(link, real string) bool {
	followed, err := s.Disk.Real(link)
	return err == nil && s.same(s.slashed(followed), real)
}

func (s System) exists(path string) bool {
	_, err := s.Disk.Real(path)
	return err == nil
}

// disk is the local Disk.
type disk struct{}

func (disk) Real(path string) (string, error)           { return filepath.EvalSymlinks(path) }
func (disk) ReadFile(path string) ([]byte, error)       { return os.ReadFile(path) }
func (disk) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }
