package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// manager is a tool that installs packages, with a root of its own.
type manager struct {
	install func(file string) // also over a newer or older version
	version func() string     // of what is installed
	remove  func()            // nil if packages are only unpacked
}

// managers prepare an empty root for the tool of each channel.
var managers = map[string]func(t *testing.T, root string) manager{"deb": dpkg, "rpm": rpmTool, "apk": unpack, "arch": pacman}

func dpkg(t *testing.T, root string) manager {
	t.Helper()
	admin := filepath.Join(root, "var/lib/dpkg")
	for name, text := range map[string]string{"status": "", "available": "", "info/format": "1\n", "updates/.keep": "", "triggers/.keep": ""} {
		write(t, filepath.Join(admin, name), text)
	}
	os.Remove(filepath.Join(admin, "updates/.keep")) // dpkg reads what is in there
	in := []string{realparts.Tool(t, "dpkg", "dpkg"), "--root=" + root, "--force-not-root", "--log=" + os.DevNull}
	return manager{
		install: func(file string) { do(t, append(in, "-i", file)...) },
		version: func() string { return do(t, "dpkg-query", "--admindir="+admin, "-W", "-f", "${Version}", "gauze") },
		remove:  func() { do(t, append(in, "--purge", "gauze")...) },
	}
}

func rpmTool(t *testing.T, root string) manager {
	t.Helper()
	if os.Geteuid() == 0 { // it changes its root
		in := []string{realparts.Tool(t, "rpm", "rpm"), "--root", root, "--dbpath", "/var/lib/rpm"}
		return manager{
			install: func(file string) { do(t, append(in, "-U", "--force-debian", "--nodeps", "--oldpackage", file)...) },
			version: func() string { return do(t, append(in, "-q", "--qf", "%{VERSION}", "gauze")...) },
			remove:  func() { do(t, append(in, "-e", "--force-debian", "gauze")...) },
		}
	}
	cpio, installed := realparts.Tool(t, "cpio", "cpio"), ""
	return manager{
		install: func(file string) {
			installed = file
			do(t, "sh", "-c", `cd "$1" && rpm2cpio "$2" | "$3" -idmu --quiet`, "sh", root, file, cpio)
		},
		version: func() string { return rpmQuery(t, "%{VERSION}", installed) },
	}
}

// rpmQuery asks what a package says of itself, after checking its digests.
func rpmQuery(t *testing.T, format, file string) string {
	t.Helper()
	rpm := []string{realparts.Tool(t, "rpm", "rpm"), "--dbpath", t.TempDir()} // by default, in the user's home
	do(t, append(rpm, "-K", "--nosignature", file)...)
	return do(t, append(rpm, "-qp", "--qf", format, file)...)
}

func pacman(t *testing.T, root string) manager {
	t.Helper()
	tool, config := realparts.Tool(t, "pacman", "pacman-package-manager"), filepath.Join(t.TempDir(), "pacman.conf")
	write(t, config, "[options]\nArchitecture = x86_64\nLocalFileSigLevel = Never\n")
	data := filepath.Join(root, "var/lib/pacman")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	in := []string{tool, "--config", config, "--root", root, "--dbpath", data, "--cachedir", t.TempDir(), "--hookdir", t.TempDir(), "--logfile", os.DevNull, "--noconfirm"}
	version := func(args ...string) string {
		said := strings.TrimPrefix(do(t, append(in, args...)...), "gauze ")
		version, _, _ := strings.Cut(said, "-")
		return version
	}
	if os.Geteuid() == 0 {
		return manager{
			install: func(file string) { do(t, append(in, "-U", file)...) },
			version: func() string { return version("-Q", "gauze") },
			remove:  func() { do(t, append(in, "-R", "gauze")...) },
		}
	}
	installed := ""
	return manager{
		install: func(file string) {
			installed = file
			do(t, "tar", "--zstd", "-xpf", file, "-C", root)
		},
		version: func() string { return version("-Qp", installed) },
	}
}

// unpack is for apk, which Debian does not have.
func unpack(t *testing.T, root string) manager {
	t.Helper()
	return manager{
		install: func(file string) { do(t, "tar", "--warning=no-unknown-keyword", "-xzpf", file, "-C", root) },
		version: func() string {
			_, after, _ := strings.Cut(string(read(t, filepath.Join(root, ".PKGINFO"))), "pkgver = ")
			version, _, _ := strings.Cut(after, "-r0\n")
			return version
		},
	}
}

// do runs a tool and returns what it prints.
func do(t *testing.T, args ...string) string {
	t.Helper()
	said, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, said)
	}
	return string(said)
}

// Each tool sorts a version as we do: what precedes a release before it, and the next one after it.
func TestToolsSortVersions(t *testing.T) {
	dpkg, rpm := realparts.Tool(t, "dpkg", "dpkg"), realparts.Tool(t, "rpm", "rpm")
	vercmp := realparts.Tool(t, "vercmp", "makepkg")
	for i := range len(ascending) - 1 {
		one, two := ascending[i], ascending[i+1]
		a, b := tildeVersion(one), tildeVersion(two)
		do(t, dpkg, "--compare-versions", a, "lt", b)
		if said := do(t, rpm, "--dbpath", t.TempDir(), "--eval", fmt.Sprintf("%%{lua:print(rpm.vercmp(%q, %q))}", a, b)); strings.TrimSpace(said) != "-1" {
			t.Errorf("rpm: %s, %s: %s", a, b, said)
		}
		if said := do(t, vercmp, archVersion(one)+"-1", archVersion(two)+"-1"); strings.TrimSpace(said) != "-1" {
			t.Errorf("pacman: %s, %s: %s", archVersion(one), archVersion(two), said)
		}
	}
}
