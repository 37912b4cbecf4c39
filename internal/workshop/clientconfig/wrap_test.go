package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Every entry of every client's own file is wrapped, and given back byte for
// byte.
func TestWrapAndUnwrapGiveBackEveryByte(t *testing.T) {
	wrapped := 0
	for _, a := range archives(t, "testdata/clients/*.txtar") {
		client, _ := ByID(a.name())
		home := homeOf(a.Archive)
		var b strings.Builder
		for _, f := range home.Find(client) {
			before := home.Read(f)
			now := before
			for i := range before.Entries {
				e := now.At(before.Entries[i].Path)
				edit, err := now.Wrap(e, WrapOptions{Remote: true})
				var skipped Skipped
				if errors.As(err, &skipped) {
					fmt.Fprintf(&b, "skipped %s: %s\n", e.Name, skipped)
					continue
				}
				text, err := edit.Apply(now.Format(), now.Text)
				if err != nil {
					t.Fatal(err)
				}
				now = home.ReadText(f, text)
				wrapped++
				if _, err := now.Wrap(now.At(e.Path), WrapOptions{}); err == nil {
					t.Errorf("%s of %s is wrapped twice", e.Name, client.Name)
				}
			}
			b.WriteString("file " + shortPath(home, f.Path) + "\n" + string(now.Text))
			for i := range now.Entries {
				e := now.At(now.Entries[i].Path)
				original := before.At(e.Path)
				if e.Wrapped == original.Wrapped {
					continue
				}
				if e.Inner.Command != original.Spec.Command || fmt.Sprint(e.Inner.Args) != fmt.Sprint(original.Spec.Args) || e.Inner.URL != original.Spec.URL {
					t.Errorf("%s of %s: another server is wrapped", e.Name, client.Name)
				}
				edit, err := now.Unwrap(e)
				if err != nil {
					t.Fatalf("%s of %s: %v", e.Name, client.Name, err)
				}
				text, err := edit.Apply(now.Format(), now.Text)
				if err != nil {
					t.Fatal(err)
				}
				now = home.ReadText(f, text)
			}
			if !bytes.Equal(now.Text, before.Text) {
				t.Errorf("%s is another file after wrap and unwrap:\n%s", f.Path, now.Text)
			}
		}
		a.check(t, "wrapped", b.String())
	}
	if wrapped < 50 {
		t.Errorf("only %d entries could be wrapped", wrapped)
	}
}

