package clientconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/splice"
)

// synonyms are the names of each field in different clients, and common mistakes.
var synonyms = []struct {
	of    func(Fields) string
	names []string
}{
	{func(f Fields) string { return f.Command }, []string{"command", "cmd", "executable", "program", "exec"}},
	{func(f Fields) string { return f.Args }, []string{"args", "arguments", "argv", "commandArgs", "params"}},
	{func(f Fields) string { return f.Env }, []string{"env", "envs", "environment", "envVars", "env_variables", "environmentVariables", "variables"}},
	{func(f Fields) string { return f.URL }, []string{"url", "uri", "serverUrl", "server_url", "httpUrl", "baseUrl", "endpoint", "address"}},
	{func(f Fields) string { return f.Headers }, []string{"headers", "http_headers", "httpHeaders", "requestHeaders", "header"}},
	{func(f Fields) string { return f.Cwd }, []string{"cwd", "working_directory", "workingDirectory", "working_dir", "workingDir", "workdir", "directory"}},
	{func(f Fields) string { return f.Type }, []string{"type", "transport", "transportType", "transport_type", "protocol"}},
}

// switches are the fields that disable a server, and the value that does.
var switches = map[string]bool{"disabled": true, "disable": true, "enabled": false, "enable": false, "isActive": false, "active": false}

// names checks fields that the client does not read.
func (l entryLinter) names() {
	known := l.e.fields.known()
	for name, n := range l.e.outer.Members() {
		if !slices.Contains(known, name) && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "//") && !strings.HasPrefix(name, "$") {
			l.unknownField(name, n, l.e.Path, known)
		}
		l.outdated(name, n)
	}
	if l.nested() {
		for name, n := range l.e.node.Members() {
			if !slices.Contains(known, name) {
				l.unknownField(name, n, l.at(), known)
			}
		}
	}
}

// unknownField checks one such field.
func (l entryLinter) unknownField(name string, n splice.Node, in []any, known []string) {
	f := l.e.fields
	if l.Client.ID == "codex" && name == "bearer_token" {
		l.report("inline-bearer-token", n, "the file contains the token itself", `store the token in an environment variable and specify its name: bearer_token_env_var = "NAME"`)
		return
	}
	if off, is := switches[name]; is {
		l.foreignSwitch(name, n, off)
		return
	}
	if right, ok := f.synonym(name); ok {
		l.synonym(name, right, n, in)
		return
	}
	near := nearest(name, known)
	switch {
	case near != "" && !has(l.e.outer, near) && !has(l.e.node, near):
		l.report("unknown-field", n, fmt.Sprintf("%s does not recognize the field %s; did you mean %q?", l.Client.Name, quoted(name), near), "rename the field", rename(near, in, name))
	case near != "" || f.Exact:
		l.report("unknown-field", n, fmt.Sprintf("%s does not recognize the field %s", l.Client.Name, quoted(name)), "remove the field, or check its spelling")
	}
}

// synonym returns the client's own name for a field that others call name, or "" if the client has
// no such field.
func (f Fields) synonym(name string) (string, bool) {
	for _, s := range synonyms {
		if slices.Contains(s.names, name) {
			return s.of(f), true
		}
	}
	return "", false
}

func (l entryLinter) synonym(name, right string, n splice.Node, in []any) {
	f := l.e.fields
	switch {
	case right == f.Headers && right != "" && f.NoRemote:
		return // the URL is the problem
	case right == "" && (name == "type" || name == "transport" || name == "protocol"):
		return // harmless: the command or URL determines the transport
	case right == "" && f.Argv:
		return // reported with the command, which should be a list
	case right == "":
		l.report("unknown-field", n, fmt.Sprintf("%s does not support the field %s", l.Client.Name, quoted(name)), "remove the field")
		return
	case has(l.e.node, right):
		l.report("unknown-field", n, fmt.Sprintf("%s ignores the field %s; the entry also has %q", l.Client.Name, quoted(name), right), "keep one of the two fields")
		return
	}
	if !l.canTake(right, n) {
		l.report("unknown-field", n, fmt.Sprintf("%s ignores the field %s", l.Client.Name, quoted(name)), "no change is needed if the field is only a note").Fix = nil
		return
	}
	var fix Edit
	switch {
	case strings.Contains(right, "/"):
		fix = Edit{set(n.Value(), in, steps(right)...), remove(in, name)}
	case right == f.Type && n.Kind() != splice.StringKind, right == f.Command && n.Kind() == splice.MapKind:
	default:
		fix = Edit{rename(right, in, name)}
	}
	p := l.report("field-name", n, fmt.Sprintf("%s is called %s in %s", quoted(name), quoted(strings.ReplaceAll(right, "/", " > ")), l.Client.Name), "rename the field", fix...)
	p.needsReview() // it changes what is run or reached
	if f.RejectsFile && (right == f.Command || right == f.URL) {
		p.Why += rejectsFile
	}
}

