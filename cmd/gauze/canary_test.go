//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/fault"
)

// canaryCage creates canaries: secrets without a recognizable shape.
type canaryCage struct {
	all     []string
	environ []string
}

// plain returns a canary of letters and digits.
func (c *canaryCage) plain() string {
	sum := sha256.Sum256(fmt.Append(nil, len(c.all)))
	one := fmt.Sprintf("kN%03dq%xW", len(c.all), sum[:3])
	c.all = append(c.all, one)
	return one
}

// odd returns a canary that every encoding writes differently.
func (c *canaryCage) odd() string {
	one := c.plain() + `+/"=é`
	c.all[len(c.all)-1] = one
	return one
}

// words are arguments of a program.
type words = []string

// canaryEntries are the shapes in which secrets come, each an entry of a configuration file. web is the address of a
// server that repeats what it gets.
func canaryEntries(c *canaryCage, web string) map[string]map[string]any {
	entries := map[string]map[string]any{}
	// A server is started with several shapes, or with each by itself if time does not matter.
	started := func(name string, shapes ...words) {
		if !everything() {
			shapes = []words{slices.Concat(shapes...)}
		}
		for i, args := range shapes {
			entries[name+strings.Repeat("x", i)] = map[string]any{"command": "tellall", "args": args}
		}
	}
	given := func(name string, env map[string]any) {
		entries[name] = map[string]any{"command": "tellall", "env": env}
	}
	reached := func(name, address string, headers map[string]any) {
		entries[name] = map[string]any{"type": "http", "url": address}
		if headers != nil {
			entries[name]["headers"] = headers
		}
	}
	flags := []string{"-p", "-k", "--bearer", "--password", "--token", "--api-key", "--key", "--secret", "--pass", "--auth", "-api-key", "--access_token", "--pwd", "--pat"}
	for some := range slices.Chunk(flags, 4) {
		var shapes []words
		for _, flag := range some {
			shapes = append(shapes, words{flag, c.odd()}, words{flag + "=" + c.odd()})
		}
		started("flag"+some[0], shapes...)
	}
	started("gluedp", words{"-p" + c.plain(), "--port", "80"})
	started("user", words{"-u", "me:" + c.odd()}, words{"-ume:" + c.plain()}, words{"--user=me:" + c.odd()}, words{"-k" + c.odd()})
	started("header", words{"--header", "X-Own: " + c.odd(), "-H", "Authorization: Bearer " + c.plain(), "--header=X-Two:" + c.odd()})
	started("json", words{`{"apiKey": "` + c.plain() + `", "nested": {"password": "` + c.plain() + `"}}`})
	started("connection", words{"Server=db;Password=" + c.plain() + ";Port=1"}, words{"postgres://me:" + c.plain() + "@db.example/x?sslmode=disable&password=" + c.plain()},
		words{"postgres://me:" + url.QueryEscape(c.odd()) + "@db.example/x"})
	started("hook", words{"https://hooks.example.com/services/T0/B0/" + c.plain()}, words{"--to=https://example.com/api/webhooks/12/" + c.plain()})
	started("segment", words{"https://example.com/v1/" + c.plain() + "/mcp"})
	started("container", words{"run", "-e", "NAME=" + c.plain(), "--env", "OTHER=" + c.plain()})
	entries["shell"] = map[string]any{"command": "sh", "args": []any{"-c", "exec tellall -p" + c.plain() + " --bearer " + c.plain() + " -u me:" + c.plain()}}
	entries["bent"] = map[string]any{"command": "tellall -p" + c.plain() + " --bearer " + c.plain() + " https://hooks.example.com/s/" + c.plain()}
	entries["bentargs"] = map[string]any{"command": "tellall", "args": "-p " + c.plain() + " --user me:" + c.plain()}
	entries["bentenv"] = map[string]any{"command": "tellall", "env": []any{"BENT=" + c.plain()}}
	entries["benturl"] = map[string]any{"url": "tp://me:" + c.plain() + "@127.0.0.1/s/" + c.plain() + "?k=" + c.plain()}
	entries["benttype"] = map[string]any{"type": "nonsense", "command": "tellall", "args": []any{"-p", c.plain(), 7}}
	given("named", map[string]any{"SOME_API_KEY": c.odd(), "AUTH_HEADER": c.plain(), "DATABASE_URL": "postgres://me:" + c.plain() + "@db/x"})
	given("harmless", map[string]any{"SETTING": c.odd(), "OPTIONS": `{"token": "` + c.plain() + `"}`})
	given("lines", map[string]any{"BLOCK": c.plain() + "\n" + c.plain() + "\n"})
	c.environ = append(c.environ, "CAGED="+c.odd())
	given("referred", map[string]any{"MINE": "${env:CAGED}"})
	reached("query", web+"/mcp?key="+c.plain()+"&x="+c.plain(), nil)
	reached("path", web+"/s/"+c.plain()+"/mcp", nil)
	reached("webpath", web+"/webhook/"+c.plain(), nil)
	reached("password", strings.Replace(web, "://", "://me:"+c.plain()+"@", 1)+"/mcp", nil)
	reached("headers", web+"/mcp", map[string]any{"Authorization": "Bearer " + c.plain(), "X-Own": c.plain()})
	reached("basic", web+"/mcp", map[string]any{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+c.plain()))})
	return entries
}