// The ways people write the same entry.
func TestWrapKeepsTheStyle(t *testing.T) {
	for _, c := range []struct{ name, path, text, want string }{
		{"one line", "home/.cursor/mcp.json", `{"mcpServers":{"a":{"command":"npx","args":["-y","a"]}}}`, `{"mcpServers":{"a":{"command":"gauze","args":["run","--name=a","--","npx","-y","a"]}}}`},
		{"one line, roomy", "home/.cursor/mcp.json", `{ "mcpServers" : { "a" : { "command" : "npx" , "args" : [ "-y" , "a" ] } } }`, `{ "mcpServers" : { "a" : { "command" : "gauze" , "args" : [ "run", "--name=a", "--", "npx", "-y" , "a" ] } } }`},
		{"many lines", "home/.cursor/mcp.json", "{\n\"mcpServers\": {\"a\": {\n\t\"args\": [\n\t\t\"-y\",\n\t\t\"a\"\n\t],\n\t\"command\": \"npx\"\n}}}", "{\n\"mcpServers\": {\"a\": {\n\t\"args\": [\n\t\t\"run\",\n\t\t\"--name=a\",\n\t\t\"--\",\n\t\t\"npx\",\n\t\t\"-y\",\n\t\t\"a\"\n\t],\n\t\"command\": \"gauze\"\n}}}"},
		{"other line ends", "home/.cursor/mcp.json", "{\"mcpServers\": {\"a\": {\r\n  \"command\": \"x\",\r\n  \"args\": [\r\n    \"a\"\r\n  ]\r\n}}}\r\n", "{\"mcpServers\": {\"a\": {\r\n  \"command\": \"gauze\",\r\n  \"args\": [\r\n    \"run\",\r\n    \"--name=a\",\r\n    \"--\",\r\n    \"x\",\r\n    \"a\"\r\n  ]\r\n}}}\r\n"},
		{"a mark", "home/.cursor/mcp.json", "\ufeff{\"mcpServers\": {\"é\": {\"command\": \"x\", \"args\": [\"a\"]}}}", "\ufeff{\"mcpServers\": {\"é\": {\"command\": \"gauze\", \"args\": [\"run\", \"--name=é\", \"--\", \"x\", \"a\"]}}}"},
		{"no arguments", "home/.cursor/mcp.json", `{"mcpServers": {"a": {"command": "C:\\Program Files\\a.exe", "env": {}}}}`, `{"mcpServers": {"a": {"command": "gauze", "args": ["run", "--name=a", "C:\\Program Files\\a.exe"], "env": {}}}}`},
		{"no arguments, many lines", "home/.cursor/mcp.json", "{\"mcpServers\": {\"a\": {\n    \"command\": \"\\u0061\"\n}}}", "{\"mcpServers\": {\"a\": {\n    \"command\": \"gauze\",\n    \"args\": [\"run\", \"--name=a\", \"\\u0061\"]\n}}}"},
		{"an empty list", "home/.cursor/mcp.json", `{"mcpServers": {"a": {"command": "x", "args": [ ]}}}`, `{"mcpServers": {"a": {"command": "gauze", "args": ["run", "--name=a", "--", "x" ]}}}`},
		{"comments", "home/.config/Code/User/mcp.json", "{\"servers\": {\"a\": {\"command\": \"x\", // c\n\"args\": [ // d\n  \"a\", // e\n]}}}", "{\"servers\": {\"a\": {\"command\": \"gauze\", // c\n\"args\": [ // d\n  \"run\",\n  \"--name=a\",\n  \"--\",\n  \"x\",\n  \"a\", // e\n]}}}"},
		{"toml", "home/.codex/config.toml", "[mcp_servers.a]\ncommand = 'C:\\a.exe' # mine\n", "[mcp_servers.a]\ncommand = \"gauze\"\nargs = [\"run\", \"--name=a\", 'C:\\a.exe'] # mine\n"},
		{"toml inline", "home/.codex/config.toml", "[mcp_servers]\na = { command = \"x\" }\nb = { command = \"x\", args = [] }\n", "[mcp_servers]\na = { command = \"gauze\", args = [\"run\", \"--name=a\", \"x\"] }\nb = { command = \"gauze\", args = [\"run\", \"--name=b\", \"--\", \"x\"] }\n"},
		{"yaml", "home/.config/goose/config.yaml", "extensions:\n  a:\n    name: a\n    type: stdio\n    cmd: x\n    args:\n    - --b\n    - c # d\n", "extensions:\n  a:\n    name: a\n    type: stdio\n    cmd: \"gauze\"\n    args:\n    - \"run\"\n    - \"--name=a\"\n    - \"--\"\n    - x\n    - --b\n    - c # d\n"},
		{"yaml list", "home/.continue/config.yaml", "mcpServers:\n  - command: x\n    name: a\n", "mcpServers:\n  - command: \"gauze\"\n    args: [\"run\", \"--name=a\", x]\n    name: a\n"},
		{"remote", "home/.cursor/mcp.json", `{"mcpServers": {"a": {"url": "https://a.example/mcp", "headers": {"X-A": "${env:A}", "X-B": "b"}}}}`, `{"mcpServers": {"a": {"command": "gauze", "args": ["run", "--name=a", "--header-env", "X-A=GAUZE_HEADER_1", "--header-env", "X-B=GAUZE_HEADER_2", "--url", "https://a.example/mcp"], "env": {"GAUZE_HEADER_1": "${env:A}", "GAUZE_HEADER_2": "b"}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := homeOf(&txtar.Archive{Files: []txtar.File{{Name: c.path, Data: []byte(c.text)}}})
			f := home.Find()[0]
			before := home.Read(f)
			now := before
			for i := range now.Entries {
				edit, err := now.Wrap(&now.Entries[i], WrapOptions{Remote: true})
				if err != nil {
					t.Fatal(err)
				}
				text, err := edit.Apply(now.Format(), now.Text)
				if err != nil {
					t.Fatal(err)
				}
				now = home.ReadText(f, text)
			}
			if string(now.Text) != c.want {
				t.Errorf("wrapped:\n%s\nwant:\n%s", now.Text, c.want)
			}
			for i := range now.Entries {
				edit, err := now.Unwrap(&now.Entries[i])
				if err != nil {
					t.Fatal(err)
				}
				text, err := edit.Apply(now.Format(), now.Text)
				if err != nil {
					t.Fatal(err)
				}
				now = home.ReadText(f, text)
			}
			if string(now.Text) != c.text {
				t.Errorf("given back:\n%s\nwant:\n%s", now.Text, c.text)
			}
		})
	}
}

// A person may have written the wrap, with flags of their own.
func TestUnwrapWhatAPersonWrapped(t *testing.T) {
	for args, want := range map[string]string{
		`"run", "--timeout", "5m", "--", "npx", "-y", "a"`: `"-y", "a"`,
		`"run", "npx", "-y", "a", "--", "b"`:               `"-y", "a", "--", "b"`,
	} {
		home := homeOf(&txtar.Archive{Files: []txtar.File{{Name: "home/.cursor/mcp.json", Data: []byte(
			`{"mcpServers": {"a": {"command": "/opt/gauze", "args": [` + args + `]}}}`)}}})
		c := home.Read(home.Find()[0])
		e := &c.Entries[0]
		if !e.Wrapped || e.Inner.Command != "npx" {
			t.Fatalf("%s: inner is %+v", args, e.Inner)
		}
		edit, err := c.Unwrap(e)
		if err != nil {
			t.Fatal(err)
		}
		text, err := edit.Apply(c.Format(), c.Text)
		if want := `{"mcpServers": {"a": {"command": "npx", "args": [` + want + `]}}}`; err != nil || string(text) != want {
			t.Errorf("%s: %v %s", args, err, text)
		}
	}
}

// What an anchor, an alias or a merge key shares is not changed for one of
// those who share it.
func TestWrapLeavesSharedPartsAlone(t *testing.T) {
	const head = "extensions:\n"
	for _, c := range []struct{ name, text, entry string }{
		{"the arguments of another", "  a: {name: a, type: stdio, cmd: cat, args: &l [x]}\n  b: {name: b, type: stdio, cmd: cat, args: *l}\n", "b"},
		{"arguments that another has", "  a: {name: a, type: stdio, cmd: cat, args: &l [x]}\n  b: {name: b, type: stdio, cmd: cat, args: *l}\n", "a"},
		{"the command of another", "  a: {name: a, type: stdio, cmd: &c cat, args: [x]}\n  b: {name: b, type: stdio, cmd: *c, args: [y]}\n", "b"},
		{"a merge", "  a: &m {name: a, type: stdio, cmd: cat, args: [x]}\n  b:\n    <<: *m\n    name: b\n", "b"},
		{"what another merges", "  a: &m {name: a, type: stdio, cmd: cat, args: [x]}\n  b:\n    <<: *m\n    name: b\n", "a"},
		{"another entry altogether", "  a: &m\n    name: a\n    type: stdio\n    cmd: cat\n    args:\n      - x\n  b: *m\n", "b"},
		{"an entry that another is", "  a: &m\n    name: a\n    type: stdio\n    cmd: cat\n    args:\n      - x\n  b: *m\n", "a"},
		{"a part that is no entry", "  b:\n    <<: *m\n    name: b\n", "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := head + c.text
			if c.name == "a part that is no entry" {
				text = "base: &m {type: stdio, cmd: cat, args: [x]}\n" + text
			}
			home := homeOf(&txtar.Archive{Files: []txtar.File{{Name: "home/.config/goose/config.yaml", Data: []byte(text)}}})
			config := home.Read(home.Find()[0])
			e := config.At([]any{"extensions", c.entry})
			if e == nil {
				t.Fatal("no such entry")
			}
			edit, err := config.Wrap(e, WrapOptions{})
			var why Skipped
			if !errors.As(err, &why) || why != sharesAlias {
				changed, _ := edit.Apply(config.Format(), config.Text)
				t.Errorf("%v\n%s", err, changed)
			}
		})
	}
}

// Nor is it when a wrap is taken out.
func TestUnwrapLeavesSharedPartsAlone(t *testing.T) {
	home := homeOf(&txtar.Archive{Files: []txtar.File{{Name: "home/.config/goose/config.yaml", Data: []byte(
		"extensions:\n  a: &m {name: a, type: stdio, cmd: gauze, args: [run, --, cat, x]}\n  b:\n    <<: *m\n    name: b\n  c: {name: c, type: stdio, cmd: gauze, args: &l [run, --quiet, --, cat, x]}\n  d: {name: d, type: stdio, cmd: gauze, args: *l}\n")}}})
	c := home.Read(home.Find()[0])
	for i := range c.Entries {
		e := &c.Entries[i]
		edit, err := c.Unwrap(e)
		if err != nil {
			continue
		}
		text, err := edit.Apply(c.Format(), c.Text)
		if err != nil {
			continue
		}
		if !c.sameBeside(home.ReadText(c.File, text), e.Path) {
			t.Errorf("%s takes others with it:\n%s", e.Name, text)
		}
	}
}

// A flag that decides what is started is not dropped.
func TestWhatAPersonSaidToTheWrapIsNotLost(t *testing.T) {
	cursor, _ := ByID("cursor")
	h := Home{OS: "linux", Home: "/home/me"}
	at := slices.IndexFunc(h.Places(cursor), func(f File) bool { return f.Place.Scope == User })
	for args, kept := range map[string]bool{`"run", "--cwd", "/srv/app", "--", "node", "server.js"`: true, `"run", "--timeout", "5m", "--", "node", "server.js"`: false} {
		c := h.ReadText(h.Places(cursor)[at], []byte(`{"mcpServers": {"a": {"command": "gauze", "args": [`+args+`]}}}`))
		edit, err := c.Unwrap(&c.Entries[0])
		if (err != nil) != kept || kept && !strings.Contains(err.Error(), "--cwd") || !kept && edit == nil {
			t.Errorf("%s: %v %v", args, edit, err)
		}
	}
}

// Entries that gauze wrapped before it wrote their names into them are unwrapped in the same way.
func TestWrappedEntriesWithoutANameAreUnwrapped(t *testing.T) {
	for wrapped, original := range map[string]string{
		`{"mcpServers": {"a": {"command": "gauze", "args": ["run", "--", "npx", "-y"]}}}`:              `{"mcpServers": {"a": {"command": "npx", "args": ["-y"]}}}`,
		`{"mcpServers": {"a": {"command": "gauze", "args": ["run", "npx"]}}}`:                          `{"mcpServers": {"a": {"command": "npx"}}}`,
		`{"mcpServers": {"a": {"command": "gauze", "args": ["run", "--", "npx" ]}}}`:                   `{"mcpServers": {"a": {"command": "npx", "args": [ ]}}}`,
		`{"mcpServers": {"a": {"command": "gauze", "args": ["run", "--url", "https://a.example/m"]}}}`: `{"mcpServers": {"a": {"url": "https://a.example/m"}}}`,
	} {
		home := homeOf(&txtar.Archive{Files: []txtar.File{{Name: "home/.cursor/mcp.json", Data: []byte(wrapped)}}})
		c := home.Read(home.Find()[0])
		edit, err := c.Unwrap(&c.Entries[0])
		if err != nil {
			t.Fatal(wrapped, err)
		}
		if text, err := edit.Apply(c.Format(), c.Text); err != nil || string(text) != original {
			t.Errorf("%s became %s, want %s (%v)", wrapped, text, original, err)
		}
	}
}

// A client expands references in arguments: a name that looks like one stays out of them.
func TestANameThatAClientCouldExpandIsNotWritten(t *testing.T) {
	for _, name := range []string{"${HOME}", "%PATH%", "{env:A}", "$A", "a\tb"} {
		home := homeOf(&txtar.Archive{Files: []txtar.File{{Name: "home/.cursor/mcp.json", Data: []byte(`{"mcpServers": {` + quote(name) + `: {"command": "x", "args": ["a"]}}}`)}}})
		c := home.Read(home.Find()[0])
		edit, err := c.Wrap(&c.Entries[0], WrapOptions{})
		if err != nil {
			t.Fatal(name, err)
		}
		if text, _ := edit.Apply(c.Format(), c.Text); !strings.Contains(string(text), `["run", "--", "x", "a"]`) {
			t.Errorf("%s", text)
		}
	}
}

// A name that a client or a shell could read as more than a name is left out.
func TestOnlyPlainNamesAreWritten(t *testing.T) {
	for name, written := range map[string]bool{"notes": true, "@team/notes-2.0": true, "nötes": true, "R&D": false, "My Notes": false, "${HOME}": false, "%PATH%": false, "a`b": false, "": false} {
		if got := len((&Entry{Name: name}).named()) > 0; got != written {
			t.Errorf("%q: %v", name, got)
		}
	}
}
