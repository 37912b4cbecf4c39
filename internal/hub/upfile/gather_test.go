package upfile

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// gathers returns the file of gauze up after its servers were gathered, and why others stay.
func (p *person) gathers() (text string, stay string) {
	p.t.Helper()
	p.fleet.Gauze, p.fleet.Store = "/opt/gauze", backup.Store{Dir: filepath.Join(p.dir, "backups")}
	path := filepath.Join(p.dir, "up.yaml")
	plan, err := Gather(p.fleet, p.fleet.Look(), path, false)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, s := range plan.Skipped {
		stay += s.Server + ": " + s.Why + "\n"
	}
	if _, err := p.fleet.Apply(plan, plan.Consent()); err != nil {
		p.t.Fatal(err)
	}
	got, _ := os.ReadFile(path)
	return string(got), p.shown(stay)
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is\n%s\nwant\n%s", what, got, want)
	}
}

// The same server of two clients is one, with the tools that both select; different ones have two keys.
func TestGather(t *testing.T) {
	p := newPerson(t)
	p.write(".cursor/mcp.json", `{"mcpServers": {
  "Notes MCP Server": {"command": "notes", "env": {"A": "1", "B": "${env:B}"}},
  "time": {"command": "time"}, "same": {"command": "x", "args": ["-y"]}, "off": {"command": "y", "disabled": true},
  "far": {"url": "https://example.com/mcp"}, "near": {"url": "http://127.0.0.1:1/mcp"}}}`)
	p.write(".gemini/settings.json", `{"mcpServers": {
  "notes": {"command": "notes", "env": {"B": "$B", "A": "1"}, "excludeTools": ["delete"]},
  "time": {"command": "gauze", "args": ["run", "--", "time", "--utc"]}, "other": {"command": "x", "args": ["-y"]}}}`)
	p.write("project/.git/HEAD", "")
	p.write("project/.cursor/mcp.json", `{"mcpServers": {"theirs": {"command": "z"}}}`)
	p.fleet.Home.Project = filepath.Join(p.dir, "project")
	text, stay := p.gathers()
	expect(t, "the file", text, `# The servers of gauze up, for all clients that run gauze connect.
# gauze up --check shows what is in this file.
servers:
  notes:  # from cursor/Notes MCP Server, gemini-cli/notes
    command: [notes]
    env:
      A: "1"
      B: "${B}"
    tools:
      deny: [delete]
  near:  # from cursor/near
    url: http://127.0.0.1:1/mcp
  same:  # from cursor/same, gemini-cli/other
    command: [x, "-y"]
  time:  # from cursor/time
    command: ["time"]
  time-gemini-cli:  # from gemini-cli/time
    command: ["time", "--utc"]
`)
	expect(t, "what stays", stay, `cursor/far: the server is remote, and the client may be logged in to it; to move it as well: gauze wrap --up --remote
cursor/off: the server is disabled
cursor/theirs: it belongs to the project
`)
	if again, _ := p.gathers(); again != text {
		t.Errorf("a second time, the file becomes\n%s", again)
	}
}

// No name of a server is special: all are in a new file.
func TestGatherKeepsEveryName(t *testing.T) {
	p := newPerson(t)
	names := []string{"example", "Example", "servers", "include", "null", "true", "1.5", "-", "~", "a: b", "#x", "gauze", "mcp", "日本", "a.b", "__proto__"}
	var entries []string
	for i, name := range names {
		entries = append(entries, fmt.Sprintf("%q: {\"command\": \"c%d\"}", name, i))
	}
	p.write(".cursor/mcp.json", `{"mcpServers": {`+strings.Join(entries, ",")+`}}`)
	before, _ := os.ReadFile(filepath.Join(p.dir, ".cursor", "mcp.json"))
	text, stay := p.gathers()
	var commands []string
	for _, s := range p.mustRead("up.yaml").Servers {
		commands = append(commands, s.Spec.Command)
	}
	for i, name := range names {
		if !slices.Contains(commands, fmt.Sprintf("c%d", i)) {
			t.Errorf("%q is not in\n%s\nwhat stays is %q", name, text, stay)
		}
	}
	changes, err := p.fleet.Store.List()
	if err != nil || len(changes) != 2 {
		t.Fatal(changes, err)
	}
	if _, err := p.fleet.Revert(changes[0].ID, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "up.yaml")); err == nil {
		t.Error("after the undo, there is a file of gauze up")
	}
	if after, _ := os.ReadFile(filepath.Join(p.dir, ".cursor", "mcp.json")); string(after) != string(before) {
		t.Errorf("after the undo, the client has\n%s", after)
	}
}