// canTake reports whether the entry has no such field yet and the value would fit there. An extra
// field in an entry that works is a note.
func (l entryLinter) canTake(right string, n splice.Node) bool {
	f := l.e.fields
	startable := l.e.Spec.Command != "" || l.e.Spec.URL != ""
	switch right {
	case f.Command, f.URL:
		return !startable
	case f.Args:
		return n.Kind() == splice.ListKind || n.Kind() == splice.StringKind && !startable
	case f.Env, f.Headers:
		return n.Kind() == splice.MapKind || n.Kind() == splice.ListKind
	case f.Type:
		word, ok := text(n)
		return ok && transportWord(word)
	}
	return true
}

// transportWord reports whether any client uses this word for a transport.
func transportWord(word string) bool {
	switch strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(word)) {
	case "stdio", "http", "sse", "streamablehttp", "httpstream", "streaming", "local", "remote", "ws", "websocket", "command":
		return true
	}
	return false
}

// renamed reports whether a field is present under another client's name.
func (l entryLinter) renamed(right string) bool {
	for name := range l.e.node.Members() {
		if r, ok := l.e.fields.synonym(name); ok && r == right && name != right && right != "" {
			return true
		}
	}
	return false
}

// foreignSwitch reports a field of another client that would disable the server.
func (l entryLinter) foreignSwitch(name string, n splice.Node, off bool) {
	f := l.e.fields
	value, is := boolean(n)
	if !is || value != off {
		return // it enables the server, which is the default
	}
	var fix Edit
	switch {
	case has(l.e.outer, f.Disabled) && f.Disabled != "", has(l.e.outer, f.Enabled) && f.Enabled != "":
	case f.Enabled != "":
		fix = Edit{rename(f.Enabled, l.e.Path, name), set(false, l.e.Path, f.Enabled)}
	case f.Disabled != "":
		fix = Edit{rename(f.Disabled, l.e.Path, name), set(true, l.e.Path, f.Disabled)}
	}
	next := "disable the server in the app, or remove the entry"
	if fix != nil {
		next = "use the client's own name for the field"
	}
	l.report("switch-unknown", n, fmt.Sprintf("%s does not recognize the field %s, so the server stays enabled", l.Client.Name, quoted(name)), next, fix...)
}

// outdated reports fields that the client still reads but no longer recommends.
func (l entryLinter) outdated(name string, n splice.Node) {
	f := l.e.fields
	switch {
	case name == "httpUrl" && slices.Contains(f.OtherURLs, name) && !has(l.e.outer, f.URL):
		fix := Edit{rename(f.URL, l.e.Path, name)}
		if !has(l.e.outer, f.Type) {
			fix = append(fix, set(f.HTTP[0], l.e.Path, f.Type))
		}
		l.report("old-field", n, fmt.Sprintf("%q is the old form of %q combined with %q: %q", name, f.URL, f.Type, f.HTTP[0]), "use the new form", fix...)
	case name == "transportType" && slices.Contains(f.Also, name) && !l.nested() && !has(l.e.outer, f.Type):
		l.report("old-field", n, fmt.Sprintf("%q is the old name of %q", name, f.Type), "rename the field", rename(f.Type, l.e.Path, name))
	case name == "source" && l.Client.ID == "zed" && (has(l.e.outer, f.Command) || has(l.e.outer, f.URL)):
		l.report("needless-field", n, `the entry has a "source" field`, "remove the field", remove(l.e.Path, name))
	}
}

// nearest returns the known name that differs by a typing mistake.
func nearest(name string, known []string) string {
	const maxNameLen = 40
	if len(name) > maxNameLen || len(name) < 3 {
		return ""
	}
	best, least := "", 3
	folded := foldName(name)
	for _, k := range known {
		d := distance(folded, foldName(k))
		if d < least && d <= max(1, len(k)/4) {
			best, least = k, d
		}
	}
	return best
}

func foldName(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// distance returns the edit distance of two strings, counting a swap of neighbors as one edit.
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	var earlier []int
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		earlier, before, row = before, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(before[j+1]+1, row[j]+1, before[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], earlier[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
