package upfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const token = "kZ3n0Qw9xT7vL2mB8rHs"

// Every mistake is reported with its line, its key and what to do, and all of them together.
func TestProblems(t *testing.T) {
	const own = "servers:\n  notes: {command: [notes]}\n"
	for name, test := range map[string]struct{ file, want string }{
		"empty":            {"", "1: the file is empty: it must have servers or include"},
		"not YAML":         {"servers: [", "1: the file is not valid YAML: this bracket is not closed"},
		"a list":           {"- a\n", "1: the file must be a mapping, not a list"},
		"nothing":          {"profiles: {}\n", "1: the file has no servers: add servers or include"},
		"unknown key":      {"server:\n  a: {command: [a]}\n", `1: server: unknown key "server" in the file; did you mean "servers"?`},
		"unknown setting":  {"servers:\n  a: {comand: [a]}\n", `2: servers.a.comand: unknown key "comand" in the server "a"; did you mean "command"?`},
		"strange setting":  {"servers:\n  a: {command: [a], xyz: 1}\n", `2: servers.a.xyz: unknown key "xyz" in the server "a": must be one of command, cwd, env, headers, idle, lock, login, max-in-flight, policies, share, tools, url`},
		"both":             {"servers:\n  a: {command: [a], url: https://example.com}\n", `2: servers.a: the server "a" must have either command or url`},
		"neither":          {"servers:\n  a: {idle: 10m}\n", `2: servers.a: the server "a" must have either command or url`},
		"a string":         {"servers:\n  a: {command: npx a}\n", "2: servers.a.command: command must be a list of strings such as [npx, -y, some-server], not a string"},
		"a number":         {"servers:\n  a: 5\n", `2: servers.a: the server "a" must be a mapping, not a number`},
		"a list of them":   {"servers: [a, b]\n", "1: servers: servers must be a mapping of names to servers, not a list"},
		"a bad URL":        {"servers:\n  a: {url: \"https://\"}\n", "2: servers.a.url: the URL has no host: use a URL such as https://example.com/mcp"},
		"no scheme":        {"servers:\n  a: {url: example.com}\n", `2: servers.a: invalid url of the server "a": must begin with http:// or https://`},
		"itself":           {"servers:\n  a: {command: [/bin/gauze, connect]}\n", "2: servers.a.command: gauze connect connects to gauze up itself: use the command of a server"},
		"a number there":   {own + "profiles:\n  p: {servers: [5]}\n", `4: profiles.p.servers[0]: unknown server "5": must be one of notes`},
		"env of a URL":     {"servers:\n  a: {url: \"https://example.com\", env: {A: b}}\n", `2: servers.a: the server "a" has a url, but env and cwd apply only to a command: remove them`},
		"login of none":    {"servers:\n  a: {command: [a], login: work}\n", "2: servers.a: headers and login apply only to a url: remove them"},
		"a key twice":      {own + "  notes: {command: [other]}\n", `3: servers.notes: "notes" is set twice: remove this one or the one on line 2`},
		"a long key":       {"servers:\n  a-very-long-name-for-a-mcp-server: {command: [a]}\n", `2: servers.a-very-long-name-for-a-mcp-server: the key "a-very-long-name-for-a-mcp-server" is too long: tools are named KEY__tool in at most 50 characters, so a key has at most 24; use a shorter one, such as "a-very-long-name-for-a"`},
		"a bad key":        {"servers:\n  My_Notes: {command: [a]}\n", `2: servers.My_Notes: invalid key "My_Notes": must have only a-z, 0-9 and -, and begin with a letter or digit; use "my-notes"`},
		"idle":             {"servers:\n  a: {command: [a], idle: 10}\n", "2: servers.a.idle: invalid idle: must be a duration such as 90s, 10m or 2h"},
		"share":            {"servers:\n  a: {command: [a], share: sesion}\n", `2: servers.a.share: invalid share: must be session or principal; did you mean "session"?`},
		"lock":             {"servers:\n  a: {command: [a], lock: blok}\n", `2: servers.a.lock: invalid lock: must be warn, ask or block; did you mean "block"?`},
		"in flight":        {"servers:\n  a: {command: [a], max-in-flight: 0}\n", "2: servers.a.max-in-flight: invalid max-in-flight: must be a whole number between 1 and 10000"},
		"a glob":           {"servers:\n  a: {command: [a], tools: {deny: [\"x\", \"[a\"]}}\n", `2: servers.a.tools.deny[1]: invalid pattern "[a": a [ has no ], or a \ has nothing after it; to match the character itself, put a \ before it`},
		"no globs":         {"servers:\n  a: {command: [a], tools: {allow: []}}\n", `2: servers.a.tools.allow: allow is empty: it must be a list of strings such as ["get_*", create_issue]`},
		"a filter":         {"servers:\n  a: {command: [a], tools: [x]}\n", "2: servers.a.tools: tools must be a mapping, not a list"},
		"a policy":         {"servers:\n  a: {command: [a], policies: {x: {timout: 5s}}}\n", `2: servers.a.policies.x.timout: unknown setting "timout": must be replay, timeout, max-in-flight, repair or correct.KEY; did you mean "timeout"?`},
		"a policy's value": {"servers:\n  a: {command: [a], policies: {x: {replay: often}}}\n", `2: servers.a.policies.x.replay: invalid replay "often": must be never, safe or idempotent`},
		"a header":         {"servers:\n  a: {url: \"https://example.com\", headers: {Accept: x, Y: \"${A B}\"}}\n", "2: servers.a.headers.Accept: gauze itself sets the Accept header: remove yours\n2: servers.a.headers.Y: malformed reference: use ${NAME} for the value of a variable, or $${ for a literal ${"},
		"a login":          {"servers:\n  a: {url: \"https://example.com\", login: {acount: x}}\n", `2: servers.a.login.acount: unknown key "acount" in login; did you mean "account"?`},
		"a secret":         {"servers:\n  a: {url: \"https://example.com\", login: {client-secret-env: X}}\n", "2: servers.a.login: client-secret-env requires client-id: add it"},
		"include":          {"include: cursor\n", "1: include: include must be a list of strings such as [cursor, claude-code/notes, ./servers.json], not a string"},
		"unknown client":   {"include:\n  - curser\n", `2: include[0]: no client named "curser"; did you mean "cursor"?`},
		"from nothing":     {"servers:\n  a: {from: cursor}\n", `2: servers.a.from: a server must be CLIENT/NAME such as cursor/notes, FILE#NAME such as ./servers.json#notes, {command: [...]} or {url: ...}, not "cursor"`},
		"from and command": {"servers:\n  a: {from: cursor/notes, command: [a]}\n", `2: servers.a.command: unknown key "command" in a server with from: must be one of from, idle, lock, max-in-flight, policies, share, tools`},
		"from a number":    {"servers:\n  a: {from: 5}\n", "2: servers.a.from: from must be a string, not a number"},
		"no members":       {own + "profiles:\n  p: {list: auto}\n", "4: profiles.p: the profile has no servers: add servers with at least one key, such as servers: [notes]"},
		"empty members":    {own + "profiles:\n  p: {servers: []}\n", "4: profiles.p.servers: servers is empty: it must be a list of strings such as [github, files]"},
		"unknown member":   {own + "profiles:\n  p: {servers: [note, notes, notes]}\n", "4: profiles.p.servers[0]: unknown server \"note\": must be one of notes; did you mean \"notes\"?\n4: profiles.p.servers[2]: the server \"notes\" is listed twice: remove one"},
		"a list mode":      {own + "profiles:\n  p: {servers: [notes], list: serch}\n", `4: profiles.p.list: invalid list: must be direct, search or auto; did you mean "search"?`},
		"a profile's name": {own + "profiles:\n  My Profile: {servers: [notes]}\n", `4: profiles.My Profile: invalid name "My Profile" of a profile: must have only a-z, 0-9 and -, and at most 24 characters; use "my-profile"`},
		"no token":         {own + "tokens:\n  ci: {}\n", "4: tokens.ci: the token has no env: add the name of the environment variable that contains it"},
		"token itself":     {own + "tokens:\n  ci: {env: " + token + "-}\n", `4: tokens.ci.env: invalid env "` + token + `-": must be the name of an environment variable such as GAUZE_CI_TOKEN, not the token itself`},
		"not a secret":     {own + "tokens:\n  ci: {env: PATH}\n", "4: tokens.ci.env: the variable PATH is not a secret: use one of its own, such as GAUZE_CI_TOKEN"},
		"no profiles":      {own + "tokens:\n  ci: {env: GOOD, profile: p}\n", `4: tokens.ci.profile: unknown profile "p": the file has no profiles; add one, or remove the key for a token that is for every server`},
		"unknown profile":  {"tokens:\n  ci: {env: GOOD, profile: reviw}\nprofiles:\n  review: {servers: [notes]}\n" + own, `2: tokens.ci.profile: unknown profile "reviw": must be one of review; did you mean "review"?`},
		"all together": {"servers:\n  A: {command: [a], idle: soon}\n  b: {}\ninclude: [nowhere]\nprofiles:\n  p: {servers: [c]}\ntokens:\n  t: {env: NOT-A-NAME, profile: q}\n",
			"2: servers.A: invalid key \"A\": must have only a-z, 0-9 and -, and begin with a letter or digit; use \"a\"\n" +
				"2: servers.A.idle: invalid idle: must be a duration such as 90s, 10m or 2h\n" +
				"3: servers.b: the server \"b\" must have either command or url\n" +
				"4: include[0]: no client named \"nowhere\"; known clients are ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			p.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "x"}}}`)
			p.write("other.json", `{"mcpServers": {"off": {"command": "x", "disabled": true}}}`)
			p.write("broken.json", `{"mcpServers": {`)
			p.write("another.json", `{"name": "x"}`)
			path := p.write("up.yaml", test.file)
			f, err := p.read("up.yaml")
			if err == nil || f != nil {
				t.Fatalf("%+v, %v", f, err)
			}
			checkProblems(t, err, path, test.file)
			got := strings.ReplaceAll(err.Error(), path+":", "")
			if got != test.want && !(name == "all together" && strings.HasPrefix(got, test.want) && strings.Count(got, "\n") == 5) {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if strings.Contains(got, token) && name != "token itself" {
				t.Errorf("a token is shown:\n%s", got)
			}
		})
	}
}

// A file that cannot be read is not a panic, and says why.
func TestUnreadable(t *testing.T) {
	p := newPerson(t)
	p.write("large.yaml", "# "+strings.Repeat("x", maxFileBytes))
	p.write("dir/x", "")
	for name, want := range map[string]string{"none.yaml": " does not exist. For what such a file contains, see docs/up.md", "dir": ": it is not a regular file", "large.yaml": ": it is larger than 1048576 bytes"} {
		_, err := p.read(name)
		if err == nil || !strings.Contains(err.Error(), name+want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDefaultPath(t *testing.T) {
	dir, err := os.UserConfigDir()
	if err != nil {
		t.Skip(err)
	}
	if got, want := DefaultPath(), filepath.Join(dir, "gauze", "up.yaml"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
