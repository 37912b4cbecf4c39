//go:build unix

package agenttools

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// tenServers is an agent whose user has ten servers in two clients, three of which do not work.
func tenServers(t *testing.T, s settings) *agent {
	t.Helper()
	a := newAgent(t, s)
	a.lonely()
	a.write("bin/well", script(t))
	a.write("bin/orbit", "#!/bin/sh\necho 'Error: ORBIT_TOKEN environment variable is required' >&2\nexit 1\n")
	a.write("bin/odd", "#!/bin/sh\necho 'flux capacitor misaligned by 7' >&2\nexit 1\n")
	entries := func(names ...string) string {
		var all []string
		for _, name := range names {
			program := "bin/well"
			if name == "orbit" || name == "odd" {
				program = "bin/" + name
			}
			all = append(all, fmt.Sprintf("%q: {\"type\": \"stdio\", \"command\": %q}", name, filepath.Join(a.dir, program)))
		}
		return `{"mcpServers": {` + strings.Join(all, ",\n") + "}}\n"
	}
	a.write(".claude.json", entries("files", "git", "notes", "orbit", "time", "web"))
	a.write(".cursor/mcp.json", strings.Replace(entries("files", "git", "odd", "uvx-thing"), filepath.Join(a.dir, "bin/well")+`"}}`, `mcp-server-nowhere"}}`, 1))
	return a
}

// What an agent reads about ten servers of which three fail fits in few tokens, and begins with the
// point.
func TestOutputsAreSmall(t *testing.T) {
	t.Parallel()
	a := tenServers(t, settings{})
	for _, row := range []struct {
		tool       string
		arguments  object
		text, data int // maximum bytes
		begins     string
	}{
		{"list_servers", nil, 700, 2600, "10 servers:"},
		{"check_health", nil, 1500, 4000, "3 of 10 servers are not healthy: claude-code/orbit, cursor/odd, cursor/uvx-thing."},
		{"test_connection", object{"server": "claude-code/time"}, 250, 900, "claude-code/time works: "},
		{"test_connection", object{"server": "orbit"}, 450, 1000, "claude-code/orbit does not work: The server requires ORBIT_TOKEN"},
		{"heal_server", object{"server": "orbit"}, 500, 1200, "claude-code/orbit is dead."},
		{"heal_server", nil, 1800, 4000, "3 of 10 servers are not healthy: "},
		{"undo", object{"list": true}, 100, 100, "0 changes."},
	} {
		r := a.call(row.tool, row.arguments)
		data, _ := json.Marshal(r.data)
		t.Logf("%s %v: text %d, data %d bytes\n%s", row.tool, row.arguments, len(r.text), len(data), r.text)
		if len(r.text) > row.text || len(data) > row.data || !strings.HasPrefix(r.text, row.begins) {
			t.Errorf("%s %v: text %d, data %d bytes, at most %d and %d; should begin with %q", row.tool, row.arguments, len(r.text), len(data), row.text, row.data, row.begins)
		}
	}
}
