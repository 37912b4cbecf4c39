//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/executable"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

// tenEntries are ten servers of five clients, in the forms that gauze wrap distinguishes.
var tenEntries = map[string]string{
	".claude.json":                    `{"numStartups":7,"mcpServers":{"a1":{"type":"stdio","command":"faultyserver","args":["-era","legacy"],"env":{}},"a2":{"command":"faultyserver"}},"tips":{"x":1}}`,
	".cursor/mcp.json":                "{\r\n  \"mcpServers\": {\r\n    \"b1\": {\"command\": \"faultyserver\", \"args\": [\"-era\", \"legacy\"]},\r\n    \"b2\": {\r\n      \"command\": \"faultyserver\"\r\n    }\r\n  }\r\n}\r\n",
	".codex/config.toml":              "model = \"o\"   # mine\n\n[mcp_servers.c1]\ncommand = 'faultyserver' # bare\n\n[mcp_servers.c2]\nargs = [\n  \"-era\",\n  \"both\",   # all\n]\ncommand = \"faultyserver\"\n",
	".config/goose/config.yaml":       "GOOSE_MODEL: x\nextensions:\n  d1:\n    name: d1\n    enabled: true\n    type: stdio\n    cmd: faultyserver\n    args:\n      - -era\n      - legacy\n    timeout: 300\n  d2: {name: d2, enabled: true, type: stdio, cmd: faultyserver, args: []}\n",
	".config/opencode/opencode.jsonc": "{\n  \"mcp\": {\n    \"e1\": {\"type\": \"local\", \"command\": [\"faultyserver\", \"-era\", \"legacy\"], \"enabled\": true},\n    \"e2\": {\"type\": \"local\", \"command\": [\"faultyserver\"]}, // short\n  },\n}\n",
}

// mover is a person who installs gauze in one way after another.
type mover struct {
	*person
	root string // of the installations
}

func newMover(t *testing.T) *mover {
	m := &mover{newPerson(t, tenEntries), t.TempDir()}
	m.environ = slices.DeleteFunc(m.environ, func(pair string) bool { return strings.HasPrefix(pair, "GAUZE_BIN=") })
	return m
}