// A file that exists keeps every byte, and a server that it has is not added again.
func TestGatherExtends(t *testing.T) {
	const before = `# mine
include: [claude-code]
servers:
  notes: {command: [mine]}   # short
  x: {command: [x], env: {A: "1"}, idle: 5m}
profiles:
  p: {servers: [notes]}
`
	p := newPerson(t)
	p.write("up.yaml", before)
	p.write(".claude.json", `{"mcpServers": {"live": {"command": "live"}}}`)
	p.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "theirs"}, "other": {"command": "x", "env": {"A": "1"}}, "live": {"command": "elsewhere"}}}`)
	text, stay := p.gathers()
	expect(t, "the file", text, strings.Replace(before, "profiles:", `  live-cursor: {command: [elsewhere]}  # from cursor/live
  notes-cursor: {command: [theirs]}  # from cursor/notes
profiles:`, 1))
	expect(t, "what stays", stay, "claude-code/live: ~/up.yaml already includes it, as live\n")
}

// A client's file that cannot be read is named, whether the servers of others move or not.
func TestGatherNamesWhatItCannotRead(t *testing.T) {
	p := newPerson(t)
	p.write(".cursor/mcp.json", `{"mcpServers": {`)
	for _, others := range []string{`{}`, `{"mcpServers": {"notes": {"command": "notes"}}}`} {
		p.write(".gemini/settings.json", others)
		if _, stay := p.gathers(); !strings.HasPrefix(filepath.ToSlash(stay), "~/.cursor/mcp.json: the file cannot be parsed") {
			t.Errorf("what stays is %q", stay)
		}
	}
}

// What gauze wrap --up would leave where it is, because the file includes it, is not apart.
func TestApart(t *testing.T) {
	p := newPerson(t)
	p.write(".claude.json", `{"mcpServers": {"gauze": {"command": "gauze", "args": ["connect"]}}}`)
	p.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "notes"}}}`)
	path := p.write("up.yaml", "include: [cursor]\n")
	if all, err := Apart(p.fleet, p.fleet.Look(), path); len(all) > 0 || err != nil {
		t.Errorf("an included server is apart: %v, %v", all, err)
	}
	p.write("up.yaml", "include: [claude-code]\n")
	if all, err := Apart(p.fleet, p.fleet.Look(), path); len(all) != 1 || all[0].What != "servers outside of gauze up: cursor/notes" {
		t.Errorf("%v, %v", all, err)
	}
	p.write("up.yaml", "servers: [\n")
	if all, err := Apart(p.fleet, p.fleet.Look(), path); err == nil { // it is not known what the file includes
		t.Errorf("a broken file: %v", all)
	}
}

// A server that the file has with more tools than a client selects gets a key of its own.
func TestGatherKeepsWhatAClientDenies(t *testing.T) {
	const before = `servers:
  notes: {command: ["notes"]}
  time: {command: ["time"], tools: {deny: [set, zone]}}
`
	p := newPerson(t)
	p.write("up.yaml", before)
	p.write(".gemini/settings.json", `{"mcpServers": {
  "notes": {"command": "notes", "excludeTools": ["delete"]}, "time": {"command": "time", "excludeTools": ["set"]}}}`)
	text, _ := p.gathers()
	expect(t, "the file", text, before+"  notes-gemini-cli: {command: [\"notes\"], tools: {deny: [delete]}}  # from gemini-cli/notes\n")
}

func TestWithin(t *testing.T) {
	all, get, read := Filter{}, Filter{Allow: []string{"get"}}, Filter{Allow: []string{"get", "list"}}
	safe := Filter{Deny: []string{"delete"}}
	for _, c := range []struct {
		f, other Filter
		want     bool
	}{{all, all, true}, {get, all, true}, {get, read, true}, {read, get, false}, {all, get, false}, {safe, all, true}, {all, safe, false}, {safe, safe, true}} {
		if got := c.f.within(c.other); got != c.want {
			t.Errorf("%v within %v: %v", c.f, c.other, got)
		}
	}
}

