package clientconfig

import (
	"maps"
	"testing"
)

// othersOf returns the others of the first server in a file of a client.
func othersOf(t *testing.T, id, text string) map[string]string {
	t.Helper()
	c := readAs(t, id, text)
	return c.Others(&c.Entries[0])
}

func readAs(t *testing.T, id, text string) *Config {
	t.Helper()
	client, ok := ByID(id)
	if !ok {
		t.Fatal("no such client", id)
	}
	home := Home{OS: "linux", Home: "/home/me", Disk: memory{}}
	for _, file := range home.Places(client) {
		if c := home.ReadText(file, []byte(text)); len(c.Entries) > 0 {
			return c
		}
	}
	t.Fatalf("%s: no server in %s", id, text)
	return nil
}

func TestOthersAreWhatTheSpecDoesNotSay(t *testing.T) {
	type others = map[string]string
	for _, c := range []struct {
		name, client, text string
		want               others
	}{
		{"nothing", "cursor", `{"mcpServers": {"a": {"command": "a", "args": ["x"], "env": {"N": "1", "M": 2}}}}`, others{}},
		{"harmless", "vscode", `{"servers": {"a": {"command": "a", "description": "mine", "disabled": true, "timeout": 5, "//": "note", "type": "stdio", "cwd": "/d"}}}`, others{}},
		{"known", "vscode", `{"servers": {"a": {"command": "a", "envFile": "${workspaceFolder}/.env", "sandboxEnabled": false}}}`, others{"envFile": `"${workspaceFolder}/.env"`, "sandboxEnabled": "false"}},
		{"unknown", "cursor", `{"mcpServers": {"a": {"command": "a", "Command": "b", "new": {"b": [1, null, {"z": 1, "a": "<"}], "a": true}}}}`,
			others{"Command": `"b"`, "new": `{"a":true,"b":[1,null,{"a":"<","z":1}]}`}},
		{"trust", "gemini-cli", "{\"mcpServers\": {\"a\": {\"command\": \"a\", // mine\n\"trust\": true}}}", others{"trust": "true"}},
		{"a URL beside a command", "cursor", `{"mcpServers": {"a": {"command": "a", "url": "https://x.test", "headers": {"A": "b"}}}}`, others{"url": `"https://x.test"`, "headers": `{"A":"b"}`}},
		{"a command beside a URL", "claude-code", `{"mcpServers": {"a": {"type": "http", "command": "a", "url": "https://x.test", "headers": {"A": "b"}, "headersHelper": "sh x"}}}`, others{"command": `"a"`, "headersHelper": `"sh x"`}},
		{"a second URL", "gemini-cli", `{"mcpServers": {"a": {"url": "https://x.test", "httpUrl": "https://y.test"}}}`, others{"httpUrl": `"https://y.test"`}},
		{"a URL that the file does not support", "claude-desktop", `{"mcpServers": {"a": {"url": "https://x.test"}}}`, others{"url": `"https://x.test"`}},
		{"a client that has no directory", "cursor", `{"mcpServers": {"a": {"command": "a", "cwd": "/d"}}}`, others{"cwd": `"/d"`}},
		{"another type", "cursor", `{"mcpServers": {"a": {"command": "a", "type": "ws"}}}`, others{"type": `"ws"`}},
		{"forms that are not read", "cursor", `{"mcpServers": {"a": {"command": "a", "args": ["x", 1], "env": {"A": "b", "C": null}}}}`, others{"args": `["x",1]`, "env": `{"A":"b","C":null}`}},
		{"a slash in a name", "continue", "mcpServers:\n  - name: a\n    url: https://x.test\n    requestOptions/headers: {A: b}\n", others{"requestOptions/headers": `{"A":"b"}`}},
		{"part of a field", "continue", "mcpServers:\n  - name: a\n    url: https://x.test\n    requestOptions: {headers: {A: b}, proxy: http://p.test}\n", others{"requestOptions": `{"proxy":"http://p.test"}`}},
		{"nested", "cline", `{"mcpServers": {"a": {"transport": {"type": "stdio", "command": "a", "args": [], "x": 1}, "command": "b", "autoApprove": ["t"]}}}`,
			others{"transport": `{"x":1}`, "command": `"b"`, "autoApprove": `["t"]`}},
		{"Zed's old form", "zed", `{"context_servers": {"a": {"command": {"path": "a", "args": ["x"], "env": {"A": "b"}, "y": 1}, "env": {"C": "d"}}}}`, others{"command": `{"y":1}`, "env": `{"C":"d"}`}},
		{"a list", "opencode", `{"mcp": {"a": {"type": "local", "command": ["a", "x"], "environment": {"A": "b"}, "args": ["y"]}}}`, others{"args": `["y"]`}},
		{"TOML", "codex", "[mcp_servers.a]\ncommand = \"a\"\nenv_vars = [\"B\"]\nenabled_tools = [\"t\"]\nx = 0x10\nsince = 2026-01-02\n[mcp_servers.a.tools.t]\napproval_mode = \"auto\"\n",
			others{"enabled_tools": `["t"]`, "x": "0x10", "since": `"2026-01-02"`, "tools": `{"t":{"approval_mode":"auto"}}`}},
		{"YAML", "goose", "extensions:\n  a:\n    type: stdio\n    enabled: true\n    cmd: a\n    args: []\n    bundled: &b {z: 1, a: 2}\n    other: *b\n", others{"bundled": `{"a":2,"z":1}`, "other": `{"a":2,"z":1}`}},
		{"built in", "goose", "extensions:\n  a:\n    type: inline_python\n    name: a\n    code: print()\n", others{"type": `"inline_python"`, "code": `"print()"`}},
		{"variables for headers", "goose", "extensions:\n  a:\n    type: streamable_http\n    uri: https://x.test\n    envs: {T: secret}\n    headers: {A: '${T}'}\n", others{"envs": `{"T":"secret"}`}},
	} {
		if got := othersOf(t, c.client, c.text); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// The order of fields, comments and the format make no difference.
func TestOthersAreTheSameHoweverTheyAreWritten(t *testing.T) {
	a := othersOf(t, "vscode", `{"servers": {"a": {"command": "a", "oauth": {"x": 1, "y": ["b", true]}, "envFile": "ü\u003c"}}}`)
	b := othersOf(t, "vscode", "{\"servers\": {\"a\": {\"envFile\": \"\\u00fc<\", // moved\n\"oauth\": {\"y\": [\"b\",true,],\"x\":1}, \"command\": \"a\"}}}")
	if !maps.Equal(a, b) || len(a) != 2 {
		t.Errorf("%v\n%v", a, b)
	}
}

// Wrapping a server adds and removes no field that counts, in any client.
func TestAWrappedServerHasTheSameOthers(t *testing.T) {
	texts := []struct{ client, text string }{
		{"cursor", `{"mcpServers": {"a": {"command": "a", "envFile": ".env", "type": "stdio"}, "b": {"url": "https://x.test", "type": "http", "headers": {"A": "b"}, "new": 1},
			"c": {"url": "https://x.test", "env": {}, "headers": {"A": "b"}, "new": 1}}}`},
		{"claude-code", `{"mcpServers": {"a": {"type": "sse", "url": "https://x.test", "headers": {"A": "${B}"}, "oauth": {"clientId": "i", "scopes": "s"}, "alwaysLoad": true}}}`},
		{"gemini-cli", `{"mcpServers": {"a": {"httpUrl": "https://x.test", "trust": true, "oauth": {"clientId": "i", "clientSecret": "s"}}}}`},
		{"opencode", `{"mcp": {"a": {"type": "remote", "url": "https://x.test", "oauth": {"scope": "s", "clientId": "i"}}, "b": {"type": "remote", "url": "https://x.test", "headers": {"A": "b"}, "codemode": true}}}`},
		{"codex", "[mcp_servers.a]\nurl = \"https://x.test\"\nbearer_token_env_var = \"T\"\nscopes = [\"s\"]\nenabled_tools = [\"t\"]\n\n[mcp_servers.b]\nurl = \"https://x.test\"\nenv_http_headers = {A = \"B\"}\n"},
		{"goose", "extensions:\n  a:\n    type: streamable_http\n    enabled: true\n    uri: https://x.test\n    envs: {T: secret}\n    headers: {A: '${T}', B: c}\n    bundled: true\n"},
		{"cline", `{"mcpServers": {"a": {"transport": {"type": "streamableHttp", "url": "https://x.test", "headers": {"A": "b"}}, "autoApprove": ["t"]}}}`},
		{"continue", "mcpServers:\n  - name: a\n    type: sse\n    url: https://x.test\n    requestOptions: {headers: {A: b}, proxy: http://p.test}\n"},
	}
	for _, f := range texts {
		c := readAs(t, f.client, f.text)
		for i := range c.Entries {
			e := &c.Entries[i]
			edit, err := c.Wrap(e, WrapOptions{Gauze: "/bin/gauze", Remote: true})
			if err != nil {
				t.Errorf("%s/%s is not wrapped: %v", f.client, e.Name, err)
				continue
			}
			text, err := edit.Apply(c.Format(), c.Text)
			if err != nil {
				t.Fatal(err)
			}
			now := c.Home.ReadText(c.File, text)
			before, after := c.Others(e), now.Others(now.At(e.Path))
			if !maps.Equal(before, after) {
				t.Errorf("%s/%s: %v before, %v after:\n%s", f.client, e.Name, before, after, text)
			}
		}
	}
}