// file writes a file of an installation.
func (m *mover) file(name, content string) {
	m.t.Helper()
	path := filepath.Join(m.root, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// binary puts a gauze at a path, in place of what is there. No two are equal.
func (m *mover) binary(name, version string) string {
	m.t.Helper()
	self, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	path := filepath.Join(m.root, name)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = executable.Write(path+".new", append(content, version...))
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return path
}

// brew installs a version as Homebrew does: a keg, and links to it.
func (m *mover) brew(version string) (linked string) {
	m.t.Helper()
	keg := filepath.Join("brew", "Cellar", "gauze", version)
	m.file(filepath.Join(keg, "INSTALL_RECEIPT.json"), "{}")
	m.binary(filepath.Join(keg, "bin", "gauze"), version)
	linked = filepath.Join(m.root, "brew", "bin", "gauze")
	os.Remove(linked)
	err := os.MkdirAll(filepath.Dir(linked), 0o755)
	if err == nil {
		err = os.Symlink(filepath.Join("..", "Cellar", "gauze", version, "bin", "gauze"), linked)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return linked
}

// run runs one of the installed programs, which must succeed.
func (m *mover) run(gauze string, args ...string) string {
	m.t.Helper()
	cmd := program(m.t, gauze, args...)
	cmd.Dir, cmd.Env = m.project, m.environ
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s %v: %v\n%s", gauze, args, err, out)
	}
	return string(out)
}

// wantAllThrough starts all ten servers as their clients do, and expects that each answers through the
// gauze at a path.
func (m *mover) wantAllThrough(gauze string) {
	m.t.Helper()
	servers := m.servers()
	if len(servers) != 10 {
		m.t.Fatalf("%d servers", len(servers))
	}
	for _, s := range servers {
		got := probe.Run(patience.Context(m.t), s.Spec, probe.Options{Timeout: patience.Limit()})
		if !s.Wrapped || s.Spec.Command != gauze || !got.OK() {
			m.t.Errorf("%s: %v: %s", s.ID(), s.Spec, got.Stopped)
		}
	}
}

func (m *mover) wantOriginal() {
	m.t.Helper()
	for name, want := range tenEntries {
		if got, err := os.ReadFile(filepath.Join(m.home, name)); err != nil || string(got) != want {
			m.t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// Entries work after an upgrade without a change, after a move to another channel once the doctor has
// repaired them, and without gauze after gauze uninstall.
func TestTenEntriesSurviveUpgradesAndAMove(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	const npm = "npm/lib/node_modules/gauze-mcp"
	m.file(npm+"/package.json", `{"name":"gauze-mcp"}`)
	byNPM := m.binary(npm+"/bin/gauze", "A")
	m.run(byNPM, "wrap", "--all", "--yes")
	m.wantAllThrough(byNPM)
	wrapped := m.tree()

	m.binary(npm+"/bin/gauze", "B") // npm install -g
	m.wantAllThrough(byNPM)

	byBrew := m.brew("1.0.0")
	if err := os.RemoveAll(filepath.Join(m.root, "npm")); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, byBrew, "doctor", "--static", "--json")
	cmd.Dir, cmd.Env = m.project, m.environ
	if said, _ := cmd.Output(); strings.Count(string(said), `"code":"gauze-missing"`) != 10 || m.tree() != wrapped {
		t.Errorf("the doctor does not find ten entries, or changes them:\n%s", said)
	}
	said := m.run(byBrew, "doctor", "--fix", "--yes")
	if !strings.Contains(said, "10 of 10 work") {
		t.Errorf("%s", said)
	}
	m.wantAllThrough(byBrew)

	m.brew("1.1.0") // brew upgrade, which deletes the old keg
	if err := os.RemoveAll(filepath.Join(m.root, "brew", "Cellar", "gauze", "1.0.0")); err != nil {
		t.Fatal(err)
	}
	m.wantAllThrough(byBrew)

	if said := m.run(byBrew, "uninstall", "--yes"); !strings.HasSuffix(said, "To uninstall gauze:\n\n    brew uninstall gauze\n") {
		t.Errorf("%s", said)
	}
	m.wantOriginal()
}

// What the doctor repaired can be undone, change by change.
func TestARepairOfAMoveIsUndone(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	m.file("npm/lib/node_modules/gauze-mcp/package.json", `{"name":"gauze-mcp"}`)
	m.run(m.binary("npm/lib/node_modules/gauze-mcp/bin/gauze", "A"), "wrap", "--all", "--yes")
	wrapped := m.tree()
	os.RemoveAll(filepath.Join(m.root, "npm"))
	byBrew := m.brew("1.0.0")
	m.run(byBrew, "doctor", "--fix", "--yes", "--static")
	if m.tree() == wrapped {
		t.Fatal("nothing was repaired")
	}
	m.run(byBrew, "undo", "10") // five changes to wrap, five to repair
	if m.tree() != wrapped {
		t.Error("the files are not as they were")
	}
}

// wantRenewed runs a command of a gauze in a cache while its copy has other content, or is gone. It expects
// that the copy works afterwards, and that no file of a client changes.
func (m *mover) wantRenewed(cached, own, content string, args ...string) {
	m.t.Helper()
	err := os.Remove(own)
	if content != "" {
		err = os.WriteFile(own, []byte(content), 0o755)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(m.home, ".cursor", "mcp.json"))
	if err != nil {
		m.t.Fatal(err)
	}
	if said := m.run(cached, args...); !strings.Contains(said, "The copy of gauze that clients start is now version ") {
		m.t.Errorf("%s", said)
	}
	if after, err := os.ReadFile(filepath.Join(m.home, ".cursor", "mcp.json")); err != nil || string(after) != string(before) {
		m.t.Errorf("%v\n%s", err, after)
	}
	m.wantAllThrough(own)
}

// A gauze in a cache puts a copy in the user's data directory, which works when the cache is gone. An
// older gauze does not replace it.
func TestACopyOutlivesTheCache(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		channel, file, content, binary string
	}{
		{"npx", "npm/_npx/ee51/package.json", `{"_npx":{"packages":["gauze-mcp"]}}`, "npm/_npx/ee51/node_modules/gauze-mcp/bin/gauze"},
		{"uvx", "uv/archive-v0/eZV6/lib/python3.11/site-packages/gauze_mcp-1.2.3.dist-info/RECORD", "../../../bin/gauze,sha256=qDso,1675426\n", "uv/archive-v0/eZV6/bin/gauze"},
	} {
		t.Run(tt.channel, func(t *testing.T) {
			t.Parallel()
			m := newMover(t)
			m.environ = append(m.environ, "XDG_DATA_HOME="+filepath.Join(m.home, "data"))
			m.file(tt.file, tt.content)
			m.file("uv/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
			m.file("npm/_npx/ee51/node_modules/gauze-mcp/package.json", `{"name":"gauze-mcp"}`)
			cached := m.binary(tt.binary, "A")
			if said := m.run(cached, "version"); !strings.Contains(said, fmt.Sprintf("channel: %s (%s)", tt.channel, cached)) {
				t.Fatal(said)
			}
			if said := m.run(cached, "wrap", "--all", "--yes"); strings.Count(said, "! This gauze binary is in "+tt.channel+"'s cache") != 1 {
				t.Errorf("%s", said)
			}
			own := filepath.Join(m.home, "data", "gauze", "bin", "gauze")
			m.wantRenewed(cached, own, "the older gauze", "wrap", "--all", "--yes")
			m.wantRenewed(cached, own, "", "wrap", "--all", "--yes")
			m.wantRenewed(cached, own, "", "doctor", "--fix", "--yes")
			for _, dir := range []string{"npm", "uv"} {
				if err := os.RemoveAll(filepath.Join(m.root, dir)); err != nil {
					t.Fatal(err)
				}
			}
			m.wantAllThrough(own)
			if said := m.run(own, "uninstall", "--yes"); !strings.HasSuffix(said, "    rm "+own+"\n") {
				t.Errorf("%s", said)
			}
			m.wantOriginal()
		})
	}
}
