package upfile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFilter(t *testing.T) {
	for _, test := range []struct {
		filter   Filter
		yes, not []string
	}{
		{Filter{}, []string{"x", "", "a/b"}, nil},
		{Filter{Allow: []string{"get_*", "create_issue"}}, []string{"get_", "get_a/b", "create_issue"}, []string{"create_issues", "xget_", "Get_x"}},
		{Filter{Deny: []string{"*delete*"}}, []string{"get"}, []string{"delete", "a/delete/b", "undelete"}},
		{Filter{Allow: []string{"*"}, Deny: []string{"a?"}}, []string{"a", "abc"}, []string{"ab", "a/"}},
	} {
		for _, tool := range test.yes {
			if !test.filter.Admits(tool) {
				t.Errorf("%+v does not admit %q", test.filter, tool)
			}
		}
		for _, tool := range test.not {
			if test.filter.Admits(tool) {
				t.Errorf("%+v admits %q", test.filter, tool)
			}
		}
	}
}

func TestProfileAdmits(t *testing.T) {
	p := Profile{Servers: []string{"github", "files"}, Tools: Filter{Allow: []string{"get_*", "files__*"}, Deny: []string{"github__get_secret"}}}
	for tool, want := range map[[2]string]bool{
		{"github", "get_issue"}: true, {"github", "create"}: false, {"github", "get_secret"}: false,
		{"files", "write"}: true, {"files", "get_secret"}: true, {"other", "get_x"}: false,
	} {
		if p.Admits(tool[0], tool[1]) != want {
			t.Errorf("%v: %v", tool, !want)
		}
	}
}

// A server has the directory and the environment of its session, not those of gauze up.
func TestAt(t *testing.T) {
	p := newPerson(t, "WHO=up")
	p.write(".cursor/mcp.json", `{"mcpServers": {
		"entry": {"command": "entry", "args": ["${workspaceFolder}"], "env": {"X": "${env:WHO}"}},
		"wrapped": {"command": "gauze", "args": ["run", "--", "inner", "${env:WHO}"]}}}`)
	p.write("up.yaml", `
include: [cursor]
servers:
  given: {command: [given], env: {X: "${WHO}"}}
  fixed: {command: [fixed], cwd: sub}
  remote: {url: "https://example.com/mcp", headers: {Authorization: "Bearer ${WHO}"}}
`)
	f := p.mustRead("up.yaml")
	session := filepath.Join(p.dir, "work")
	environ := []string{"WHO=session", "GAUZE_X=y", "ONLY=here"}
	describe := func(key string) string {
		spec, err := f.Server(key).At(session, environ)
		if err != nil {
			t.Fatal(err)
		}
		return p.shown(fmt.Sprint(spec.Command, spec.Args, " ", spec.Dir, " ", spec.Env, spec.URL, spec.Header, spec.Others))
	}
	for key, want := range map[string]string{
		"given":   "given[] HOME/work [WHO=session ONLY=here X=session][] [X=session]",
		"fixed":   "fixed[] HOME/sub [WHO=session ONLY=here][] []",
		"entry":   "entry[HOME/work] HOME/work [WHO=session ONLY=here X=session][] [X=session]",
		"wrapped": "inner[session] HOME/work [WHO=session ONLY=here][] []",
		"remote":  "[]  []https://example.com/mcp[{Authorization Bearer session the file of gauze up}] []",
	} {
		if got := describe(key); got != want {
			t.Errorf("%s: got  %s\nwant %s", key, got, want)
		}
	}
	for _, key := range []string{"given", "remote"} {
		if _, err := f.Server(key).At(session, nil); err == nil || !strings.Contains(err.Error(), key+" cannot be started: ") || !strings.Contains(err.Error(), "WHO is not set") {
			t.Errorf("%s: %v", key, err)
		}
		if s := f.Server(key); len(s.Unset) > 0 || strings.Contains(fmt.Sprint(s.Spec.Env, s.Spec.Header), "session") {
			t.Errorf("%+v", s)
		}
	}
}

// An entry waits until the user has confirmed exactly these bytes, and again after each change.
func TestConfirmedUntilItChanges(t *testing.T) {
	p := newPerson(t)
	p.write("project/.git/HEAD", "")
	entries := func(command string) {
		p.write("project/.mcp.json", `{"mcpServers": {"theirs": {"command": "`+command+`"}}}`)
	}
	up := func(command, policies string) {
		p.write("project/up.yaml", "include: [./.mcp.json]\nservers:\n  here: {command: ["+command+"], policies: {t: "+policies+"}}\n")
	}
	pending := func() (keys []string) {
		for _, s := range p.mustRead("project/up.yaml").Servers {
			if s.Pending != "" {
				keys = append(keys, s.Key)
			}
		}
		return keys
	}
	expect := func(when string, want ...string) {
		t.Helper()
		if got := pending(); !slices.Equal(got, want) {
			t.Errorf("%s: %v wait, want %v", when, got, want)
		}
	}
	confirm := func(key string) {
		t.Helper()
		s := p.mustRead("project/up.yaml").Server(key)
		if whole, err := s.Whole(); err != nil || !strings.HasPrefix(whole, s.Shown()) {
			t.Errorf("%s: %q, %v", key, whole, err)
		}
		s.Confirm()
	}
	entries("a")
	up("x", "{timeout: 5s}")
	expect("at first", "theirs", "here")
	confirm("theirs")
	expect("one confirmed", "here")
	confirm("here")
	expect("both confirmed")
	entries("b")
	expect("the entry changed", "theirs")
	up("y", "{timeout: 5s}")
	expect("the file changed", "theirs", "here")
	up("x", "{replay: idempotent}")
	expect("a policy changed", "theirs", "here")
	entries("a")
	up("x", "{timeout: 5s}")
	expect("as it was")
	before := p.mustRead("project/up.yaml").Server("here").Consent()
	up("x", "{timeout: 6s}")
	if p.mustRead("project/up.yaml").Server("here").Consent() == before {
		t.Error("different servers have the same consent")
	}
}

