//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

// After wrap, every server that worked still works; after unwrap, every file is unchanged.
func TestThirtyServersOfTenClientsWrappedAndGivenBack(t *testing.T) {
	t.Parallel()
	p := newPerson(t, tenClients())
	works := func() map[string]bool {
		all := map[string]bool{}
		for _, s := range p.servers() {
			if s.Builtin == "" && !s.Config.Place.Borrowed { // count a file that several clients read once
				all[s.ID()] = probe.Run(patience.Context(t), s.Spec, probe.Options{}).OK() // through gauze run, if it is wrapped
			}
		}
		return all
	}
	before, worked := p.tree(), works()
	if len(worked) != 30 || worked["copilot-cli/j3"] {
		t.Fatalf("%d servers: %v", len(worked), worked)
	}
	p.must("wrap", "--all", "--yes")
	for _, s := range p.servers() {
		if !s.Wrapped && s.Builtin == "" {
			t.Errorf("%s is not wrapped: %v", s.ID(), s.Spec)
		}
	}
	for id, now := range works() {
		if worked[id] && !now {
			t.Errorf("%s worked before it was wrapped", id)
		}
	}
	if said := p.must("wrap", "--all", "--yes"); !strings.Contains(said, "Nothing to change") {
		t.Errorf("wrapped twice:\n%s", said)
	}
	p.must("unwrap", "--all", "--yes")
	if p.tree() != before {
		t.Error("some file is not as it was")
	}
}

func TestNoSecretIsShownByAnyCommand(t *testing.T) {
	t.Parallel()
	c, rounds := &canaries{}, 1
	if everything() {
		rounds = 6
	}
	servers, others := map[string]any{}, map[string]any{}
	for range rounds {
		for _, shape := range canaryShapes {
			servers[fmt.Sprintf("s%03d", len(servers))] = shape(c)
			others[fmt.Sprintf("o%03d", len(others))] = shape(c)
		}
	}
	servers["fine"] = map[string]any{"command": "faultyserver", "args": []any{"-era", "legacy"}, "env": map[string]any{"FINE": c.new()}}
	servers["bent"] = map[string]any{"command": "faultyserver -era legacy", "args": "--token " + c.new(), "env": []any{"BENT_KEY=" + c.new()}}
	p := newPerson(t, map[string]string{
		".cursor/mcp.json": indented(t, "mcpServers", servers), ".config/Code/User/mcp.json": indented(t, "servers", others), "project/leak.sh": leakScript,
	})
	p.write(".codex/config.toml", "[mcp_servers.t]\ncommand = \"sh\"\nargs = [\"leak.sh\"]\n[mcp_servers.t.env]\nT_KEY = '''"+c.new()+"'''\nU = \"\\u0063"+c.new()[1:]+"\"\n")
	p.write(".config/goose/config.yaml", "extensions:\n  y:\n    type: stdio\n    enabled: true\n    cmd: sh\n    args: [leak.sh]\n    envs:\n      Y_KEY: >-\n        "+c.new()+"\n        "+c.new()+"\n")
	p.write("project/.mcp.json", `{"mcpServers": {"p": {"command": "sh", "args": ["leak.sh", "--secret", "`+c.new()+`"]}}}`)
	p.environ = append(p.environ, c.environ...)

	given, header := c.new(), c.new()
	for _, args := range [][]string{
		{"list"}, {"list", "--json"}, {"list", "--clients"},
		{"doctor", "--static"}, {"doctor", "--static", "--json"}, {"doctor"}, {"doctor", "--json"}, {"doctor", "p"},
		{"doctor", "--static", "--fix", "--dry-run"}, {"doctor", "--static", "--fix", "--yes"}, {"doctor", "--static", "--fix", "--json"},
		{"doctor", "--heal", "s000", "s002", "s004", "s006", "s009"},
		{"wrap", "--all", "--remote", "--dry-run"}, {"wrap", "--all", "--remote", "--yes"}, {"list"}, {"doctor", "--json", "s000", "s006", "s007", "s010"},
		{"undo", "--list"}, {"undo"}, {"undo", "1", "--diff"}, {"undo", "2", "--diff"}, {"undo", "3", "--diff"}, {"undo", "4", "--diff"}, {"undo", "1"},
		{"lock"}, {"verify"}, {"verify", "--json"}, {"unwrap", "--all", "--yes"}, {"verify"}, {"restore"}, {"restore", "--yes"},
		{"remove", "--dry-run", "s000", "s001", "s002", "s003", "s004", "s005", "s006", "s007", "s008", "s009", "s010", "s011", "t", "y"},
		{"add", "new", "--client", "cursor", "--env", "NEW=" + given, "--", "sh", "leak.sh", "--token", given},
		{"add", "new", "--client", "cursor", "--env", "NEW=" + given, "--no-test", "--", "sh", "leak.sh", "--token", given},
		{"add", "new", "--client", "cursor,codex,goose,claude-code", "--env", "NEW=" + given, "--yes", "--", "faultyserver", "-era", "legacy"},
		{"add", "web", "--client", "cursor,claude-desktop", "--header", "X-Own: " + header, "http://me:" + given + "@127.0.0.1:9/mcp?key=" + header},
		{"add", "web", "--client", "cursor,claude-desktop", "--header", "X-Own: " + header, "--no-test", "--yes", "http://127.0.0.1:9/mcp?key=" + given},
		{"add", "web", "--client", "cursor", "--header", header, "http://127.0.0.1:9/mcp"},
		{"add", "web", "--client", "cursor", "--env", header, "http://127.0.0.1:9/mcp"},
		{"doctor", "sh leak.sh --token " + given}, {"doctor", "--json", "http://me:" + given + "@127.0.0.1:9/?key=" + header},
		{"remove", "fine", "--yes"}, {"undo", "--diff"},
	} {
		said, _ := p.gauze(args...)
		c.wantNone(t, "gauze "+strings.Join(args, " "), said)
	}
	// They are not in the names or metadata of backups, nor in the lock.
	err := filepath.WalkDir(p.state, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == "entry.json" {
			var kept []byte
			if kept, err = os.ReadFile(path); err == nil {
				c.wantNone(t, path, string(kept))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile(filepath.Join(p.project, "gauze.lock.json"))
	if err != nil || !bytes.Contains(lock, []byte("FINE")) {
		t.Errorf("%v %s", err, lock)
	}
	c.wantNone(t, "the lock", string(lock))
}
