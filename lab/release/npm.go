package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// The scripts of the npm package.
var (
	//go:embed npm/native.js
	npmNative []byte
	//go:embed npm/install.js
	npmInstall []byte
	//go:embed npm/launcher.js
	npmLauncher []byte
)

const (
	registryName = "io.github.gauze-mcp/gauze" // in the MCP registry
	oldestNode   = ">=18"
)

// packageJSON is the description of an npm package.
type packageJSON struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Homepage     string            `json:"homepage"`
	Repository   map[string]string `json:"repository"`
	MCPName      string            `json:"mcpName,omitempty"`
	Keywords     []string          `json:"keywords,omitempty"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
	Bin          map[string]string `json:"bin,omitempty"`
	Scripts      map[string]string `json:"scripts,omitempty"`
	Files        []string          `json:"files"`
	Unplugged    bool              `json:"preferUnplugged,omitempty"` // Yarn keeps packages zipped
	Dependencies map[string]string `json:"optionalDependencies,omitempty"`
	Gauze        *npmRelease       `json:"gauze,omitempty"`
}

// npmRelease is what the install script compares the program with.
type npmRelease struct {
	Version string            `json:"version"`
	SHA256  map[string]string `json:"sha256"` // by platform, such as linux-x64
}

// npm writes the package gauze-mcp, and for each system a package with the program, of which npm installs
// the one that fits.
func npm(_ context.Context, r *release) error {
	version := npmVersion(r.version)
	main := newPackage("gauze-mcp", about, version)
	main.MCPName = registryName
	main.Keywords = []string{"mcp", "model-context-protocol", "proxy", "reliability"}
	main.Engines = map[string]string{"node": oldestNode}
	main.Bin = map[string]string{"gauze": "bin/gauze", "gauze-mcp": "bin/gauze"}
	main.Scripts = map[string]string{"postinstall": "node install.js"}
	main.Files = []string{"bin/gauze", "install.js", "native.js"}
	main.Dependencies = map[string]string{}
	main.Gauze = &npmRelease{r.version, map[string]string{}}
	for _, t := range r.targets {
		program, err := fileEntry("bin/"+t.exe("gauze"), 0o755, r.binary(released[0], t))
		if err != nil {
			return err
		}
		pkg := npmPlatform(t, version)
		main.Dependencies[pkg.Name] = version
		sum := sha256.Sum256(program.content)
		main.Gauze.SHA256[pkg.platform()] = hex.EncodeToString(sum[:])
		readme := entry{"README.md", 0o644, fmt.Appendf(nil, "The program of [gauze-mcp](%s) for %s on %s. Install `gauze-mcp` instead.\n", homepage, pkg.OS[0], pkg.CPU[0])}
		if err := r.writeNPM(pkg, program, readme); err != nil {
			return err
		}
	}
	readme, err := fileEntry("README.md", 0o644, filepath.Join(r.root, "README.md"))
	if err != nil {
		return err
	}
	return r.writeNPM(main, readme,
		entry{"bin/gauze", 0o755, npmLauncher}, entry{"install.js", 0o644, npmInstall}, entry{"native.js", 0o644, npmNative})
}

func newPackage(name, description, version string) packageJSON {
	return packageJSON{Name: name, Version: version, Description: description, License: license, Homepage: homepage,
		Repository: map[string]string{"type": "git", "url": "git+" + homepage + ".git"}}
}

// npmPlatform returns the package that has the program for a system, in npm's words.
func npmPlatform(t target, version string) packageJSON {
	os, cpu := t.os, t.arch
	if os == "windows" {
		os = "win32"
	}
	if cpu == "amd64" {
		cpu = "x64"
	}
	m := newPackage("@gauze-mcp/cli-"+os+"-"+cpu, "gauze for "+os+" on "+cpu, version)
	m.OS, m.CPU = []string{os}, []string{cpu}
	m.Files, m.Unplugged = []string{"bin/" + t.exe("gauze")}, true
	return m
}

func (m packageJSON) platform() string { return m.OS[0] + "-" + m.CPU[0] }

// npmVersion returns the version without the build, which npm would cut off when it is published.
func npmVersion(version string) string {
	version, _, _ = strings.Cut(version, "+")
	return version
}

// writeNPM writes a package with the license under the name that npm pack uses.
func (r *release) writeNPM(m packageJSON, files ...entry) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	terms, err := fileEntry("LICENSE", 0o644, filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	files = append(files, terms, entry{"package.json", 0o644, append(text, '\n')})
	for i := range files {
		files[i].name = path.Join("package", files[i].name)
	}
	packed, err := tarGz(r.date, files)
	if err != nil {
		return err
	}
	return r.write(m.tarball(), packed)
}

// tarball returns the file of the package in a release.
func (m packageJSON) tarball() string {
	return "npm/" + strings.NewReplacer("@", "", "/", "-").Replace(m.Name) + "-" + m.Version + ".tgz"
}
