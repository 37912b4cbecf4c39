package clientconfig

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// wrapOne wraps and unwraps the only entry of a file, which must give every byte back. It returns the
// wrapped file, or why the entry stays as it is.
func wrapOne(t *testing.T, path, content string) (*Config, string) {
	t.Helper()
	home := homeOf(&txtar.Archive{Files: []txtar.File{{Name: path, Data: []byte(content)}}})
	before := home.Read(home.Find()[0])
	if len(before.Entries) == 0 {
		t.Fatalf("no entry in\n%s", content)
	}
	edit, err := before.Wrap(&before.Entries[0], WrapOptions{Remote: true})
	var skipped Skipped
	if errors.As(err, &skipped) {
		return nil, string(skipped)
	}
	wrapped, err := edit.Apply(before.Format(), before.Text)
	if err != nil {
		t.Fatal(err)
	}
	now := home.ReadText(before.File, wrapped)
	back, err := now.Unwrap(&now.Entries[0])
	if err != nil {
		t.Fatalf("%v\n%s", err, wrapped)
	}
	original, err := back.Apply(now.Format(), now.Text)
	if err != nil || string(original) != content {
		t.Fatalf("%v: not the same bytes:\n%s\nof\n%s", err, original, wrapped)
	}
	return now, ""
}

const (
	inCodex    = "home/.codex/config.toml"
	inGoose    = "home/.config/goose/config.yaml"
	inClaude   = "project/.mcp.json"
	inCursor   = "home/.cursor/mcp.json"
	inOpencode = "home/.config/opencode/opencode.json"
	inGemini   = "home/.gemini/settings.json"
	inContinue = "home/.continue/config.yaml"
	inCline    = "home/.cline/data/settings/cline_mcp_settings.json"
	inAmp      = "home/.config/amp/settings.json"
)