// wantNone searches for the canaries in plain and encoded form.
func (c *canaryCage) wantNone(t *testing.T, where, said string) {
	t.Helper()
	shown := 0
	for _, one := range c.all {
		quoted, _ := json.Marshal(one)
		forms := append(repeated([]string{one}), strings.Trim(string(quoted), `"`), strings.ToUpper(one), strings.TrimSuffix(one, `+/"=é`),
			base64.RawStdEncoding.EncodeToString([]byte(one)), strings.ToUpper(hex.EncodeToString([]byte(one))))
		for _, form := range forms {
			if at := strings.Index(said, form); at >= 0 {
				if shown++; shown <= 3 {
					t.Errorf("%s shows %s: …%q…", where, one, said[max(0, at-120):min(len(said), at+40)])
				}
				break
			}
		}
	}
	if shown > 3 {
		t.Errorf("%s shows %d of %d canaries", where, shown, len(c.all))
	}
}

// No canary is shown by any command, in any file that is meant for others, in any answer to an agent or in any fault.
//
// Where one may be shown: in the clients' own files and their backups (0600); in a diff or a command that a person is
// asked to confirm, if it is what will be run; in the output of a server that gauze run forwards: its results, its
// stderr.
func TestNoCanaryIsShownAnywhere(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(tellAllOverHTTP))
	defer web.Close()
	c := &canaryCage{}
	entries := canaryEntries(c, web.URL)
	if len(c.all) < 60 || len(entries) < 20 {
		t.Fatalf("%d canaries in %d shapes", len(c.all), len(entries))
	}
	working, failing := map[string]any{}, map[string]any{}
	for name, entry := range entries {
		working[name] = entry
		if entry["command"] != nil && !strings.HasPrefix(name, "bent") {
			broken := map[string]any{"command": entry["command"], "args": entry["args"], "env": map[string]any{"TELLALL": "fail"}}
			if env, ok := entry["env"].(map[string]any); ok {
				for name, value := range env {
					broken["env"].(map[string]any)[name] = value
				}
			}
			failing[name] = broken
		}
	}
	p := newPerson(t, map[string]string{".cursor/mcp.json": indented(t, "mcpServers", working), ".config/Code/User/mcp.json": indented(t, "servers", failing)})
	p.environ = append(p.environ, c.environ...)
	// A server whose key is in the .env of its own directory, and that exits without it.
	p.write("dotted/.env", "DOTTED_API_KEY="+c.plain()+"\n")
	p.write("dotted/start.sh", "[ -n \"$DOTTED_API_KEY\" ] || { echo 'Error: DOTTED_API_KEY environment variable is required' >&2; exit 1; }\nexec tellall\n")
	p.write(".codex/config.toml", "[mcp_servers.dotted]\ncommand = \"sh\"\nargs = [\""+filepath.Join(p.home, "dotted/start.sh")+"\"]\ncwd = \""+filepath.Join(p.home, "dotted")+"\"\n")
	if said, _ := p.gauze("doctor", "--heal", "codex/dotted"); !strings.Contains(said, ".env") {
		t.Errorf("the .env is not found:\n%s", said)
	}

	one := entries["gluedp"]["args"].([]string)
	for _, args := range [][]string{
		{"list"}, {"list", "--json"},
		{"doctor", "--static"}, {"doctor", "--static", "--json"}, {"doctor"}, {"doctor", "--json"}, {"doctor", "--heal", "vscode/gluedp", "vscode/hook", "cursor/path", "codex/dotted"}, {"doctor", "--heal", "--json", "codex/dotted"},
		{"lock"}, {"verify", "--client", "cursor"}, {"verify", "--json", "--client", "vscode"},
		append([]string{"test", "--"}, append([]string{"tellall"}, one...)...), append([]string{"test", "--json", "--"}, append([]string{"tellall"}, one...)...),
		{"test", "vscode/gluedp"}, {"test", "--json", "vscode/gluedp"}, {"test", "cursor/path"}, {"test", "--heal", "codex/dotted"}, {"test", "--json", "--heal", "codex/dotted"}, {"test", "vscode/hook"},
		{"test", "--url", entries["path"]["url"].(string)}, {"test", "--json", "--url", entries["query"]["url"].(string)},
		{"test", "--json", "--header", "X-Own: " + entries["headers"]["headers"].(map[string]any)["X-Own"].(string), "--url", web.URL + "/mcp"},
		{"doctor", "--json", "tellall " + strings.Join(one, " ")}, {"doctor", "tellall " + strings.Join(one, " ")},
		{"undo", "--list"},
		append([]string{"run", "--"}, append([]string{"tellall"}, one...)...), {"history"}, {"history", "--json"},
	} {
		said, _ := p.gauze(args...)
		if args[0] == "run" {
			continue // the server's own stderr passes
		}
		c.wantNone(t, "gauze "+args[0]+" "+strings.Join(args[1:min(len(args), 3)], " "), said)
	}
	for _, suffix := range []string{"", "-wal"} {
		recorded, err := os.ReadFile(filepath.Join(p.state, "journal.db"+suffix))
		if suffix == "" && err != nil {
			t.Fatal(err)
		}
		c.wantNone(t, "the journal"+suffix, string(recorded))
	}
	lock, err := os.ReadFile(filepath.Join(p.project, "gauze.lock.json"))
	if err != nil || !strings.Contains(string(lock), `"gluedp"`) || !strings.Contains(string(lock), "plain") {
		t.Errorf("the lock does not have the servers: %v %.500s", err, lock)
	}
	c.wantNone(t, "the lock", string(lock))
	err = filepath.WalkDir(p.state, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == "entry.json" {
			kept, err := os.ReadFile(path)
			c.wantNone(t, "the listing of a backup", string(kept))
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	agentHears(t, p, c)
	clientHears(t, p, c, failing)
}

// agentHears calls every tool of gauze mcp that reads servers.
func agentHears(t *testing.T, p *person, c *canaryCage) {
	t.Helper()
	cmd := gauzeCommand(p, "mcp")
	session := connect(t, cmd, "2025-06-18", &mcp.ClientOptions{})
	for _, call := range []struct {
		tool      string
		arguments object
	}{
		{"list_servers", object{}}, {"check_health", object{}}, {"check_health", object{"auto_heal": true, "servers": []string{"vscode/gluedp", "vscode/hook", "vscode/shell", "codex/dotted"}}},
		{"verify", object{}}, {"undo", object{"list": true}},
		{"test_connection", object{"server": "cursor/gluedp"}}, {"test_connection", object{"server": "vscode/gluedp"}}, {"test_connection", object{"server": "cursor/webpath"}},
		{"test_connection", object{"server": "vscode/user"}}, {"test_connection", object{"server": "vscode/harmless"}}, {"test_connection", object{"server": "nobody"}},
	} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: call.tool, Arguments: call.arguments})
		if err != nil {
			t.Fatal(err)
		}
		said, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		if len(said) < 40 {
			t.Errorf("%s says nothing: %s", call.tool, said)
		}
		c.wantNone(t, "the tool "+call.tool, string(said))
	}
}

