package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/demo"
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
	base, token, found := strings.Cut(address, "/#token=")
	if !found {
		t.Fatalf("no address in %q", out.String())
	}
	r, err := http.NewRequest(http.MethodGet, base+"/configs", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || strings.Contains(string(page), "users-notes") {
		t.Errorf("%d, %v: %s", response.StatusCode, err, page)
	}
}
