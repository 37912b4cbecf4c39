package upfile

import (
	"strings"
	"testing"
)

// What is wrong with another file is reported with its line, and costs nothing but what comes from there.
func TestMissing(t *testing.T) {
	const own = "servers: {own: {command: [own]}}\n"
	for name, test := range map[string]struct{ file, want, servers string }{
		"left out":      {"include: [other.json]\nprofiles: {p: {servers: [off]}}\n", `2: profiles.p.servers[0]: the server "off" does not exist: other.json#off is left out, because the server is disabled; remove it here, or change the entry`, ""},
		"no such entry": {"include: [cursor/note]\n", `1: include[0]: cursor/note does not exist: no server named "note"; did you mean "notes"?`, "note: the entry does not exist, "},
		"no such file":  {"include: [./none.json]\n", "1: include[0]: cannot include ./none.json: the file does not exist", ""},
		"broken file":   {"include: [./broken.json]\n", "1: include[0]: cannot include ./broken.json: the file cannot be parsed", ""},
		"another file":  {"include: [./another.json]\n", "1: include[0]: cannot include ./another.json: the file has no mcpServers", ""},
		"one of a file": {"include: [./other.json#x, cursor]\n", "1: include[0]: ./other.json#x does not exist: no server named \"x\"; configured servers include off (to see all: gauze list)", "x: the entry does not exist, notes, "},
		"a client":      {"include: [cursor, vscode, claude-code/notes]\nprofiles: {p: {servers: [notes, from-vscode]}}\n", "1: include[1]: cannot include vscode: ~/VSCODE: the file cannot be parsed", "notes, "},
		"one of a client": {"include: [vscode/x]\n", "1: include[0]: cannot include vscode: ~/VSCODE: the file cannot be parsed",
			"x: ~/VSCODE: the file cannot be parsed, "},
		"a key for it": {"include: [cursor]\nprofiles: {p: {servers: [mine]}}\nservers: {mine: {from: claude-code/gone, idle: 5m}}\n",
			`3: servers.mine.from: claude-code/gone does not exist: no server named "gone"; configured servers include notes (to see all: gauze list)`, "notes, mine: the entry does not exist, "},
		"one key, missing last":  {"include: [cursor, ./other.json#notes]\n", "1: include[1]: ./other.json#notes does not exist: no server named \"notes\"; configured servers include off (to see all: gauze list)", "notes, "},
		"one key, missing first": {"include: [./other.json#notes, cursor]\n", "1: include[0]: ./other.json#notes does not exist: no server named \"notes\"; configured servers include off (to see all: gauze list)", "notes, "},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			p.write(".cursor/mcp.json", `{"mcpServers": {"notes": {"command": "x"}}}`)
			p.write(".claude.json", `{"mcpServers": {"notes": {"command": "x"}}}`)
			vscode := p.vscode()
			p.write(vscode, `{"servers": {`)
			p.write("other.json", `{"mcpServers": {"off": {"command": "x", "disabled": true}}}`)
			p.write("broken.json", `{"mcpServers": {`)
			p.write("another.json", `{"name": "x"}`)
			text := test.file
			if !strings.Contains(text, "servers: {mine") {
				text += own
				test.servers += "own, "
			}
			path := p.write("up.yaml", text)
			f := p.mustRead("up.yaml")
			checkProblems(t, f.Missing, path, text)
			plain := func(text string) string {
				return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(text, path+":", ""), `\`, "/"), vscode, "VSCODE")
			}
			if got := plain(f.Missing.Error()); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			var servers strings.Builder
			for _, s := range f.Servers {
				servers.WriteString(s.Key)
				if why := s.Unusable(); why != "" {
					servers.WriteString(": " + why)
					if !strings.HasPrefix(s.Pending, s.Source+": "+why+". To see what is wrong: gauze up --check ") {
						t.Error(s.Pending)
					}
				}
				servers.WriteString(", ")
			}
			if got := plain(servers.String()); got != test.servers {
				t.Errorf("it has %s\nwant %s", got, test.servers)
			}
		})
	}
}

// An error of the file itself has the others beside it.
func TestMissingBesideAnError(t *testing.T) {
	p := newPerson(t)
	path := p.write("up.yaml", "include: [./none.json]\nservers: {a: {idle: 5m}}\nprofiles: {p: {servers: [a, gone]}}\n")
	_, err := p.read("up.yaml")
	want := path + ":1: include[0]: cannot include ./none.json: the file does not exist\n" +
		path + `:2: servers.a: the server "a" must have either command or url`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// A client's file that is broken for a moment does not end servers that are in use.
func TestLoses(t *testing.T) {
	p := newPerson(t)
	up := func(text string) { p.write("up.yaml", text+"servers: {own: {command: [own]}}\n") }
	cursor := func(text string) { p.write(".cursor/mcp.json", text) }
	const notes = `{"mcpServers": {"notes": {"command": "x"}}}`
	cursor(notes)
	up("include: [cursor]\n")
	old := p.mustRead("up.yaml")
	expect := func(when string, want bool) *File {
		t.Helper()
		now := p.mustRead("up.yaml")
		if now.Loses(old) != want {
			t.Errorf("%s: %v, want %v", when, !want, want)
		}
		return now
	}
	expect("nothing changed", false)
	cursor(`{"mcpServers": {`)
	broken := expect("the client's file is broken", true)
	cursor(`{"mcpServers": {}}`)
	expect("the client has lost the entry", false)
	up("")
	expect("the include is gone", false)
	cursor(notes)
	up("include: [cursor, ./none.json]\n")
	expect("something else is missing", false)
	up("include: [cursor/notes]\n")
	cursor(`{"mcpServers": {}}`)
	expect("the entry has gone", true)
	if now := p.mustRead("up.yaml"); now.Loses(broken) {
		t.Error("what was missing before is lost")
	}
}
