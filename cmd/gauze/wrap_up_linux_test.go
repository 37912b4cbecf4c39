package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// newUpPerson returns a user with ten clients, whose gauze up ends with the test.
func newUpPerson(t *testing.T) (p *person, file string) {
	t.Helper()
	p = newPerson(t, tenClients())
	p.state = newUpState(t).dir
	p.environ = append(p.environ, "GAUZE_STATE_DIR="+p.state)
	return p, filepath.Join(p.home, ".config", "gauze", "up.yaml")
}

// undoes returns the command that a change names to undo it.
func undoes(t *testing.T, said string) []string {
	t.Helper()
	found := regexp.MustCompile(`gauze (undo \d+)\n`).FindStringSubmatch(said)
	if found == nil {
		t.Fatalf("no undo is named in\n%s", said)
	}
	return strings.Fields(found[1])
}

// From the files of ten clients to one entry each, and back, byte for byte.
func TestFromTenClientsToOneEntryAndBack(t *testing.T) {
	t.Parallel()
	p, file := newUpPerson(t)
	p.must("wrap", "claude-desktop/a2", "codex/g 3", "--yes")
	before := p.tree()
	said := p.must("wrap", "--up", "--yes")
	if strings.Contains(said, "hunter2") {
		t.Errorf("a secret is shown:\n%s", said)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	connects, left := map[string]*fleet.Server{}, []string{}
	for _, s := range p.servers() {
		switch {
		case s.Config.Place.Borrowed:
		case s.Connects() && s.Name == "gauze" && connects[s.Client.ID] == nil:
			connects[s.Client.ID] = s
		default:
			left = append(left, s.ID())
		}
	}
	if len(connects) != 10 || !slices.Equal(left, []string{"goose/developer"}) {
		t.Errorf("%d clients have gauze connect, and %v is left", len(connects), left)
	}
	if said := p.must("wrap", "--up", "--yes"); !strings.Contains(said, "Nothing to change") {
		t.Errorf("a second time:\n%s", said)
	}
	p.callThrough(connects, file)
	p.must(undoes(t, said)...)
	if p.tree() != before {
		t.Error("the files are not as they were")
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", file, err)
	}
}

// callThrough starts what each client starts now. The first calls every server, the others one each.
func (p *person) callThrough(connects map[string]*fleet.Server, file string) {
	t := p.t.(*testing.T)
	up, err := upfile.Read(file, upfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, s := range up.Servers {
		if s.Spec.Command == "faultyserver" && !slices.Contains(s.Spec.Args, "modern") { // the session is of the older era
			keys = append(keys, s.Key)
		}
	}
	if len(keys) < 7 {
		t.Fatalf("only %d servers are in the file", len(keys))
	}
	first := true
	for id, s := range connects {
		cmd := program(t, s.Spec.Command, s.Spec.Args...)
		cmd.Dir = p.project
		w := startWrap(t, cmd, append(slices.Clone(s.Spec.Env), "GAUZE_STATE_DIR="+p.state, "HOME="+p.home, "XDG_CONFIG_HOME="))
		w.result("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
		fmt.Fprintln(w.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		mine := keys
		if !first {
			mine = keys[:1]
		}
		first, keys = false, append(keys[1:], keys[0])
		for _, key := range mine {
			if got := w.result("tools/call", fmt.Sprintf(`{"name":"%s__echo","arguments":{"text":"from %s"}}`, key, id)); !strings.Contains(got, "from "+id) || strings.Contains(got, `"isError":true`) {
				t.Errorf("%s, called by %s, responds %s", key, id, got)
			}
		}
		w.in.Close()
		w.wantEnd(0)
	}
}

// result sends a request and returns its response, whatever arrives before it.
func (w *wrapped) result(method, params string) string {
	w.t.Helper()
	id := w.request(method, params)
	for {
		line, err := w.out.ReadString('\n')
		if err != nil {
			w.t.Fatalf("no response: %v\n%s", err, w.stderr)
		}
		var m struct{ ID int }
		if json.Unmarshal([]byte(line), &m) == nil && m.ID == id {
			return line
		}
	}
}

// What a client saved in its own file in the meantime stays. If one file cannot be restored, none is.
func TestUndoOfOneEntryIsWholeAndKeepsWhatClientsSaved(t *testing.T) {
	t.Parallel()
	p, file := newUpPerson(t)
	said := p.must("wrap", "--up", "--yes")
	changed := func(name, old, now string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(p.home, name))
		if err != nil || !strings.Contains(string(text), old) {
			t.Fatalf("%s, %v", text, err)
		}
		p.write(name, strings.Replace(string(text), old, now, 1))
	}
	changed(".claude.json", `"numStartups":7`, `"numStartups":8`)
	changed(".cursor/mcp.json", `connect`, `connect2`)
	before := p.tree()
	if said, status := p.gauze(undoes(t, said)...); status != 1 || !strings.Contains(said, "mcp.json: another program changed it after change") {
		t.Errorf("status %d\n%s", status, said)
	}
	if _, err := os.Stat(file); err != nil || p.tree() != before {
		t.Errorf("files changed although one of them could not be restored: %v", err)
	}
	changed(".cursor/mcp.json", `connect2`, `connect`)
	p.must(undoes(t, said)...)
	want := newPerson(t, tenClients())
	want.write(".claude.json", strings.Replace(tenClients()[".claude.json"], `"numStartups":7`, `"numStartups":8`, 1))
	for name := range tenClients() {
		got, _ := os.ReadFile(filepath.Join(p.home, name))
		if was, _ := os.ReadFile(filepath.Join(want.home, name)); string(got) != string(was) {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, was)
		}
	}
}

func TestVenvOf(t *testing.T) {
	p := newPerson(t, map[string]string{"venv/pyvenv.cfg": "home = /usr/bin", "venv/bin/gauze": "", "bin/gauze": ""})
	if got := venvOf(filepath.Join(p.home, "venv", "bin", "gauze")); got != filepath.Join(p.home, "venv") {
		t.Error(got)
	}
	if got := venvOf(filepath.Join(p.home, "bin", "gauze")); got != "" {
		t.Error(got)
	}
}

// A client waits for gauze connect as long as for the slowest of the servers behind it.
func TestTheLongestTimeoutMoves(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[string]bool{`"timeout": 900000`: true, `"timeout": 5000`: false, `"trust": false`: false} {
		t.Run(timeout, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t, map[string]string{".gemini/settings.json": `{"mcpServers": {"slow": {"command": "faultyserver", ` + timeout + `}, "usual": {"command": "faultyserver"}}}`})
			p.must("wrap", "--up", "--yes")
			text, err := os.ReadFile(filepath.Join(p.home, ".gemini", "settings.json"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(text), timeout); got != want || !strings.Contains(string(text), "connect") {
				t.Errorf("the entry of gauze connect has the timeout: %v, want %v\n%s", got, want, text)
			}
		})
	}
}