// The ways people and clients write a remote entry, and what becomes of it.
func TestWrapRemoteInEveryStyle(t *testing.T) {
	for _, c := range []struct{ name, path, text, want string }{
		{"toml", inCodex, "[mcp_servers.a]\nurl = \"https://a.example/mcp\" # mine\nenabled = true\n",
			"[mcp_servers.a]\ncommand = \"gauze\"\nargs = [\"run\", \"--name=a\", \"--url\", \"https://a.example/mcp\"] # mine\nenabled = true\n"},
		{"toml, a literal and other line ends", inCodex, "[mcp_servers.a]\r\n  url='https://a.example/mcp'\r\n",
			"[mcp_servers.a]\r\n  command=\"gauze\"\r\n  args=[\"run\", \"--name=a\", \"--url\", 'https://a.example/mcp']\r\n"},
		{"toml inline", inCodex, "mcp_servers = { a = { url = \"https://a.example/mcp\", enabled = true } }\n",
			"mcp_servers = { a = { command = \"gauze\", args = [\"run\", \"--name=a\", \"--url\", \"https://a.example/mcp\"], enabled = true } }\n"},
		{"toml dotted", inCodex, "mcp_servers.a.url = \"https://a.example/mcp\"\nmcp_servers.a.http_headers.X-A = \"b\"\n",
			"mcp_servers.a.command = \"gauze\"\nmcp_servers.a.args = [\"run\", \"--name=a\", \"--header-env\", \"X-A=GAUZE_HEADER_1\", \"--url\", \"https://a.example/mcp\"]\nmcp_servers.a.env.GAUZE_HEADER_1 = \"b\"\n"},
		{"toml table of headers", inCodex, "[mcp_servers.a]\nurl = \"https://a.example/mcp\"\n\n[mcp_servers.a.http_headers] # h\n\"X-A\" = 'b'\nX-B = \"c\"\n",
			"[mcp_servers.a]\ncommand = \"gauze\"\nargs = [\"run\", \"--name=a\", \"--header-env\", \"X-A=GAUZE_HEADER_1\", \"--header-env\", \"X-B=GAUZE_HEADER_2\", \"--url\", \"https://a.example/mcp\"]\n\n[mcp_servers.a.env] # h\n\"GAUZE_HEADER_1\" = 'b'\nGAUZE_HEADER_2 = \"c\"\n"},
		{"a bearer token", inCodex, "[mcp_servers.a]\nbearer_token_env_var = 'A_TOKEN' # t\nurl = \"https://a.example/mcp\"\n",
			"[mcp_servers.a]\nenv_vars = ['A_TOKEN'] # t\ncommand = \"gauze\"\nargs = [\"run\", \"--name=a\", \"--header-env\", \"Authorization=Bearer ${A_TOKEN}\", \"--url\", \"https://a.example/mcp\"]\n"},
		{"headers from variables", inCodex, "[mcp_servers.a]\nurl = \"https://a.example/mcp\"\nenv_http_headers = {X-A=\"A\",  \"X-B\" = 'B' }\n",
			"[mcp_servers.a]\ncommand = \"gauze\"\nargs = [\"run\", \"--name=a\", \"--header-env\", \"X-A=${A:-}\", \"--header-env\", \"X-B=${B:-}\", \"--entry=env_http_headers={X-A=\\\"A\\\",  \\\"X-B\\\" = 'B' }\", \"--url\", \"https://a.example/mcp\"]\nenv_vars = [\"A\", \"B\"]\n"},
		{"all of Codex's headers", inCodex, "[mcp_servers.a]\nurl = \"https://a.example/mcp\"\nhttp_headers = { X-A = \"b\" }\nbearer_token_env_var = \"T\"\nenv_http_headers = { X-B = \"B\" }\n",
			"[mcp_servers.a]\ncommand = \"gauze\"\nenv = { GAUZE_HEADER_1 = \"b\" }\nenv_vars = [\"T\", \"B\"]\nargs = [\"run\", \"--name=a\", \"--header-env\", \"X-A=GAUZE_HEADER_1\", \"--header-env\", \"Authorization=Bearer ${T}\", \"--header-env\", \"X-B=${B:-}\", \"--entry=env_http_headers={ X-B = \\\"B\\\" }\", \"--url\", \"https://a.example/mcp\"]\n"},
		{"Codex's scopes", inCodex, "[mcp_servers.a]\nurl = \"https://a.example/mcp\"\nscopes = [\n  \"read\", # r\n  'write' ]\ntool_timeout_sec = 5\n",
			"[mcp_servers.a]\ncommand = \"gauze\"\nargs = [\"run\", \"--name=a\", \"--scope=read\", \"--scope=write\", \"--entry=scopes=[\\n  \\\"read\\\", # r\\n  'write' ]\", \"--url\", \"https://a.example/mcp\"]\ntool_timeout_sec = 5\n"},
		{"yaml", inGoose, "extensions:\n  a:\n    enabled: true\n    type: sse # old\n    name: a\n    uri: https://a.example/sse\n    timeout: 300\n",
			"extensions:\n  a:\n    enabled: true\n    type: stdio # old\n    name: a\n    cmd: \"gauze\"\n    args: [\"run\", \"--name=a\", \"--entry=type=sse\", \"--url\", https://a.example/sse]\n    timeout: 300\n"},
		{"as goose writes it", inGoose, "extensions:\n  a:\n    enabled: true\n    type: streamable_http\n    name: a\n    uri: https://a.example/mcp\n    envs: {}\n    env_keys:\n    - A_TOKEN\n    headers:\n      Authorization: Bearer ${A_TOKEN}\n      X-A: b\n",
			"extensions:\n  a:\n    enabled: true\n    type: stdio\n    name: a\n    cmd: \"gauze\"\n    args: [\"run\", \"--name=a\", \"--header-env\", \"Authorization=Bearer ${A_TOKEN}\", \"--header-env\", \"X-A=GAUZE_HEADER_1\", \"--entry=type=streamable_http\", \"--entry=envs=kept\", \"--url\", https://a.example/mcp]\n    envs: {\"GAUZE_HEADER_1\": b}\n    env_keys:\n    - A_TOKEN\n    headers:\n      Authorization: Bearer ${A_TOKEN}\n      X-A: b\n"},
		{"goose with variables of its own", inGoose, "extensions:\n  a:\n    name: a\n    envs:\n      A_TOKEN: t\n    headers: {Authorization: \"Bearer ${A_TOKEN}\", X-A: 'b'}\n    type: \"streamable_http\"\n    uri: 'https://a.example/mcp'\n",
			"extensions:\n  a:\n    name: a\n    envs:\n      \"GAUZE_HEADER_1\": 'b'\n      A_TOKEN: t\n    headers: {Authorization: \"Bearer ${A_TOKEN}\", X-A: 'b'}\n    type: \"stdio\"\n    cmd: \"gauze\"\n    args: [\"run\", \"--name=a\", \"--header-env\", \"Authorization=Bearer ${A_TOKEN}\", \"--header-env\", \"X-A=GAUZE_HEADER_1\", \"--entry=envs=kept\", \"--url\", 'https://a.example/mcp']\n"},
		{"yaml, headers in their place", inGoose, "extensions:\n  a: {name: a, type: streamable_http, uri: \"https://a.example/mcp\", headers: {X-A: b}}\n",
			"extensions:\n  a: {name: a, type: stdio, cmd: \"gauze\", args: [\"run\", \"--name=a\", \"--header-env\", \"X-A=GAUZE_HEADER_1\", \"--entry=type=streamable_http\", \"--url\", \"https://a.example/mcp\"], envs: {GAUZE_HEADER_1: b}}\n"},
		{"a yaml list", inContinue, "mcpServers:\n  - url: https://a.example/mcp\n    name: a\n    requestOptions: {headers: {X-A: \"${{ secrets.A }}\"}}\n",
			"mcpServers:\n  - command: \"gauze\"\n    args: [\"run\", \"--name=a\", \"--header-env\", \"X-A=GAUZE_HEADER_1\", \"--url\", https://a.example/mcp]\n    env: {\"GAUZE_HEADER_1\": \"${{ secrets.A }}\"}\n    name: a\n    requestOptions: {headers: {X-A: \"${{ secrets.A }}\"}}\n"},
		{"a second name of the URL", inGemini, "{\"mcpServers\": {\"a\": {\"httpUrl\": \"https://a.example/mcp\"}}}",
			"{\"mcpServers\": {\"a\": {\"command\": \"gauze\", \"args\": [\"run\", \"--name=a\", \"--entry=url=httpUrl\", \"--url\", \"https://a.example/mcp\"]}}}"},
		{"a type in other words", inClaude, "{\"mcpServers\": {\"a\": {\"type\": \"streamable-http\", \"url\": \"https://a.example/mcp\"}}}",
			"{\"mcpServers\": {\"a\": {\"type\": \"stdio\", \"command\": \"gauze\", \"args\": [\"run\", \"--name=a\", \"--entry=type=streamable-http\", \"--url\", \"https://a.example/mcp\"]}}}"},
		{"a type that the client does not need", inAmp, "{\"amp.mcpServers\": {\"a\": {\"type\": \"http\", \"url\": \"https://a.example/mcp\"}}}",
			"{\"amp.mcpServers\": {\"a\": {\"type\": \"stdio\", \"command\": \"gauze\", \"args\": [\"run\", \"--name=a\", \"--entry=type=http\", \"--url\", \"https://a.example/mcp\"]}}}"},
		{"an older name of the type", inCline, "{\"mcpServers\": {\"a\": {\"transportType\": \"sse\", \"url\": \"https://a.example/mcp\"}}}",
			"{\"mcpServers\": {\"a\": {\"transportType\": \"stdio\", \"command\": \"gauze\", \"args\": [\"run\", \"--name=a\", \"--entry=transportType=sse\", \"--url\", \"https://a.example/mcp\"]}}}"},
		{"nested", inCline, "{\"mcpServers\": {\"a\": {\"transport\": {\"type\": \"streamableHttp\", \"url\": \"https://a.example/mcp\", \"headers\": {\"X-A\": \"b\"}}}}}",
			"{\"mcpServers\": {\"a\": {\"transport\": {\"type\": \"stdio\", \"command\": \"gauze\", \"args\": [\"run\", \"--name=a\", \"--header-env\", \"X-A=GAUZE_HEADER_1\", \"--url\", \"https://a.example/mcp\"], \"env\": {\"GAUZE_HEADER_1\": \"b\"}}}}}"},
		{"an empty environment", inCursor, "{\"mcpServers\": {\"a\": {\"env\": { }, \"url\": \"https://a.example/mcp\", \"headers\": {\"X-A\": \"b\"}}}}",
			"{\"mcpServers\": {\"a\": {\"env\": {\"GAUZE_HEADER_1\": \"b\" }, \"command\": \"gauze\", \"args\": [\"run\", \"--name=a\", \"--header-env\", \"X-A=GAUZE_HEADER_1\", \"--entry=env=kept\", \"--url\", \"https://a.example/mcp\"], \"headers\": {\"X-A\": \"b\"}}}}"},
		{"a registered client", inClaude, "{\"mcpServers\": {\"a\": {\"type\": \"http\", \"url\": \"https://a.example/mcp\", \"oauth\": {\"clientId\": \"c\", \"callbackPort\": 8123, \"scopes\": \"read  write\"}}}}",
			"{\"mcpServers\": {\"a\": {\"type\": \"stdio\", \"command\": \"gauze\", \"args\": [\"run\", \"--name=a\", \"--client-id=c\", \"--scope=read\", \"--scope=write\", \"--redirect-url=http://localhost:8123/callback\", \"--url\", \"https://a.example/mcp\"], \"oauth\": {\"clientId\": \"c\", \"callbackPort\": 8123, \"scopes\": \"read  write\"}}}}"},
		{"a client with a secret", inGemini, "{\"mcpServers\": {\"a\": {\"url\": \"https://a.example/mcp\", \"oauth\": {\"enabled\": true, \"clientId\": \"c\", \"clientSecret\": \"$S\", \"scopes\": [\"r\"]}, \"headers\": {\"X-A\": \"b\"}}}}",
			"{\"mcpServers\": {\"a\": {\"command\": \"gauze\", \"args\": [\"run\", \"--name=a\", \"--client-id=c\", \"--client-secret-env\", \"GAUZE_CLIENT_SECRET\", \"--scope=r\", \"--header-env\", \"X-A=GAUZE_HEADER_1\", \"--url\", \"https://a.example/mcp\"], \"env\": {\"GAUZE_CLIENT_SECRET\": \"$S\", \"GAUZE_HEADER_1\": \"b\"}, \"oauth\": {\"enabled\": true, \"clientId\": \"c\", \"clientSecret\": \"$S\", \"scopes\": [\"r\"]}, \"headers\": {\"X-A\": \"b\"}}}}"},
		{"a client that rejects other fields", inOpencode, "{\"mcp\": {\"a\": {\"type\": \"remote\", \"url\": \"https://a.example/mcp\", \"oauth\": {\"clientId\": \"c\", \"scope\": \"r\"}}}}",
			"{\"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\"gauze\", \"run\", \"--name=a\", \"--client-id=c\", \"--scope=r\", \"--redirect-url=http://127.0.0.1:19876/mcp/oauth/callback\", \"--entry=oauth={\\\"clientId\\\": \\\"c\\\", \\\"scope\\\": \\\"r\\\"}\", \"--url\", \"https://a.example/mcp\"], \"environment\": {}}}}"},
		{"no login", inOpencode, "{\"mcp\": {\"a\": {\"type\": \"remote\", \"oauth\": false, \"url\": \"https://a.example/mcp\"}}}",
			"{\"mcp\": {\"a\": {\"type\": \"local\", \"environment\": {}, \"command\": [\"gauze\", \"run\", \"--name=a\", \"--login=off\", \"--entry=oauth=false\", \"--url\", \"https://a.example/mcp\"]}}}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, why := wrapOne(t, c.path, c.text)
			if why != "" {
				t.Fatalf("skipped: %s", why)
			}
			if string(now.Text) != c.want {
				t.Errorf("wrapped:\n%s\nwant:\n%s", now.Text, c.want)
			}
			if e := now.Entries[0]; !strings.HasPrefix(e.Inner.URL, "https://a.example/") {
				t.Errorf("inner is %+v", e.Inner)
			}
			for _, p := range now.Lint() {
				if p.Server == "a" && p.Fix != nil && c.path != inCline { // the old name of its type is found before, too
					t.Errorf("lint would change what wrap wrote: %s: %s", p.Code, p.What)
				}
			}
		})
	}
}