// A secret is not written to a file that others can read, nor is a file with an error changed.
func TestGatherRefuses(t *testing.T) {
	windowstest.Skip(t)
	p := newPerson(t)
	path := p.write("up.yaml", "servers:\n  a: {command: [a]}\n")
	p.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "n", "env": {"NOTES_TOKEN": "hunter2hunter2"}}}}`)
	gather := func() error {
		_, err := Gather(p.fleet, p.fleet.Look(), path, false)
		return err
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := gather(); err == nil || !strings.Contains(err.Error(), "next: chmod 600 "+path) || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := gather(); err != nil {
		t.Error(err)
	}
	p.write("up.yaml", "servers:\n  a: {comand: [a]}\n")
	if err := gather(); err == nil || !strings.Contains(err.Error(), `did you mean "command"?`) {
		t.Error(err)
	}
}

// Servers of a file in a repository, which the user has moved there, need no further confirmation.
func TestConfirmAdded(t *testing.T) {
	p := newPerson(t)
	p.write("dots/.git/HEAD", "")
	path := p.write("dots/up.yaml", "servers:\n  theirs: {command: [theirs]}\n")
	p.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "n"}}}`)
	p.fleet.Gauze, p.fleet.Store = "/opt/gauze", backup.Store{Dir: filepath.Join(p.dir, "backups")}
	plan, err := Gather(p.fleet, p.fleet.Look(), path, false)
	if err != nil {
		t.Fatal(err)
	}
	if may, rest := plan.SplitByReview(true); !may.Empty() || len(rest.Changes) != 2 {
		t.Errorf("--yes covers a file in a repository: %+v", may)
	}
	if _, err := p.fleet.Apply(plan, plan.Consent()); err != nil {
		t.Fatal(err)
	}
	ConfirmAdded(p.fleet, plan)
	f := p.mustRead("dots/up.yaml")
	if f.Server("notes").Pending != "" || f.Server("theirs").Pending == "" {
		t.Errorf("%+v", f.Servers)
	}
}

// A private variable reaches the servers that refer to it, and no other.
func TestPrivate(t *testing.T) {
	p := newPerson(t)
	p.write(".cursor/mcp.json", `{"mcpServers": {"three": {"command": "3", "env": {"KEY": "${env:TOKEN}"}}, "four": {"command": "4"}}}`)
	p.write(".codex/config.toml", "[mcp_servers.five]\ncommand = '5'\nenv_vars = ['TOKEN']\n")
	p.write("up.yaml", "include: [cursor, codex]\nservers:\n  one: {command: [one], env: {KEY: \"${TOKEN}\"}}\n  two: {command: [two]}\n")
	f := p.mustRead("up.yaml")
	environ := Private([]string{"A=1", "TOKEN=secret"}, []string{"TOKEN"})
	one, err := f.Server("one").At("/", environ)
	two, wrong := f.Server("two").At("/", environ)
	expect(t, "one", strings.Join(one.Env, " "), "A=1 KEY=secret")
	expect(t, "two", strings.Join(two.Env, " "), "A=1")
	for key, want := range map[string]string{"three": "A=1 TOKEN=secret KEY=secret", "four": "A=1", "five": "TOKEN=secret"} {
		included, err := f.Server(key).At("/", environ)
		expect(t, key, strings.Join(included.Env, " "), want)
		if err != nil {
			t.Error(key, err)
		}
	}
	if err != nil || wrong != nil {
		t.Error(err, wrong)
	}
}

// gauze add for all clients extends the file, or says why not.
func TestAdd(t *testing.T) {
	p := newPerson(t)
	path := filepath.Join(p.dir, "up.yaml")
	add := func(replace bool, command string) string {
		_, text, err := InFleet(path).Add(p.fleet, fleet.NewServer{Name: "My Clock", Spec: launch.Spec{Command: command}, Replace: replace})
		if err != nil {
			return p.shown(err.Error())
		}
		p.write("up.yaml", string(text))
		return string(text)
	}
	head := strings.TrimSuffix(fresh, "  SAMPLE:\n    command: [sample]\n")
	expect(t, "the new file", add(false, "clock"), head+"  my-clock:\n    command: [clock]\n")
	expect(t, "the same again", add(false, "clock"), head+"  my-clock:\n    command: [clock]\n")
	if runtime.GOOS != "windows" { // which has another separator
		expect(t, "another one", add(false, "other"), "~/up.yaml has another server with the key my-clock; use --replace to overwrite it")
	}
	expect(t, "replaced", add(true, "other"), head+"  my-clock:\n    command: [other]\n")
}
