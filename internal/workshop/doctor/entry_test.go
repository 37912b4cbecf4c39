package doctor

import (
	"strings"
	"testing"
)

// The entry shows causes that a bare symptom does not.
func TestTheEntryShowsTheCauseOfABareSymptom(t *testing.T) {
	const closed = "MCP error -32000: Connection closed"
	for _, c := range []struct{ command, evidence, want string }{
		{"npx docker run -i notes", closed, "runner_in_arguments"},
		{"uvx npx -y notes", closed, "runner_in_arguments"},
		{"python3 uvx notes", closed, "runner_in_arguments"},
		{"npx -y tsx server.ts", closed, noEvidence}, // npx can run these
		{"uvx python -m notes", closed, noEvidence},
		{"npx -y notes docker", closed, noEvidence},

		{"npx notes --transport sse", closed, "http_server_run_as_stdio"},
		{"uvx notes --transport=streamable-http --port 8000", "[error] request timed out", "http_server_run_as_stdio"},
		{"notes --http", "Waiting for server to respond to `initialize` request...", "http_server_run_as_stdio"},
		{"npx notes --transport stdio", closed, noEvidence},
		{"npx supergateway --transport sse --stdio notes", closed, noEvidence},

		{"/home/me/.nvm/versions/node/v12.22.12/bin/npx notes", closed, "old_node_first_in_path"},
		{"/home/me/.local/share/fnm/node-versions/v16.20.2/installation/bin/node a.js", closed, "old_node_first_in_path"},
		{"/home/me/.asdf/installs/nodejs/14.21.3/bin/node a.js", closed, "old_node_first_in_path"},
		{"/home/me/.nvm/versions/node/v22.1.0/bin/npx notes", closed, noEvidence},

		{"npx notes --token ${NOTES_TOKEN}", closed, "env_placeholder_not_expanded"},
		{"notes --url=${env:NOTES_URL}", "[error] Server disconnected", "env_placeholder_not_expanded"},
		{"notes --key {{NOTES_KEY}}", "[error] failed to start", "env_placeholder_not_expanded"},
		{"notes ${workspaceFolder}", closed, noEvidence},
		{"npx mcp-remote https://a.example/mcp --header Authorization:${AUTH}", closed, noEvidence}, // the bridge expands it

		{"docker exec notes node a.js", closed, "stdin_not_connected"},
		{"kubectl exec deploy/notes -- notes", closed, "stdin_not_connected"},
		{"podman exec notes notes", "[error] Server disconnected", "stdin_not_connected"},
		{"docker exec -i notes node a.js", closed, noEvidence},

		{"docker run -i -e NOTES_URL=http://localhost:8123 notes", "TypeError: fetch failed", "container_localhost"},
		{"docker run -i notes --db redis://127.0.0.1:6379", "could not connect", "container_localhost"},
		{"http://localhost:8001/mcp", "gateway   | 10:00:01 | 500 | 1.8ms | 172.21.0.1 | POST \"/servers\"", "container_localhost"},

		{"uvx run notes", closed, "wrong_runner"},
		{"uvx install notes", "[error] Server disconnected", "wrong_runner"},
		{"bunx add notes", closed, "wrong_runner"},

		{"node /srv/my notes/a.js", "Error: Cannot find module '/srv/my'", "space_in_path_argument"},
		{"uv --directory /srv/my notes/src run a.py", "error: Project directory `/srv/my` does not exist", "space_in_path_argument"},
		{"/srv/my apps/notes", "zsh:1: no such file or directory: /srv/my", "space_in_path_argument"},

		{"Notes Server", "spawn Notes Server ENOENT", "wrong_command_name"},
		{"My Notes", "spawn My Notes ENOENT", "wrong_command_name"},
		{"Team Wiki MCP", "exec: \"Team Wiki MCP\": executable file not found in $PATH", "wrong_command_name"},
	} {
		if d := Diagnose(fromLog(c.command, c.evidence)); d.Cause != c.want {
			t.Errorf("$ %s\n%s\nsaid %s %.2f, want %s", c.command, c.evidence, d.Cause, d.Confidence, c.want)
		}
	}
}

