package main

import (
	"os"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/task"
)

// The files that the help and the README show are valid.
func TestShownTaskFilesAreValid(t *testing.T) {
	shown := map[string]string{}
	for paragraph := range strings.SplitSeq(taskRunCommand().Long, "\n\n") {
		if preformatted(paragraph) {
			shown["help"] = paragraph
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "## Tasks\n")
	_, section, _ = strings.Cut(section, "```yaml\n")
	shown["README"], _, _ = strings.Cut(section, "```")
	for where, text := range shown {
		if plan, err := task.Parse(where, []byte(text)); err != nil || len(plan.Steps) != 2 {
			t.Errorf("%v", err)
		}
	}
	if len(shown) != 2 {
		t.Errorf("found %d files", len(shown))
	}
}

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