// Without Remote, only a server that could be wrapped is reported with ErrRemote.
func TestWhatRemoteWouldWrap(t *testing.T) {
	for text, want := range map[string]string{
		`{"mcpServers": {"a": {"url": "https://a.example/mcp"}}}`:                             string(ErrRemote),
		`{"mcpServers": {"a": {"url": "https://a.example/mcp", "auth": {"CLIENT_ID": "c"}}}}`: "the server is remote and cannot be wrapped: its auth field ",
	} {
		home := homeOf(&txtar.Archive{Files: []txtar.File{{Name: inCursor, Data: []byte(text)}}})
		c := home.Read(home.Find()[0])
		if _, err := c.Wrap(&c.Entries[0], WrapOptions{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What gauze run could not do as the client does, it does not do: the reason names the field.
func TestWrapRemoteSkipsWhatItCannotExpress(t *testing.T) {
	for _, c := range []struct{ name, path, text, why string }{
		{"a program for headers", inClaude, `{"mcpServers": {"a": {"type": "http", "url": "https://a.example/mcp", "headersHelper": "get"}}}`, "headersHelper"},
		{"other metadata", inClaude, `{"mcpServers": {"a": {"type": "http", "url": "https://a.example/mcp", "oauth": {"authServerMetadataUrl": "https://b.example"}}}}`, "oauth.authServerMetadataUrl"},
		{"a login with an address of the client's own", inCursor, `{"mcpServers": {"a": {"url": "https://a.example/mcp", "auth": {"CLIENT_ID": "c"}}}}`, "its auth field "},
		{"a redirect elsewhere", inGemini, `{"mcpServers": {"a": {"url": "https://a.example/mcp", "oauth": {"clientId": "c", "redirectUri": "https://evil.example/cb"}}}}`, "its login redirects to an address"},
		{"a secret that a strict client would reject", inOpencode, `{"mcp": {"a": {"type": "remote", "url": "https://a.example/mcp", "oauth": {"clientId": "c", "clientSecret": "s"}}}}`, "its oauth field "},
		{"a helper of Codex", inCodex, "[mcp_servers.a]\nurl = \"https://a.example/mcp\"\noauth_resource = \"x\"\n", "oauth_resource"},
		{"a token in place of a name", inCodex, "[mcp_servers.a]\nurl = \"https://a.example/mcp\"\nbearer_token_env_var = \"ghp_0123456789abcdefghijABCDEFGHIJ012345\"\n", headersNotExact},
		{"two URLs", inGemini, `{"mcpServers": {"a": {"url": "https://a.example/sse", "httpUrl": "https://a.example/mcp"}}}`, "more than one URL"},
		{"an environment that had no effect", inCursor, `{"mcpServers": {"a": {"url": "https://a.example/mcp", "env": {"LD_PRELOAD": "/tmp/x.so"}}}}`, hasCommandFields},
		{"a file of variables", inCursor, `{"mcpServers": {"a": {"url": "https://a.example/mcp", "envFile": ".env"}}}`, hasCommandFields},
		{"an unknown type", inClaude, `{"mcpServers": {"a": {"type": "ws", "url": "https://a.example/mcp"}}}`, "the entry's type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, why := wrapOne(t, c.path, c.text)
			if now != nil || !strings.Contains(why, c.why) {
				t.Errorf("%q, want %q\n%+v", why, c.why, now)
			}
		})
	}
}

// An entry decides nothing about gauze run but where it connects: its strings are values, never flags.
func TestWrappedEntryCannotInjectFlags(t *testing.T) {
	evil := []string{"--login=auto", "-h", "--", "--url", "--header=X: y", "--entry=url=command", "x --policy /tmp/p", "--name\n--quiet", "a=b", "a b", "", "é", "X-A\r\nX-B: c", `"`, `\`, "${HOME}", "--model=x"}
	allowed := []string{"--name", "--header-env", "--client-secret-env", "--url", "--client-id", "--scope", "--redirect-url", "--entry", "--login"}
	wrapped := 0
	try := func(path, content string) {
		t.Helper()
		now, why := wrapOne(t, path, content)
		if why != "" {
			return
		}
		wrapped++
		args := now.Entries[0].Spec.Args
		if args[0] != "run" || args[len(args)-2] != "--url" || !WrapFlags(args[1:len(args)-1]) {
			t.Errorf("%q of\n%s", args, content)
		}
		for i := 1; i < len(args); i++ {
			name, _, joined := strings.Cut(args[i], "=")
			if !slices.Contains(allowed, name) || name == "--login" && args[i] != "--login=off" {
				t.Errorf("%q is a flag in %q of\n%s", args[i], args, content)
			}
			if !joined {
				i++
			}
		}
		if inner := now.Entries[0].Inner; inner.URL != args[len(args)-1] || inner.Command != "" {
			t.Errorf("inner is %+v of\n%s", inner, content)
		}
	}
	for _, x := range evil {
		q := quote(x)
		try(inClaude, `{"mcpServers": {`+q+`: {"type": "http", "url": "https://a.example/mcp"}}}`)
		try(inClaude, `{"mcpServers": {"a": {"type": "http", "url": `+q+`}}}`)
		try(inClaude, `{"mcpServers": {"a": {"type": "http", "url": "https://a.example/`+q[1:len(q)-1]+`"}}}`)
		try(inClaude, `{"mcpServers": {"a": {"type": `+q+`, "url": "https://a.example/mcp"}}}`)
		try(inClaude, `{"mcpServers": {"a": {"type": "http", "url": "https://a.example/mcp", "headers": {`+q+`: "v"}}}}`)
		try(inClaude, `{"mcpServers": {"a": {"type": "http", "url": "https://a.example/mcp", "headers": {"X-A": `+q+`}}}}`)
		try(inClaude, `{"mcpServers": {"a": {"type": "http", "url": "https://a.example/mcp", "oauth": {"clientId": `+q+`, "scopes": `+q+`}}}}`)
		try(inGemini, `{"mcpServers": {"a": {"url": "https://a.example/mcp", "oauth": {"clientId": "c", "scopes": [`+q+`], "redirectUri": `+q+`}}}}`)
		try(inCodex, "[mcp_servers.a]\nurl = \"https://a.example/mcp\"\nbearer_token_env_var = "+q+"\n")
		try(inCodex, "[mcp_servers.a]\nurl = \"https://a.example/mcp\"\nenv_http_headers = { "+q+" = \"A\", X-B = "+q+" }\n")
		try(inCodex, "[mcp_servers.a]\nurl = \"https://a.example/mcp\"\nscopes = ["+q+"]\n")
		try(inGoose, "extensions:\n  a:\n    name: a\n    type: streamable_http\n    uri: https://a.example/mcp\n    headers:\n      X-A: "+quote(x+"${T}")+"\n      "+q+": b\n")
	}
	if wrapped < 20 {
		t.Errorf("only %d entries were wrapped", wrapped)
	}
}

// Every client's remote entry is wrapped in every file of its own, with and without headers, and
// gauze run gets the same URL and headers.
func TestEveryClientsRemoteEntryIsWrapped(t *testing.T) {
	home := Home{OS: "linux", Home: "/home/me", Project: "/home/me/project", Environ: []string{"PATH=/bin", "ACME_TOKEN=" + canary}, Disk: memory{}}
	formats := map[splice.Format]int{}
	for _, f := range home.Places() {
		fields := f.Client.Fields
		if f.Place.Fields != nil {
			fields = *f.Place.Fields
		}
		if f.Place.Old != "" || f.Place.Borrowed || fields.NoRemote || f.Place.Scope == Managed || f.Place.Scope == System {
			continue
		}
		for _, transport := range []Transport{HTTP, SSE} {
			for _, headers := range [][]launch.Header{nil, {{Name: "X-Team", Value: "blue"}}, {{Name: "Authorization", Value: "Bearer ${ACME_TOKEN}"}, {Name: "X-Team", Value: "blue"}}} {
				spec := launch.Spec{URL: "https://a.example/mcp", Header: headers}
				entry, err := f.Client.Render(spec, RenderOptions{Fields: &fields, Name: "a", Transport: transport})
				if err != nil {
					continue // the client has no such transport, or no references
				}
				doc, err := splice.Parse(f.Format(), nil)
				if err != nil {
					t.Fatal(err)
				}
				var value any = splice.Map{{Name: "a", Value: entry}}
				if f.Place.List {
					value = []any{entry}
				}
				way := f.Place.Keys[0]
				if way[len(way)-1] == "servers" && len(way) > 1 {
					way = f.Place.Keys[len(f.Place.Keys)-1]
				}
				for i, key := range way {
					if key == inProject {
						way = slices.Clone(way)
						way[i] = "/home/me/project"
					}
				}
				for _, outer := range slices.Backward(way[1:]) {
					value = splice.Map{{Name: outer, Value: value}}
				}
				if doc, err = doc.Set([]any{way[0]}, value); err != nil {
					t.Fatal(err)
				}
				before := home.ReadText(f, doc.Bytes())
				if len(before.Entries) != 1 {
					t.Fatalf("%s %s: %d entries\n%s", f.Client.ID, f.Path, len(before.Entries), doc.Bytes())
				}
				if n := wrapAll(t, home, f, before); n != 1 {
					_, err := before.Wrap(&before.Entries[0], WrapOptions{Remote: true})
					t.Errorf("%s %s is not wrapped: %v\n%s", f.Client.ID, f.Path, err, doc.Bytes())
					continue
				}
				formats[f.Format()]++
				edit, _ := before.Wrap(&before.Entries[0], WrapOptions{Remote: true})
				text, err := edit.Apply(before.Format(), before.Text)
				if err != nil {
					t.Fatal(err)
				}
				now := home.ReadText(f, text).Entries[0]
				if got, want := now.Inner.Header, before.Entries[0].Spec.Header; len(got) != len(want) || slices.ContainsFunc(want, func(h launch.Header) bool {
					return !slices.ContainsFunc(got, func(g launch.Header) bool { return g.Name == h.Name && g.Value == h.Value })
				}) {
					t.Errorf("%s %s: gauze run sends %q, the client sent %q\n%s", f.Client.ID, f.Path, got, want, text)
				}
				if strings.Contains(strings.Join(now.Spec.Args, " "), canary) {
					t.Errorf("%s: the secret is in the arguments: %q", f.Client.ID, now.Spec.Args)
				}
			}
		}
	}
	if formats[splice.TOML] < 6 || formats[splice.YAML] < 6 || formats[splice.JSON]+formats[splice.JSONC] < 60 {
		t.Errorf("too few: %v", formats)
	}
}

// Wraps of earlier versions are unwrapped.
func TestOldRemoteWrapsAreUnwrapped(t *testing.T) {
	for path, files := range map[string][2]string{
		inCursor: {`{"mcpServers": {"a": {"command": "gauze", "args": ["run", "--header-env", "X-A=GAUZE_HEADER_1", "--url", "https://a.example/mcp"], "env": {"GAUZE_HEADER_1": "${env:A}"}}}}`,
			`{"mcpServers": {"a": {"url": "https://a.example/mcp", "headers": {"X-A": "${env:A}"}}}}`},
		inClaude: {`{"mcpServers": {"a": {"type": "stdio", "command": "gauze", "args": ["run", "--url", "https://a.example/mcp"]}}}`,
			`{"mcpServers": {"a": {"type": "http", "url": "https://a.example/mcp"}}}`},
	} {
		home := homeOf(&txtar.Archive{Files: []txtar.File{{Name: path, Data: []byte(files[0])}}})
		c := home.Read(home.Find()[0])
		edit, err := c.Unwrap(&c.Entries[0])
		if err != nil {
			t.Fatal(err)
		}
		if text, err := edit.Apply(c.Format(), c.Text); err != nil || string(text) != files[1] {
			t.Errorf("%v %s", err, text)
		}
	}
}