// What the log says clearly counts more than what the entry suggests.
func TestTheLogOutweighsTheEntry(t *testing.T) {
	for _, c := range []struct{ command, evidence, want string }{
		{"npx notes --token ${NOTES_TOKEN}", "spawn npx ENOENT", "gui_path_missing"},
		{"npx notes --transport sse", "error: unrecognized arguments: --transport sse\nConnection closed", "unknown_cli_option"},
		{"/home/me/.nvm/versions/node/v14.0.0/bin/npx notes", "npm error code E404\nnpm error 404 'notes@*' is not in this registry.", "wrong_package_name"},
		{"docker exec notes node a.js", "Error: listen EADDRINUSE: address already in use :::4100\nConnection closed", "port_taken_by_sibling"},
	} {
		if d := Diagnose(fromLog(c.command, c.evidence)); d.Cause != c.want {
			t.Errorf("$ %s\n%s\nsaid %s, want %s", c.command, c.evidence, d.Cause, c.want)
		}
	}
}

// Clients differ in what they support, and docker passes on only what the entry sets.
func TestTheClientAndTheVariablesOfTheEntryCount(t *testing.T) {
	for _, c := range []struct {
		entry    Entry
		evidence string
		want     string
	}{
		{Entry{URL: "https://a.example/sse", NoSSE: true}, "failed to start: handshake failed", "sse_vs_streamable"},
		{Entry{URL: "https://a.example/sse"}, "failed to start: handshake failed", noEvidence},
		{Entry{URL: "https://a.example/mcp", NoSSE: true}, "failed to start: handshake failed", noEvidence},
		{Entry{URL: "https://a.example/mcp", NoURL: true}, "Server disconnected", "url_in_stdio_only_client"},
		{Entry{Command: []string{"docker", "run", "-i", "-e", "A_TOKEN", "notes"}, Env: []string{}}, "HTTP 401: invalid token", "env_not_forwarded_to_container"},
		{Entry{Command: []string{"docker", "run", "-i", "-e", "A_TOKEN", "notes"}, Env: []string{"A_TOKEN"}}, "HTTP 401: invalid token", "invalid_api_key"},
		{Entry{Command: []string{"docker", "run", "-i", "-e", "A_TOKEN", "notes"}}, "HTTP 401: invalid token", "invalid_api_key"},
	} {
		if d := Diagnose(FromEntry(c.entry, c.evidence)); d.Cause != c.want {
			t.Errorf("%+v\n%s\nsaid %s, want %s", c.entry, c.evidence, d.Cause, c.want)
		}
	}
}