// clientHears wraps servers that fail in gauze run, and reads what their client receives.
func clientHears(t *testing.T, p *person, c *canaryCage, failing map[string]any) {
	t.Helper()
	for _, name := range []string{"gluedp", "flag-p", "user", "hook", "segment", "shell", "harmless", "named", "json"} {
		entry := failing[name].(map[string]any)
		var argv []string
		switch args := entry["args"].(type) {
		case []string:
			argv = args
		case []any:
			for _, arg := range args {
				argv = append(argv, arg.(string))
			}
		}
		environ := slices.Clone(p.environ)
		for name, value := range entry["env"].(map[string]any) {
			environ = append(environ, name+"="+value.(string))
		}
		w := startRun(t, environ, slices.Concat([]string{"--patience", "200ms", "--", entry["command"].(string)}, argv)...)
		fmt.Fprintln(w.in, hello)
		first, _ := w.out.ReadString('\n')
		fmt.Fprintln(w.in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","arguments":{}}}`)
		second, _ := w.out.ReadString('\n')
		if !strings.Contains(first+second, fault.MetaKey) && !strings.Contains(first, `"source":"gauze"`) {
			t.Errorf("%s: no fault: %s%s", name, first, second)
		}
		w.in.Close()
		w.cmd.Wait()
		c.wantNone(t, "a fault of "+name, first+second)
		if program := fmt.Sprintf(`"server":%q`, entry["command"]); !strings.Contains(first, program) || !strings.Contains(second, program) {
			t.Errorf("%s: the server is not %s: %s%s", name, program, first, second)
		}
		for line := range strings.Lines(w.stderr.String()) {
			if strings.HasPrefix(line, "gauze: ") {
				c.wantNone(t, "what gauze run says of "+name, line)
			}
		}
	}
}