// What keeps tools of a project's server from being called is part of what the user has seen.
func TestConfirmedWithItsLimits(t *testing.T) {
	p := newPerson(t)
	p.write("project/.git/HEAD", "")
	p.write("project/.mcp.json", `{"mcpServers": {"theirs": {"command": "theirs"}}}`)
	const limits = ", tools: {allow: [\"get_*\"], deny: [get_x]}, lock: block"
	for key, entry := range map[string]string{"here": "command: [here]", "theirs": "from: ./.mcp.json#theirs"} {
		read := func(limits string) *Server {
			p.write("project/up.yaml", "servers:\n  "+key+": {"+entry+limits+"}\n")
			return p.mustRead("project/up.yaml").Server(key)
		}
		s := read(limits)
		whole, err := s.Whole()
		if want := "\n  with the field tools.allow: [\"get_*\"]\n  with the field tools.deny: [\"get_x\"]\n  with the field lock: block"; err != nil || !strings.Contains(whole, want) {
			t.Errorf("%s: %v\n%s", key, err, whole)
		}
		s.Confirm()
		if s := read(limits); s.Pending != "" {
			t.Errorf("%s, confirmed: %s", key, s.Pending)
		}
		for _, other := range []string{"", ", lock: block", ", tools: {allow: [\"get_*\"], deny: [get_x]}", ", tools: {allow: [\"*\"], deny: [get_x]}, lock: block", ", tools: {allow: [\"get_*\"]}, lock: block",
			", tools: {allow: [\"get_*\"], deny: [get_x]}, lock: warn"} {
			if s := read(other); s.Pending == "" {
				t.Errorf("%s with %q is not asked about again", key, other)
			}
		}
	}
}

