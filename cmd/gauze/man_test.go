package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestEveryCommandHasAManPage(t *testing.T) {
	files, err := manual(commands())
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range ourCommands() {
		page := string(files["gauze-"+cmd.Name()+".1"])
		if !strings.HasPrefix(page, ".TH GAUZE") || !strings.Contains(page, "\n.SH SYNOPSIS\n.B gauze "+cmd.Name()) {
			t.Errorf("%s has this page:\n%s", cmd.Name(), page)
		}
	}
	if page := string(files["gauze-model-check.1"]); !strings.Contains(page, ".B gauze model check") || !strings.Contains(page, "GAUZE_MODEL_KEY") {
		t.Errorf("gauze model check has this page:\n%s", page)
	}
	if page := string(files["gauze-run.1"]); !strings.Contains(page, `\-\-restart\-backoff`) {
		t.Errorf("the page of gauze run lacks the rarer flags:\n%s", page)
	}
	if page := string(files["gauze-diagnose.1"]); strings.Contains(page, "batch") {
		t.Errorf("the page of gauze diagnose shows the format of our tests:\n%s", page)
	}
	for _, name := range []string{"gauze.bash", "_gauze", "gauze.fish", "gauze.ps1"} {
		if !bytes.Contains(files[name], []byte("__complete")) {
			t.Errorf("%s is not a completion script", name)
		}
	}
}

func TestCompletionKnowsServersAndClients(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Chdir(home)
	file := filepath.Join(home, ".cursor", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"mcpServers": {"notes": {"command": "x"}, "time": {"command": "y"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"doctor", "test", "wrap", "unwrap", "remove", "lock", "verify", "restore", "login", "logout"} {
		if got := helpOf(t, cobra.ShellCompNoDescRequestCmd, name, "no"); !strings.HasPrefix(got, "notes\n:4") {
			t.Errorf("gauze %s no: completed to %q", name, got)
		}
	}
	if got := helpOf(t, cobra.ShellCompNoDescRequestCmd, "doctor", "cursor/"); !strings.HasPrefix(got, "cursor/notes\ncursor/time\n") {
		t.Errorf("gauze doctor cursor/: completed to %q", got)
	}
	for _, name := range []string{"doctor", "list", "add", "wrap", "remove", "lock"} {
		if got := helpOf(t, cobra.ShellCompNoDescRequestCmd, name, "--client", "codex,curs"); !strings.HasPrefix(got, "codex,cursor\n") {
			t.Errorf("gauze %s --client: completed to %q", name, got)
		}
	}
}

// The tests that walk all commands read their names from the manual.
func TestManualHasEveryCommand(t *testing.T) {
	root := commands()
	files, err := manual(root)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		if files[name+".1"] == nil && name != "gauze-man" {
			t.Errorf("%s has no manual page", name)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}
