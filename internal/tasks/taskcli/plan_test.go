package taskcli

import (
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
)

func TestParseServer(t *testing.T) {
	for text, want := range map[string]struct {
		name string
		task.Server
	}{
		"cursor/notes":             {"notes", task.Server{Configured: "cursor/notes"}},
		"n=cursor/notes":           {"n", task.Server{Configured: "cursor/notes"}},
		"https://example.com/mcp":  {"example.com", task.Server{URL: "https://example.com/mcp"}},
		"npx -y some-server":       {"npx", task.Server{Command: []string{"npx", "-y", "some-server"}}},
		"files=npx -y some-server": {"files", task.Server{Command: []string{"npx", "-y", "some-server"}}},
		"./server":                 {"server", task.Server{Command: []string{"./server"}}},
		"/usr/bin/server":          {"server", task.Server{Command: []string{"/usr/bin/server"}}},
	} {
		name, server, err := parseServer(text)
		if err != nil || name != want.name || server.Configured != want.Configured || server.URL != want.URL || strings.Join(server.Command, " ") != strings.Join(want.Command, " ") {
			t.Errorf("%s: %s %+v, %v", text, name, server, err)
		}
	}
	for _, text := range []string{"", " ", "ftp://x", `sh -c "x y"`} {
		if _, _, err := parseServer(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