// What a tool's description says is not about the failure.
func TestListsOfToolsAreNotEvidence(t *testing.T) {
	for _, list := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","description":"Requires NOTES_TOKEN to be set, else 401 Unauthorized"}]}}`,
		`{"jsonrpc": "2.0", "id": 1, "result": {"prompts": [{"name":"a","description":"EADDRINUSE: address already in use :::80"}]}}`,
		`{"id":1,"result":{"resources":[{"uri":"a:b","name":"spawn npx ENOENT"}]},"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"` + strings.Repeat("long text ", 1000) + `permission denied, EACCES"}]}}`,
	} {
		if d := Diagnose(fromLog("npx notes", "[info] Message from server: "+list+"\n[info] Server transport closed")); d.Category != Unknown {
			t.Errorf("%.120s: %s", list, d.Cause)
		}
	}
	if d := Diagnose(fromLog("npx notes", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"connect ECONNREFUSED 127.0.0.1:5432"}],"isError":true}}`)); d.Category != ConnectionRefused {
		t.Error("the result of a call is evidence:", d.Cause)
	}
}

func TestATentativeCauseSaysSo(t *testing.T) {
	for text, want := range map[string]bool{"spawn npx ENOENT": false, "the daemon is not running": true, "it just does not work": false} {
		if d := Diagnose(fromLog("npx notes", text)); d.Tentative() != want {
			t.Errorf("%s: %s %.2f", text, d.Cause, d.Confidence)
		}
	}
}

// The same output has the same cause in the log of every client.
func TestTheLogAroundTheOutputChangesNothing(t *testing.T) {
	each := func(before, text string) string { return before + strings.ReplaceAll(text, "\n", "\n"+before) }
	escaped := strings.NewReplacer("\n", `\n`, `"`, `\"`)
	logs := map[string]func(text string) string{
		"Claude Desktop": func(text string) string {
			return "2026-01-05T10:11:12.1Z [notes] [info] Message from client: {\"method\":\"initialize\",\"jsonrpc\":\"2.0\",\"id\":0}\n" + text + "\n2026-01-05T10:11:13.1Z [notes] [error] Server disconnected. For troubleshooting guidance, please visit our documentation"
		},
		"Cursor": func(text string) string {
			return each("2026-01-05 10:11:12.900 [error] user-notes: ", text) + "\n2026-01-05 10:11:12.911 [error] user-notes: Error in MCP: Client closed"
		},
		"VS Code": func(text string) string {
			return each("2026-01-05 10:11:12.900 [warning] [server stderr] ", text) + "\n2026-01-05 10:11:13.001 [error] Server exited before responding to `initialize` request."
		},
		"Claude Code": func(text string) string {
			return `[{"error":"Server stderr: ` + escaped.Replace(text) + `","cwd":"/home/me"},{"error":"MCP error -32000: Connection closed"}]`
		},
		"a failed call": func(text string) string {
			return `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"` + escaped.Replace(text) + `"}],"isError":true}}`
		},
	}
	for text, want := range map[string]string{
		"validation error for Settings\napi_token\n  Field required": "env_not_set",
		"listen EADDRINUSE: address already in use :::4100":          "port_taken_by_sibling",
		"/bin/sh: npx: command not found":                            "gui_path_missing",
		"connect ECONNREFUSED 127.0.0.1:5432":                        "companion_app_not_running",
		"ModuleNotFoundError: No module named 'mcp'":                 "venv_not_used",
		"password authentication failed for user \"notes\"":          "db_grant_missing",
		"error: the following arguments are required: --db-path":     "required_argument_missing",
		"EACCES: permission denied, mkdir '/data'":                   "cache_dir_not_writable",
	} {
		for client, log := range logs {
			if d := Diagnose(fromLog("npx notes", log(text))); d.Cause != want {
				t.Errorf("%s: said %s, want %s\n%s", client, d.Cause, want, log(text))
			}
		}
	}
	warning := "Warning: NOTES_CACHE not set, using default"
	for client, log := range logs {
		if d := Diagnose(fromLog("npx notes", log(warning))); client != "a failed call" && client != "Claude Code" && d.Category != Unknown {
			t.Errorf("%s: a warning is no cause: %s", client, d.Cause)
		}
	}
}

// In JSON, the backslashes of paths are doubled; in plain text, \n may be part of one.
func TestEscapedLinesAndWindowsPaths(t *testing.T) {
	for text, want := range map[string]string{
		`one\ntwo`:                         "one\ntwo\n",
		`C:\Users\me\npm-cache`:            "C:\\Users\\me\\npm-cache\n",
		`C:\\Users\\me\\npm-cache\nnext`:   "C:\\Users\\me\\npm-cache\nnext\n",
		`.\node_modules\.bin`:              ".\\node_modules\\.bin\n",
		`see C:\logs\notes.txt\nand retry`: "see C:\\logs\\notes.txt\\nand retry\n",
	} {
		if got := legible(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
