package clientconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The traps each client is known for: the code that finds one, shown by the
// golden of that name, or why a file alone cannot show it.
var pitfalls = []struct{ client, trap, golden, invisible string }{
	{"claude-desktop", "entries with a URL or headers", "remote-not-supported", ""},
	{"claude-desktop", "paths that depend on the working folder", "relative-path", ""},
	{"claude-desktop", "programs that are only on the shell's PATH", "gui-path", ""},
	{"claude-code", "a URL that does not say its type", "url-without-type", ""},
	{"claude-code", "cmd for command", "field-name", ""},
	{"claude-code", "servers of a project that wait for a yes", "not-approved", ""},
	{"claude-code", "a file that running sessions write, too", "", "it is for the one who writes: Place.Note says so, and a file that changed meanwhile is not written"},
	{"cursor", "references without env:", "foreign-reference", ""},
	{"cursor", "more tools than it handles well", "", "how many tools a server has is known when it runs"},
	{"vscode", "mcpServers for servers", "wrong-top-level-key", ""},
	{"vscode", "docker run -d", "docker-detached", ""},
	{"vscode", "servers left in settings.json", "old-place-vscode", ""},
	{"windsurf", "url for serverUrl in the older file", "field-name-windsurf", ""},
	{"windsurf", "more than a hundred tools", "", "how many tools a server has is known when it runs"},
	{"zed", "source: custom", "needless-field", ""},
	{"zed", "the command as an object", "old-form", ""},
	{"zed", "milliseconds for seconds", "timeout-unit-zed", ""},
	{"zed", "the wrong folder on macOS", "old-place-zed", ""},
	{"gemini-cli", "secrets of the shell that are not handed on", "secret-not-inherited", ""},
	{"gemini-cli", "names full of underscores", "name-underscores", ""},
	{"codex", "headers for http_headers", "field-name-codex", ""},
	{"codex", "the token itself in the file", "inline-bearer-token", ""},
	{"codex", "slips of the hand in keys", "unknown-field", ""},
	{"codex", "a timeout below zero", "timeout-negative", ""},
	{"codex", "variables that are not handed on", "secret-not-inherited-codex", ""},
	{"goose", "command, env and url for cmd, envs and uri", "field-name-goose", ""},
	{"goose", "built-in extensions that must stay", "", "nothing is wrong with them: Entry.Builtin marks them, and Wrap leaves them alone"},
	{"goose", "variables it refuses to set", "env-refused", ""},
	{"cline", "a URL without a type is taken for SSE", "url-without-type-cline", ""},
	{"cline", "streamable-http for streamableHttp", "type-spelling", ""},
	{"cline", "milliseconds for seconds", "timeout-unit", ""},
	{"roo-code", "streamableHttp for streamable-http", "type-spelling-roo", ""},
	{"continue", "servers by name where a list is wanted", "servers-not-a-list", ""},
	{"continue", "one bad entry that spoils its file", "field-name-spoils", ""},
	{"jetbrains-ai", "files that the IDE's registry moved", "", "the registry is the IDE's own; Doubt says so"},
	{"kiro", "references nobody approved", "reference-needs-approval", ""},
	{"opencode", "the command as a text", "command-not-a-list", ""},
	{"opencode", "env for environment", "field-name-opencode", ""},
	{"opencode", "five seconds for a first download", "timeout-short", ""},
	{"copilot-cli", "no list of tools", "tools-missing", ""},
	{"copilot-cli", "folders that are not trusted", "", "where it keeps its trust is not written down; Place.Note says so"},
	{"copilot-cli", "a file of VS Code that it does not read", "", "it is no place of its own: nothing is read there in its name"},
	{"warp", "cwd for working_directory", "field-name-warp", ""},
	{"trae", "arguments inside of the command", "command-line-in-command-trae", ""},
	{"antigravity", "url or httpUrl for serverUrl", "field-name-antigravity", ""},
	{"antigravity", "early versions without OAuth", "", "which version is installed is not in the file"},
	{"5ire", "a file that was taken over into a database", "old-place-5ire", ""},
	{"cherry-studio", "unknown keys spoil an import", "", "there is no file: Fields.Exact keeps what we render to what it knows"},
	{"crush", "mcpServers for mcp", "wrong-top-level-key-crush", ""},
	{"amp", "a key inside of a key for one with a dot", "dotted-key", ""},
	{"mistral-vibe", "tables by name for a list of tables", "servers-not-a-list-toml", ""},
	{"grok-build", "http_headers for headers", "field-name-grok", ""},
	{"kilo-code", "the files of older versions", "old-place-kilo", ""},
}

func TestEveryPitfallIsFoundOrSaidToBeInvisible(t *testing.T) {
	for _, p := range pitfalls {
		client, ok := ByID(p.client)
		if !ok {
			t.Errorf("no client %s", p.client)
			continue
		}
		if (p.golden == "") == (p.invisible == "") {
			t.Errorf("%s, %s: want a golden or a reason", p.client, p.trap)
		}
		if p.golden == "" {
			continue
		}
		path := filepath.Join("testdata", "lint", p.golden+".txtar")
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s, %s: %v", p.client, p.trap, err)
			continue
		}
		home := homeOf(readArchive(t, path).Archive)
		found := false
		for _, f := range home.Find(client) {
			found = found || slices.ContainsFunc(home.Read(f).Lint(), func(found Problem) bool { return strings.HasPrefix(p.golden, string(found.Code)) })
		}
		if !found {
			t.Errorf("%s, %s: not found in %s", p.client, p.trap, p.golden)
		}
	}
	if len(pitfalls) < 50 {
		t.Errorf("only %d pitfalls", len(pitfalls))
	}
}
