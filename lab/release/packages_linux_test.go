package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// Each package is installed with its own tool into an empty root, works there, and is removed again.
func TestPackagesInstall(t *testing.T) {
	t.Parallel()
	r := built(t)
	r.run(t, packages)
	for _, f := range formats {
		t.Run(f.channel, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			m := managers[f.channel](t, root)
			m.install(r.packageFile(f, linux))
			wantInstalled(t, r, root, f)
			i := installation{gauze: []string{filepath.Join(root, "usr/bin/gauze")}, env: bareMachine(t), version: r.version, channel: f.channel}
			if programs.Everything() {
				tryOut(t, i)
			} else { // the same bytes as in TestTryOut, without the demo
				wantVersion(t, i)
				wantAnswer(t, i)
			}
			if m.remove == nil {
				return
			}
			m.remove()
			for _, name := range filesIn(t, root) {
				if strings.HasPrefix(name, "usr/") {
					t.Errorf("%s is left after the package was removed", name)
				}
			}
		})
	}
}

func (r *release) packageFile(f format, t target) string {
	return filepath.Join(r.dir, r.artefact(released[0], t)+f.suffix)
}

// wantInstalled expects the files of a package at their places, with their modes.
func wantInstalled(t *testing.T, r *release, root string, f format) {
	t.Helper()
	for name, mode := range map[string]os.FileMode{
		"usr/bin/gauze":                                  0o755,
		"usr/share/man/man1/gauze.1.gz":                  0o644,
		"usr/share/man/man1/gauze-run.1.gz":              0o644,
		"usr/share/doc/gauze/copyright":                  0o644,
		"usr/share/gauze/channel":                        0o644,
		strings.Trim(f.zsh, "/") + "/_gauze":             0o644,
		"usr/share/bash-completion/completions/gauze":    0o644,
		"usr/share/fish/vendor_completions.d/gauze.fish": 0o644,
	} {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil || info.Mode() != mode || !info.ModTime().Equal(r.date) {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	if word := string(read(t, filepath.Join(root, "usr/share/gauze/channel"))); word != f.channel+"\n" {
		t.Errorf("channel: %q", word)
	}
	if one, two := read(t, filepath.Join(root, "usr/bin/gauze")), read(t, r.binary(released[0], linux)); !slices.Equal(one, two) {
		t.Errorf("the program is another: %s", firstDifference(one, two))
	}
}

// A package is replaced by a newer one and by an older one.
func TestPackagesUpgradeAndDowngrade(t *testing.T) {
	for _, f := range formats {
		root := t.TempDir()
		m := managers[f.channel](t, root)
		for _, version := range []string{"1.2.3-rc.1", "1.2.3", "1.2.4-dev.1+gabcdef", "1.2.3"} {
			r := standIns(t)
			r.version = version
			write(t, r.binary(released[0], linux), version)
			if err := f.make(r, linux); err != nil {
				t.Fatal(err)
			}
			m.install(r.packageFile(f, linux))
			if got := m.version(); got != f.version(version) {
				t.Errorf("%s: %s is installed, expected %s", f.channel, got, f.version(version))
			}
			if got := string(read(t, filepath.Join(root, "usr/bin/gauze"))); got != version {
				t.Errorf("%s: the program is %s, expected %s", f.channel, got, version)
			}
		}
	}
}

// Packages say in the words of their format what they are, and for which CPU.
func TestPackagesDescribeThemselves(t *testing.T) {
	dpkg := realparts.Tool(t, "dpkg-deb", "dpkg")
	r := standIns(t)
	r.run(t, packages)
	for arch, cpu := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		of := func(i int) string { return r.packageFile(formats[i], target{"linux", arch}) }
		unpacked := []string{
			do(t, dpkg, "-f", of(0)),
			rpmQuery(t, "%{NAME}, %{ARCH}, %{LICENSE}, %{URL}, %{PACKAGER}, %{BUILDHOST}, %{SUMMARY}", of(1)),
			do(t, "tar", "--warning=no-unknown-keyword", "-xzOf", of(2), ".PKGINFO"),
			do(t, "tar", "--zstd", "-xOf", of(3), ".PKGINFO"),
		}
		for i, want := range [][]string{
			{"Package: gauze", "Architecture: " + arch, "Maintainer: " + maintainer, "Homepage: " + homepage, "Description: " + about, "Version: 1.2.4~dev.5+gabcdef012345"},
			{strings.Join([]string{"gauze", cpu, license, homepage, maintainer, "localhost", about}, ", ")},
			{"pkgname = gauze", "arch = " + cpu, "license = " + license, "url = " + homepage, "pkgdesc = " + about, "pkgver = 1.2.4_alpha5-r0", "maintainer = " + maintainer},
			{"pkgname = gauze", "arch = " + cpu, "license = " + license, "url = " + homepage, "pkgdesc = " + about, "pkgver = 1.2.4dev.5+gabcdef012345-1", "packager = " + maintainer},
		} {
			lines := strings.Split(unpacked[i], "\n")
			for _, line := range want {
				if !slices.Contains(lines, line) {
					t.Errorf("%s for %s does not say %q:\n%s", formats[i].channel, arch, line, unpacked[i])
				}
			}
		}
	}
}