// The program or URL that a variable makes of a project's entry is confirmed as well, and a client with another one does
// not start it.
func TestConfirmedAsItResolves(t *testing.T) {
	for name, c := range map[string]struct{ entry, shown string }{
		"program": {`{"command": "${TOOL}", "args": ["--key", "${KEY}"]}`, "currently resolves to one in"},
		"address": {`{"url": "https://${TOOL}.example.com/mcp"}`, "currently resolves to https://one.example.com/mcp"},
		"default": {`{"command": "${TOOL:-two}"}`, "currently resolves to one in"},
	} {
		p := newPerson(t, "TOOL=one")
		p.write("project/.git/HEAD", "")
		p.write("project/.mcp.json", `{"mcpServers": {"theirs": `+c.entry+`}}`)
		p.write("project/up.yaml", "include: [./.mcp.json]\n")
		s := p.mustRead("project/up.yaml").Server("theirs")
		if whole, err := s.Whole(); err != nil || !strings.Contains(whole, c.shown) {
			t.Errorf("%s: %v\n%s", name, err, whole)
		}
		s.Confirm()
		if s = p.mustRead("project/up.yaml").Server("theirs"); s.Pending != "" {
			t.Errorf("%s: %s", name, s.Pending)
		}
		if _, err := s.At(p.dir, []string{"TOOL=one", "KEY=any"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, environ := range [][]string{{"TOOL=three"}, nil} {
			if spec, err := s.At(p.dir, environ); err == nil || spec.Command+spec.URL != "" && !strings.Contains(err.Error(), "not set") {
				t.Errorf("%s with %v: %+v, %v", name, environ, spec, err)
			}
		}
		p.fleet.Home.Environ = []string{"TOOL=three"}
		if p.mustRead("project/up.yaml").Server("theirs").Pending == "" {
			t.Errorf("%s: another one is not asked about", name)
		}
	}
}

// What a variable makes of a project's entry for one client was not confirmed if gauze up does not have the variable.
func TestAVariableThatGauzeUpDoesNotHave(t *testing.T) {
	for path, c := range map[string]struct{ client, text string }{
		".vscode/mcp.json":      {"vscode", `{"servers": {"theirs": {"command": "${env:TOOL}", "args": ["x"]}}}`},
		".gemini/settings.json": {"gemini-cli", `{"mcpServers": {"theirs": {"httpUrl": "$TOOL"}}}`},
		".cursor/mcp.json":      {"cursor", `{"mcpServers": {"theirs": {"command": "${env:TOOL}"}}}`},
		"opencode.json":         {"opencode", `{"mcp": {"theirs": {"type": "local", "command": ["{env:TOOL}", "x"]}}}`},
	} {
		p := newPerson(t)
		p.write("project/.git/HEAD", "")
		p.write("project/"+path, c.text)
		p.write("project/up.yaml", "include: ["+c.client+"]\n")
		p.mustRead("project/up.yaml").Server("theirs").Confirm()
		s := p.mustRead("project/up.yaml").Server("theirs")
		if spec, err := s.At(p.dir, []string{"TOOL=https://evil.example.com"}); err == nil {
			t.Errorf("%s: starts %s%s, which was not confirmed", path, spec.Command, spec.URL)
		}
	}
}

func TestDiff(t *testing.T) {
	p := newPerson(t, "KEY=1")
	p.write(".cursor/mcp.json", `{"mcpServers": {"live": {"command": "a"}, "still": {"command": "s"}}}`)
	p.write("up.yaml", `
include: [cursor]
servers:
  same: {command: [same], env: {K: "${KEY}"}, policies: {t: {timeout: 5s, correct: {enabled: false}}}}
  args: {command: [x, a]}
  policy: {command: [x], policies: {t: {timeout: 5s}}}
  tools: {command: [x], tools: {deny: [a]}}
  idle: {command: [x]}
  gone: {command: [x]}
profiles:
  p: {servers: [same]}
`)
	old := p.mustRead("up.yaml")
	if got, want := fmt.Sprintf("%+v", Diff(old, p.mustRead("up.yaml"))), "{Unchanged:[live still same args policy tools idle gone] Filtered:[] Changed:[] Added:[] Removed:[] Profiles:false}"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p.write(".cursor/mcp.json", `{"mcpServers": {"live": {"command": "b"}, "still": {"command": "s"}}}`)
	p.write("up.yaml", `
servers:
  new: {command: [x]}
  idle: {command: [x], idle: 5m}
  same: {policies: {t: {correct: {enabled: false}, timeout: 5s}}, env: {K: "${KEY}"}, command: [same]}
  args: {command: [x, b]}
  policy: {command: [x], policies: {t: {timeout: 6s}}}
  tools: {command: [x], tools: {deny: [b]}}
include: [cursor]
profiles:
  p: {servers: [same, new]}
`)
	now := p.mustRead("up.yaml")
	if got, want := fmt.Sprintf("%+v", Diff(old, now)), "{Unchanged:[same still] Filtered:[tools] Changed:[idle args policy live] Added:[new] Removed:[gone] Profiles:true}"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c := Diff(nil, now); len(c.Added) != len(now.Servers) || !c.Profiles {
		t.Errorf("%+v", c)
	}
}

// What a file depends on can be watched, also before it exists.
func TestWatch(t *testing.T) {
	p := newPerson(t)
	p.write("other.json", `{"mcpServers": {}}`)
	p.write("up.yaml", "include: [cursor, other.json]\n")
	watch := p.mustRead("up.yaml").Watch
	for _, name := range []string{"up.yaml", "other.json", ".cursor/mcp.json"} {
		if !slices.Contains(watch, filepath.Join(p.dir, filepath.FromSlash(name))) {
			t.Errorf("%s is not in %v", name, watch)
		}
	}
}

// What a file with an error depends on is watched, so that it is read again when an include is mended.
func TestWatchWithAnError(t *testing.T) {
	p := newPerson(t)
	path := p.write("up.yaml", "include: [./new.json]\nservers: {a: {}}\n")
	var told []string
	watch := Options{Fleet: p.fleet, Watch: func(path string) { told = append(told, path) }}
	if _, err := Read(path, watch); err == nil || !slices.Equal(told, []string{path, filepath.Join(p.dir, "new.json")}) {
		t.Errorf("%q, %v", told, err)
	}
	told = nil
	gone := filepath.Join(p.dir, "gone.yaml")
	if _, err := Read(gone, watch); err == nil || !slices.Equal(told, []string{gone}) {
		t.Errorf("%q, %v", told, err)
	}
}

// A confirmation changes something that is watched, whether it is the first ever or not.
func TestWatchConfirmations(t *testing.T) {
	p := newPerson(t)
	p.write("project/.git/HEAD", "")
	p.write("project/up.yaml", "servers:\n  one: {command: [one]}\n  two: {command: [two]}\n")
	for _, key := range []string{"one", "two"} {
		f := p.mustRead("project/up.yaml")
		for _, path := range f.Watch {
			os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)) // a clock may be coarse; some do not exist yet
		}
		before := p.stamps(f.Watch)
		f.Server(key).Confirm()
		if p.stamps(f.Watch) == before {
			t.Errorf("the confirmation of %s is not seen in %v", key, f.Watch)
		}
	}
	p.write("up.yaml", "servers:\n  mine: {command: [mine]}\n")
	if f := p.mustRead("up.yaml"); len(f.Watch) != 1 {
		t.Errorf("%v is watched for a file without anything to confirm", f.Watch)
	}
}
