package main

import (
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

const (
	npmBin   = "lib/node_modules/gauze-mcp/bin/gauze"
	npmOwn   = "lib/node_modules/gauze-mcp/node_modules/@gauze-mcp/cli-linux-x64/bin/gauze"
	noSource = "http://127.0.0.1:1" // a registry that cannot be reached
)

// npmMachine is a machine with Node.js and npm, which installs into its directory.
func npmMachine(t *testing.T, registry string) *machine {
	t.Helper()
	realparts.Node(t) // installs npm
	dir := t.TempDir()
	env := bareMachine(t, "npm_config_registry="+registry, "npm_config_prefix="+dir, "npm_config_update_notifier=false",
		"npm_config_fetch_retries=0", "npm_config_audit=false", "npm_config_fund=false")
	return &machine{t, onPath(env, filepath.Join(dir, "bin")), dir}
}

func isProgram(file string) bool {
	program, err := elf.Open(file)
	if err == nil {
		program.Close()
	}
	return err == nil
}

// npm installs the native program, without Node.js before it, and fetches no package for another system.
func TestNPMInstallsTheNativeProgram(t *testing.T) {
	t.Parallel()
	_, r, registry := npmServed(t)
	m := npmMachine(t, registry.url)
	m.do("npm install -g gauze-mcp")
	if !isProgram(m.file(npmBin)) {
		t.Errorf("%s is not the program", npmBin)
	}
	slices.Sort(registry.fetched)
	if want := []string{"gauze-mcp-1.3.0.tgz", "gauze-mcp-cli-linux-x64-1.3.0.tgz"}; !slices.Equal(registry.fetched, want) {
		t.Errorf("fetched %q, expected %q", registry.fetched, want)
	}
	m.tryOut(r, "npm") // the demo of npm's program is one of README's lines
	m.do("npm uninstall -g gauze-mcp")
	if left, err := os.ReadDir(m.file("bin")); err != nil || len(left) > 0 {
		t.Errorf("left after npm uninstall: %v, %v", left, err)
	}
}

// Without install scripts, a launcher finds the program and starts it.
func TestNPMWithoutScripts(t *testing.T) {
	onRequest(t) // TestNPMLauncher also installs it this way
	t.Parallel()
	_, r, registry := npmServed(t)
	m := npmMachine(t, registry.url)
	m.do("npm install -g --ignore-scripts gauze-mcp")
	if isProgram(m.file(npmBin)) {
		t.Errorf("%s is the program, although its script did not run", npmBin)
	}
	m.tryOut(r, "npm")
}

// The tarballs of a release can be installed without any registry.
func TestNPMTarballs(t *testing.T) {
	onRequest(t)
	t.Parallel()
	_, r, _ := npmServed(t)
	m := npmMachine(t, noSource)
	dir := filepath.Join(r.dir, "npm")
	m.do("npm install -g --offline " + dir + "/gauze-mcp-1.3.0.tgz " + dir + "/gauze-mcp-cli-linux-x64-1.3.0.tgz")
	if !isProgram(m.file(npmBin)) {
		t.Errorf("%s is not the program", npmBin)
	}
	wantVersion(t, m.installed(r, "npm"))
}

// An entry that was wrapped works in each version, with and without install scripts.
func TestNPMUpgradeAndDowngrade(t *testing.T) {
	t.Parallel()
	old, new, registry := npmServed(t)
	options := []string{"--foreground-scripts"}
	if programs.Everything() {
		options = append(options, "--ignore-scripts")
	}
	for _, option := range options {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			m := npmMachine(t, registry.url)
			for i, r := range []*release{old, new, old} {
				m.do("npm install -g " + option + " gauze-mcp@" + npmVersion(r.version))
				wantVersion(t, m.installed(r, "npm"))
				if i == 0 {
					m.wrap("gauze")
				}
				m.wantEntry()
			}
		})
	}
}

// A program that is not that of the release is refused, and nothing that starts is left.
func TestNPMRefusesAChangedProgram(t *testing.T) {
	t.Parallel()
	_, r, registry := npmServed(t)
	name := filepath.Base(npmPlatform(linux, r.version).tarball())
	files, err := npmFiles(registry.tarballs[name])
	if err != nil {
		t.Fatal(err)
	}
	program := files["package/bin/gauze"]
	program[len(program)/2] ^= 1
	tarball, err := tarGz(r.date, []entry{{"package/package.json", 0o644, files["package/package.json"]}, {"package/bin/gauze", 0o755, program}})
	if err == nil {
		err = registry.add(name, tarball) // the registry itself vouches for it
	}
	if err != nil {
		t.Fatal(err)
	}
	m := npmMachine(t, registry.url)
	said, err := m.try("npm install -g gauze-mcp")
	if err == nil || !strings.Contains(said, "the program is not that of release "+r.version) {
		t.Errorf("%v\n%s", err, said)
	}
	if _, err := os.Stat(m.file("bin/gauze")); err == nil { // npm leaves a link that leads nowhere
		t.Error("gauze is installed")
	}
}

// Without optional dependencies there is no program: the message says what to run, when it is installed or at the latest
// when it is started.
func TestNPMWithoutOptionalDependencies(t *testing.T) {
	t.Parallel()
	_, _, registry := npmServed(t)
	m := npmMachine(t, registry.url)
	const remedy = "npm install --include=optional gauze-mcp"
	if programs.Everything() {
		if said, err := m.try("npm install --omit=optional gauze-mcp"); err == nil || !strings.Contains(said, remedy) {
			t.Errorf("%v\n%s", err, said)
		}
	}
	m.do("npm install --omit=optional --ignore-scripts gauze-mcp")
	if said, err := m.try("node_modules/.bin/gauze version"); err == nil || !strings.Contains(said, remedy) {
		t.Errorf("%v\n%s", err, said)
	}
	m.do(remedy)
	m.do("node_modules/.bin/gauze version")
}

// The package says what the registries of npm and MCP read, and has one of the six packages for each system.
func TestNPMPackage(t *testing.T) {
	t.Parallel()
	r := standIns(t)
	r.run(t, npm)
	made := filesIn(t, filepath.Join(r.dir, "npm"))
	files, err := npmFiles(read(t, filepath.Join(r.dir, "npm", "gauze-mcp-1.2.4-dev.5.tgz")))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"LICENSE", "README.md", "bin/gauze", "install.js", "native.js"} {
		if len(files["package/"+name]) == 0 {
			t.Errorf("the package has no %s", name)
		}
	}
	var m packageJSON
	if err := json.Unmarshal(files["package/package.json"], &m); err != nil {
		t.Fatal(err)
	}
	if m.MCPName != "io.github.gauze-mcp/gauze" || len(m.Dependencies) != 6 || len(made) != 7 || len(m.Gauze.SHA256) != 6 {
		t.Errorf("%+v of %q", m, made)
	}
	for _, name := range []string{"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64", "win32-arm64"} {
		if m.Dependencies["@gauze-mcp/cli-"+name] != m.Version || m.Gauze.SHA256[name] == "" {
			t.Errorf("%s is missing: %+v", name, m)
		}
	}
}
