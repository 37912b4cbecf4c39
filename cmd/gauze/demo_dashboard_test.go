package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/testonly/dashlogin"
	"github.com/gauze-mcp/gauze/internal/views/demo"
)

// What the dashboard of the demo changed in a client's file could not be undone after the demo.
func TestTheDemoDoesNotShowTheUsersConfigs(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("GAUZE_STATE_DIR", t.TempDir()) // restored after the demo changed it
	file := filepath.Join(home, ".cursor", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"mcpServers": {"users-notes": {"command": "echo", "args": "hello"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	end, err := showDemo(cmd, &demo.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	_, address, _ := strings.Cut(strings.TrimSpace(out.String()), ": ")
	client, base, err := dashlogin.Open(address)
	if err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	status, page, err := dashlogin.Get(client, base+"/configs")
	if err != nil || status != http.StatusOK || strings.Contains(page, "users-notes") {
		t.Errorf("%d, %v: %s", status, err, page)
	}
}
