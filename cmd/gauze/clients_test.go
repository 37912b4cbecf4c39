package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

// person is a user with a home directory, a project and clients.
type person struct {
	t       testing.TB
	home    string
	project string
	state   string
	environ []string
}

func newPerson(t testing.TB, files map[string]string) *person {
	t.Helper()
	dir := t.TempDir()
	p := &person{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "home", "project"), state: filepath.Join(dir, "state")}
	for _, folder := range []string{p.project, p.state} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		p.write(name, text)
	}
	gauze, err := exec.LookPath("gauze")
	if err != nil {
		t.Fatal(err)
	}
	p.environ = []string{"HOME=" + p.home, "USERPROFILE=" + p.home, "PATH=" + os.Getenv("PATH"), "GAUZE_STATE_DIR=" + p.state, "GAUZE_KEYRING=off", "GAUZE_BIN=" + gauze, "GORACE=" + os.Getenv("GORACE")}
	for _, name := range []string{"GOCOVERDIR", "TESTSCRIPT_COMMAND", "SystemRoot", "ComSpec", "PATHEXT", "TEMP"} {
		if value := os.Getenv(name); value != "" {
			p.environ = append(p.environ, name+"="+value)
		}
	}
	return p
}

func (p *person) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// gauze runs a command in the project and returns its output.
func (p *person) gauze(args ...string) (said string, status int) {
	p.t.Helper()
	cmd := gauzeCommand(p, args...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// gauzeCommand returns gauze in the project, not started yet.
func gauzeCommand(p *person, args ...string) *exec.Cmd {
	cmd := program(p.t, "gauze", args...)
	cmd.Dir, cmd.Env = p.project, p.environ
	return cmd
}

func (p *person) must(args ...string) string {
	p.t.Helper()
	said, status := p.gauze(args...)
	if status != 0 {
		p.t.Fatalf("gauze %v: status %d\n%s", args, status, said)
	}
	return said
}

// tree returns every file of the home directory with its content and mode.
func (p *person) tree() string {
	p.t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(p.home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "gauze" {
			return fs.SkipDir // the journal: some clients do not pass GAUZE_STATE_DIR on
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %v %x\n", path, info.Mode(), sha256.Sum256(content))
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// servers returns the entries as their clients would start them now.
func (p *person) servers() []*fleet.Server {
	f := fleet.Fleet{Home: clientconfig.Home{OS: runtime.GOOS, Home: p.home, Project: p.project, Environ: p.environ}}
	return f.Look().Servers
}

// tenClients are thirty servers of ten clients, written as people write them.
func tenClients() map[string]string {
	return map[string]string{
		".config/Claude/claude_desktop_config.json": `{
  "globalShortcut": "",
  "mcpServers": {
    "a1": {
      "command": "faultyserver",
      "args": [
        "-era",
        "legacy"
      ]
    },
    "a2": { "command": "faultyserver" },
    "a3": { "command": "faultyserver", "args": [], "env": { "A3_TOKEN": "hunter2hunter2" } }
  }
}
`,
		".claude.json":     `{"numStartups":7,"mcpServers":{"b1":{"type":"stdio","command":"faultyserver","args":["-era","legacy"],"env":{}},"b2":{"command":"faultyserver","args":["-era","both"]},"b3":{"command":"faultyserver"}},"tipsHistory":{"x":1}}`,
		".cursor/mcp.json": "{\r\n  \"mcpServers\": {\r\n    \"c1\": {\"command\": \"faultyserver\", \"args\": [\"-era\", \"legacy\"]},\r\n    \"c2\": {\r\n      \"command\": \"faultyserver\"\r\n    },\r\n    \"c3\": {\"args\": [\"-era\", \"modern\"], \"command\": \"faultyserver\"}\r\n  }\r\n}\r\n",
		".config/Code/User/mcp.json": `{
	// servers of mine
	"servers": {
		"d1": {"type": "stdio", "command": "faultyserver", "args": ["-era", "legacy"]}, // the first
		"d2": {"type": "stdio", "command": "faultyserver", "args": ["-era", "both"],},
		/* a longer word */
		"d3": {"type": "stdio", "command": "faultyserver"},
	},
	"inputs": []
}
`,
		".config/zed/settings.json": `// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "e1": { "source": "custom", "command": "faultyserver", "args": ["-era", "legacy"], "env": {} },
    "e2": { "source": "custom", "command": "faultyserver", "args": [] },
    "e3": { "command": "faultyserver", "args": ["-era", "both"] },
  },
}
`,
		".gemini/settings.json": `{"theme":"Default","mcpServers":{"f1":{"command":"faultyserver","args":["-era","legacy"],"timeout":30000},"f2":{"command":"faultyserver","trust":false},"f3":{"command":"faultyserver","args":["-era","both"],"cwd":"/"}}}`,
		".codex/config.toml": `model = "o"   # mine

[mcp_servers.g1]
command = "faultyserver"
args = ["-era", "legacy"]

[mcp_servers.g2]
command = 'faultyserver' # bare
[mcp_servers.g2.env]
G2 = "value-of-g2"

[mcp_servers."g 3"]
args = [
  "-era",
  "both",   # all
]
command = "faultyserver"
`,
		".config/goose/config.yaml": `GOOSE_MODEL: x
extensions:
  developer:
    enabled: true
    type: builtin
  h1:
    enabled: true
    type: stdio
    cmd: faultyserver
    args:
      - -era
      - legacy
    timeout: 300
  h2:
    enabled: true
    type: stdio
    cmd: faultyserver
    args: [-era, both]   # both
  h3: {enabled: true, type: stdio, cmd: faultyserver, args: []}
`,
		".config/opencode/opencode.jsonc": `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "i1": {"type": "local", "command": ["faultyserver", "-era", "legacy"], "enabled": true},
    "i2": {"type": "local", "command": ["faultyserver"]}, // short
    "i3": {
      "type": "local",
      "command": [
        "faultyserver",
        "-era",
        "both",
      ],
      "environment": {"I3": "value-of-i3"},
    },
  },
}
`,
		".copilot/mcp-config.json": `{"mcpServers": {
  "j1": {"type": "local", "command": "faultyserver", "args": ["-era", "legacy"], "tools": ["*"]},
  "j2": {"type": "local", "command": "faultyserver", "args": [], "tools": ["*"]},
  "j3": {"type": "local", "command": "no-such-program-at-all", "args": ["-x"], "tools": ["*"]}
}}`,
	}
}

func TestAStaticLookAtFiftyEntries(t *testing.T) {
	t.Parallel()
	servers := map[string]any{}
	for i := range 50 {
		servers[fmt.Sprintf("s%02d", i)] = map[string]any{"command": "npx -y thing", "args": []any{"--port", i}, "env": map[string]any{"N": i}}
	}
	p := newPerson(t, map[string]string{".cursor/mcp.json": indented(t, "mcpServers", servers)})
	p.mustSay("50 servers read", "doctor", "--static")
}

func indented(t *testing.T, key string, servers map[string]any) string {
	t.Helper()
	text, err := json.MarshalIndent(map[string]any{key: servers}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// canaries are secrets in their usual shapes.
type canaries struct {
	all     []string
	environ []string
}

func (c *canaries) new() string {
	one := fmt.Sprintf("canary-%03d-of-the-mine", len(c.all))
	c.all = append(c.all, one)
	return one
}

// variable is a canary that is set only in the environment.
func (c *canaries) variable() string {
	name := fmt.Sprintf("CAGE_%03d", len(c.all))
	c.environ = append(c.environ, name+"="+c.new())
	return name
}

var canaryShapes = []func(c *canaries) map[string]any{
	func(c *canaries) map[string]any { return leaking(nil, "SOME_API_KEY", c.new()) },
	func(c *canaries) map[string]any { return leaking(nil, "HARMLESS", c.new()) },
	func(c *canaries) map[string]any { return leaking([]any{"--api-key", c.new()}) },
	func(c *canaries) map[string]any { return leaking([]any{"--token=" + c.new()}) },
	func(c *canaries) map[string]any { return far("http://127.0.0.1:9/mcp?key="+c.new()+"&x="+c.new(), nil) },
	func(c *canaries) map[string]any { return far("http://me:"+c.new()+"@127.0.0.1:9/mcp", nil) },
	func(c *canaries) map[string]any {
		return far("http://127.0.0.1:9/mcp", map[string]any{"Authorization": "Bearer " + c.new(), "X-Own": c.new()})
	},
	func(c *canaries) map[string]any {
		return far("http://127.0.0.1:9/mcp", map[string]any{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+c.new()))})
	},
	func(c *canaries) map[string]any {
		return leaking([]any{"postgres://me:" + c.new() + "@db.example/x?password=" + c.new()})
	},
	func(c *canaries) map[string]any {
		return leaking([]any{"--header", "X-Own: " + c.new(), "-H", "Authorization: Bearer " + c.new()})
	},
	func(c *canaries) map[string]any { return leaking(nil, "REFERRED_KEY", "${env:"+c.variable()+"}") },
	func(c *canaries) map[string]any {
		return far("http://127.0.0.1:9/mcp", map[string]any{"Authorization": "Bearer ${env:" + c.variable() + "}.${env:" + c.variable() + "}"})
	},
}

// leaking is a server that prints everything it was given, and fails.
func leaking(args []any, env ...string) map[string]any {
	e := map[string]any{"command": "sh", "args": append([]any{"leak.sh"}, args...)}
	if len(env) > 0 {
		e["env"] = map[string]any{env[0]: env[1]}
	}
	return e
}

func far(address string, headers map[string]any) map[string]any {
	e := map[string]any{"url": address, "type": "http"}
	if headers != nil {
		e["headers"] = headers
	}
	return e
}

const leakScript = `echo "Error: not authorized with $@" >&2
env >&2
exit 3
`

// wantNone searches for the canaries in plain and encoded form.
func (c *canaries) wantNone(t *testing.T, where, said string) {
	t.Helper()
	var out []string
	for _, one := range c.all {
		for _, form := range []string{one, url.QueryEscape(one), hex.EncodeToString([]byte(one)), base64.StdEncoding.EncodeToString([]byte("me:" + one)), base64.RawStdEncoding.EncodeToString([]byte(one))} {
			if at := strings.Index(said, form); at >= 0 && !slices.Contains(out, one) {
				out = append(out, one)
				if len(out) <= 3 {
					t.Errorf("%s lets %s out: …%q…", where, one, said[max(0, at-120):min(len(said), at+40)])
				}
			}
		}
	}
	if len(out) > 3 {
		t.Errorf("%s lets %d out", where, len(out))
	}
}

// agree confirms a change with the hash that a command printed.
func (p *person) agree(args ...string) string {
	p.t.Helper()
	said, _ := p.gauze(append(slices.Clone(args), "--dry-run")...)
	_, rest, found := strings.Cut(said, "--consent ")
	if !found {
		p.t.Fatalf("gauze %v names no hash:\n%s", args, said)
	}
	return p.must(append(slices.Clone(args), "--consent", strings.Fields(rest)[0])...)
}

func (p *person) mustSay(want string, args ...string) {
	p.t.Helper()
	if said, _ := p.gauze(args...); !strings.Contains(said, want) {
		p.t.Errorf("gauze %v does not say %q:\n%s", args, want, said)
	}
}

// A server at a URL, with a login in a header, still works through gauze run.
func TestAServerBehindAURLWrappedAndGivenBack(t *testing.T) {
	t.Parallel()
	server := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true, Token: "open-sesame-1234"})
	p := newPerson(t, map[string]string{
		".cursor/mcp.json": `{"mcpServers": {"web": {"url": "` + server.URL() + `", "headers": {"Authorization": "Bearer open-sesame-1234"}}}}`,
	})
	before := p.tree()
	p.mustSay("1 of 1 work", "doctor")
	p.must("lock", "--file", filepath.Join(p.state, "lock.json"))
	p.must("wrap", "--all", "--remote", "--yes")
	web := p.servers()[0]
	if !web.Wrapped || !probe.Run(t.Context(), web.Spec, probe.Options{}).OK() {
		t.Errorf("%v", web.Spec)
	}
	p.mustSay("1 of 1 work", "doctor")
	p.must("verify", "--file", filepath.Join(p.state, "lock.json"))
	p.must("unwrap", "--all", "--yes")
	if p.tree() != before {
		t.Error("the file is not as it was")
	}
}

// A fix that the doctor found is saved after confirmation, and then the client works with it.
func TestWhatHealsAnAddressIsWrittenDown(t *testing.T) {
	t.Parallel()
	server := httpServer(t, faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	p := newPerson(t, map[string]string{
		".cursor/mcp.json": `{"mcpServers": {"wrong": {"url": "` + strings.TrimSuffix(server.URL(), "/mcp") + `/wrong"}}}`,
		".claude.json":     `{"mcpServers": {"old": {"type": "sse", "url": "` + server.URL() + `"}}}`,
	})
	p.mustSay("the server uses http, but the entry says sse", "doctor", "old")
	if said := p.agree("doctor", "--fix"); !strings.Contains(said, "Checked again:") || !strings.Contains(said, "2 of 2 work.") {
		t.Errorf("%s", said)
	}
	for _, s := range p.servers() {
		if s.Spec.URL != server.URL() || s.Name == "old" && s.Transport != clientconfig.HTTP {
			t.Errorf("%s: %s %s", s.ID(), s.Transport, s.Spec.URL)
		}
	}
}

// A lock restores entries that were changed, removed, or changed while wrapped, and nothing else.
func TestALockBringsEntriesBack(t *testing.T) {
	t.Parallel()
	p := newPerson(t, map[string]string{
		".cursor/mcp.json":   "{\"mcpServers\": {\n  \"a\": {\"command\": \"faultyserver\", \"args\": [\"-era\", \"legacy\"], \"env\": {\"A\": \"value-of-a\"}},\n  \"b\": {\"command\": \"faultyserver\"}\n}}\n",
		".codex/config.toml": "[mcp_servers.c]\ncommand = \"faultyserver\"\ntool_timeout_sec = 77\n",
	})
	p.must("lock")
	before := p.tree()
	p.must("verify")
	p.must("wrap", "c", "--yes")
	for path, change := range map[string][2]string{".cursor/mcp.json": {`"legacy"`, `"both"`}, ".codex/config.toml": {`"faultyserver"`, `"something-else"`}} {
		text, err := os.ReadFile(filepath.Join(p.home, path))
		if err != nil || !bytes.Contains(text, []byte(change[0])) {
			t.Fatalf("%v %s", err, text)
		}
		p.write(path, strings.Replace(string(text), change[0], change[1], 1))
	}
	p.must("remove", "b", "--yes")
	said, status := p.gauze("verify")
	for _, want := range []string{"cursor/a: the command changed", "codex/c: the command changed", "cursor/b: the server is in the lock file"} {
		if status != 1 || !strings.Contains(said, want) {
			t.Errorf("status %d, no %q in\n%s", status, want, said)
		}
	}
	p.agree("restore")
	p.must("verify")
	p.must("unwrap", "--all", "--yes")
	if p.tree() != before {
		for _, name := range []string{".cursor/mcp.json", ".codex/config.toml"} {
			text, _ := os.ReadFile(filepath.Join(p.home, name))
			t.Errorf("%s is now\n%s", name, text)
		}
	}
}

// A name in a file is foreign text: it must not control the terminal.
func TestATerminalIsNotGivenOrdersByNames(t *testing.T) {
	t.Parallel()
	evil := "\x1b[31mred\x1b]0;title\a\u202egnp\n[✓] fine"
	servers := map[string]any{
		evil:        map[string]any{"command": "no-such-program-" + evil, "args": []any{evil}, evil: 1, "timeout": -1},
		"x " + evil: map[string]any{"url": "http://127.0.0.1:9/" + evil},
		"fine":      map[string]any{"command": "faultyserver", "args": []any{"-era", "legacy"}},
	}
	p := newPerson(t, map[string]string{".cursor/mcp.json": indented(t, "mcpServers", servers), ".claude.json": indented(t, "mcpServers", servers)})
	for _, args := range [][]string{
		{"list"}, {"doctor", "--static"}, {"doctor"}, {"doctor", "--heal"}, {"doctor", "--fix", "--dry-run"}, {"wrap", "--all", "--dry-run"},
		{"wrap", "--all", "--yes"}, {"undo", "--list"}, {"undo", "--diff"}, {"unwrap", "--all", "--yes"}, {"lock"}, {"verify"}, {"doctor", evil}, {"wrap", "nobody" + evil},
		{"remove", evil, "--yes"}, {"restore"}, {"add", "n" + evil, "--client", "cursor", "--", "x" + evil}, {"undo", evil}, {"list", "--client", evil},
	} {
		said, _ := p.gauze(args...)
		if strings.ContainsAny(said, "\x1b\a\u202e") || strings.Contains(said, "\n[✓] fine") {
			t.Errorf("gauze %q: %q", args, said)
		}
	}
}
