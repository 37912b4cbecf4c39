package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

func TestVerifyReportsChangedValues(t *testing.T) {
	t.Parallel()
	const entry = `{"mcpServers": {"a": {"command": "faultyserver", "args": ["-era", "legacy"], "env": {"NODE_OPTIONS": "--old"}}}}`
	p := newPerson(t, map[string]string{".cursor/mcp.json": entry})
	p.must("lock")
	p.must("verify")
	p.write(".cursor/mcp.json", strings.Replace(entry, "--old", "--require=/tmp/evil.js", 1))
	said, status := p.gauze("verify")
	if status != 1 || !strings.Contains(said, "cursor/a: the value of the variable NODE_OPTIONS changed") {
		t.Errorf("status %d: %s", status, said)
	}
	// A colleague has the lock, but not the key.
	if err := os.Remove(filepath.Join(p.state, "lock.key")); err != nil {
		t.Fatal(err)
	}
	said, status = p.gauze("verify")
	if status != 0 || !strings.Contains(said, "not compared") {
		t.Errorf("status %d: %s", status, said)
	}
	var answer struct {
		Same       bool
		Uncompared string
	}
	if err := json.Unmarshal([]byte(p.must("verify", "--json")), &answer); err != nil || !answer.Same || answer.Uncompared == "" {
		t.Errorf("%v %+v", err, answer)
	}
}

// A lock file is in a project, where an agent can edit it: it must not add to the user's own entry.
func TestRestoreWritesNothingThatWasAddedToTheLock(t *testing.T) {
	t.Parallel()
	const entry = `{"mcpServers": {"a": {"command": "faultyserver", "args": ["-era", "legacy"], "env": {"API_KEY": "canary-1111-aaaa"}}}}`
	p := newPerson(t, map[string]string{".cursor/mcp.json": entry})
	p.must("lock")
	file := filepath.Join(p.project, "gauze.lock.json")
	own, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(own), `"API_KEY"`) {
		t.Fatalf("%v %s", err, own)
	}
	forge := func(names string) {
		if err := os.WriteFile(file, []byte(strings.Replace(string(own), `"API_KEY"`, names, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	forge(`"API_KEY", "LD_PRELOAD=/proj/evil.so"`)
	for _, command := range []string{"verify", "restore", "lock"} {
		said, status := p.gauze(command)
		if status != 2 || !strings.Contains(said, "gauze.lock.json: server 1 (cursor/a) has an invalid variable name: LD_PRELOAD=/proj/evil.so. ") {
			t.Errorf("gauze %s: status %d: %s", command, status, said)
		}
	}
	forge(`"API_KEY", "LD_PRELOAD"`)
	if said, status := p.gauze("verify"); status != 1 || !strings.Contains(said, "the variables changed from") || !strings.Contains(said, "You did not record") {
		t.Errorf("status %d: %s", status, said)
	}
	if said, _ := p.gauze("restore"); !strings.Contains(said, "you did not record on this machine (LD_PRELOAD)") || strings.Contains(said, "+++") {
		t.Errorf("%s", said)
	}
	if now, err := os.ReadFile(filepath.Join(p.home, ".cursor/mcp.json")); err != nil || string(now) != entry {
		t.Errorf("%v %s", err, now)
	}
}

func TestALockIsNotWrittenWithASecretInIt(t *testing.T) {
	t.Parallel()
	p := newPerson(t, map[string]string{".cursor/mcp.json": `{"mcpServers": {"a-h4nter2h4nter2": {"command": "faultyserver", "args": ["-era", "legacy"], "env": {"A_TOKEN": "h4nter2h4nter2"}}}}`})
	said, status := p.gauze("lock")
	if status != 2 || !strings.Contains(said, "gauze.lock.json: not written") || strings.Contains(said, "h4nter2") {
		t.Errorf("status %d: %s", status, said)
	}
	if _, err := os.Stat(filepath.Join(p.project, "gauze.lock.json")); err == nil {
		t.Error("it was written")
	}
}

// JSON output is safe on a terminal, and decodes to the original.
func TestJSONShowsNoUnseenCharacter(t *testing.T) {
	t.Parallel()
	const evil = "a\u009b31m\u202eb\u2066c\u200bd\ufeff\U000e0041"
	name, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	p := newPerson(t, map[string]string{".cursor/mcp.json": `{"mcpServers": {` + string(name) + `: {"command": "faultyserver", "args": ["-era", "legacy"]}}}`})
	log := filepath.Join(p.project, "log")
	if err := os.WriteFile(log, []byte("Error: Cannot find module '"+evil+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"list", "--json"}, {"list", "--clients", "--json"}, {"doctor", "--json"}, {"doctor", "--static", "--json"}, {"lock"}, {"verify", "--json"}, {"test", "--json", "--", "faultyserver", evil},
		{"diagnose", "--json", log}, {"repair", "--json", "--schema", `{"type":"object","properties":{"a":{"type":"string","description":` + string(name) + `}}}`, "--args", `{"a":` + string(name) + `}`},
	} {
		said, _ := p.gauze(args...)
		if at := strings.IndexFunc(strings.ReplaceAll(said, "\n", ""), plaintext.Unseen); at >= 0 {
			t.Errorf("gauze %q shows what nobody sees: %q", args, said)
		}
		if args[0] == "list" && len(args) == 2 {
			var answer struct{ Servers []struct{ Name string } }
			if err := json.Unmarshal([]byte(said), &answer); err != nil || answer.Servers[0].Name != evil {
				t.Errorf("%v %+q", err, answer)
			}
		}
	}
}
