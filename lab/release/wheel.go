package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The package of a wheel, for those who start gauze as gauze-mcp or python -m gauze_mcp.
var (
	//go:embed pypi/__init__.py
	pypiInit []byte
	//go:embed pypi/__main__.py
	pypiMain []byte
)

// wheelPlatforms are the platforms in PyPI's words. The program is static, so that one wheel is for every Linux. macOS is
// the oldest that Go supports.
var wheelPlatforms = map[target]string{
	{"linux", "amd64"}:   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	{"linux", "arm64"}:   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	{"darwin", "amd64"}:  "macosx_12_0_x86_64",
	{"darwin", "arm64"}:  "macosx_12_0_arm64",
	{"windows", "amd64"}: "win_amd64",
	{"windows", "arm64"}: "win_arm64",
}

// wheels writes a wheel for each system: the program as a script, which pip puts on the PATH as it is, and gauze-mcp.
func wheels(_ context.Context, r *release) error {
	version, err := pypiVersion(r.version)
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		files, err := r.wheel(t, version)
		if err != nil {
			return err
		}
		packed, err := zipped(r.date, files)
		if err != nil {
			return err
		}
		if err := r.write(wheelFile(t, version), packed); err != nil {
			return err
		}
	}
	return nil
}

func wheelFile(t target, version string) string {
	return fmt.Sprintf("pypi/gauze_mcp-%s-py3-none-%s.whl", version, wheelPlatforms[t])
}

// wheel returns the files of a wheel.
func (r *release) wheel(t target, version string) ([]entry, error) {
	info := "gauze_mcp-" + version + ".dist-info/"
	program, err := fileEntry("gauze_mcp-"+version+".data/scripts/"+t.exe("gauze"), 0o755, r.binary(released[0], t))
	if err != nil {
		return nil, err
	}
	terms, err := fileEntry(info+"licenses/LICENSE", 0o644, filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	materials, err := r.materials(released[0], t)
	if err != nil {
		return nil, err
	}
	sbom, err := json.MarshalIndent(materials, "", "  ")
	if err != nil {
		return nil, err
	}
	readme, err := os.ReadFile(filepath.Join(r.root, "README.md"))
	if err != nil {
		return nil, err
	}
	files := []entry{program, terms, {info + "sboms/gauze.cdx.json", 0o644, append(sbom, '\n')},
		{"gauze_mcp/__init__.py", 0o644, pypiInit},
		{"gauze_mcp/__main__.py", 0o644, pypiMain},
		{info + "METADATA", 0o644, wheelMetadata(version, readme)},
		{info + "WHEEL", 0o644, wheelTags(t)},
		{info + "entry_points.txt", 0o644, []byte("[console_scripts]\ngauze-mcp = gauze_mcp:main\n")},
	}
	return append(files, entry{info + "RECORD", 0o644, wheelRecord(info, files)}), nil
}

func wheelMetadata(version string, readme []byte) []byte {
	return fmt.Appendf(nil, `Metadata-Version: 2.4
Name: gauze-mcp
Version: %s
Summary: %s
License-Expression: %s
License-File: LICENSE
Keywords: mcp,model-context-protocol,proxy,reliability
Project-URL: Homepage, %s
Requires-Python: >=3.10
Description-Content-Type: text/markdown

<!-- mcp-name: %s -->

%s`, version, about, license, homepage, registryName, readme)
}

// wheelTags lists each platform that the name of the wheel has.
func wheelTags(t target) []byte {
	var b bytes.Buffer
	b.WriteString("Wheel-Version: 1.0\nGenerator: gauze\nRoot-Is-Purelib: false\n")
	for platform := range strings.SplitSeq(wheelPlatforms[t], ".") {
		fmt.Fprintf(&b, "Tag: py3-none-%s\n", platform)
	}
	return b.Bytes()
}

// wheelRecord lists the files with their hashes, and itself.
func wheelRecord(info string, files []entry) []byte {
	var lines []string
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		lines = append(lines, fmt.Sprintf("%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content)))
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, "") + info + "RECORD,,\n")
}

var (
	prerelease = regexp.MustCompile(`^([0-9.]+)-(alpha|beta|rc|dev)(?:\.([0-9]+))?$`)
	pypiWords  = map[string]string{"alpha": "a", "beta": "b", "rc": "rc", "dev": ".dev"}
)

// pypiVersion returns the version as PEP 440 defines it: 1.2.3-rc.1 is 1.2.3rc1, and 1.2.4-dev.5 is 1.2.4.dev5. PyPI does not
// accept a build.
func pypiVersion(version string) (string, error) {
	version, _, _ = strings.Cut(version, "+")
	if !strings.Contains(version, "-") {
		return version, nil
	}
	m := prerelease.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("-version %q: PyPI does not know this kind of version; it must end in -alpha.N, -beta.N, -rc.N or -dev.N", version)
	}
	number := m[3]
	if number == "" {
		number = "0"
	}
	return m[1] + pypiWords[m[2]] + number, nil
}
