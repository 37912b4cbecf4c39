package clientconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
)

// names checks fields that the client does not read, or no longer recommends.
func (l entryLinter) names() {
	known := l.fields.known()
	for name, n := range l.outer.Members() {
		isNote := strings.HasPrefix(name, "_") || strings.HasPrefix(name, "//") || strings.HasPrefix(name, "$")
		if !slices.Contains(known, name) && !isNote {
			l.unknownField(name, n, l.e.Path, known)
		}
		l.outdated(name, n)
	}
	if !l.e.src.nested() {
		return
	}
	for name, n := range l.node.Members() {
		if !slices.Contains(known, name) {
			l.unknownField(name, n, l.e.at(), known)
		}
	}
}

// unknownField checks a field that the client does not read. in is the path of the map with the field.
func (l entryLinter) unknownField(name string, n splice.Node, in []any, known []string) {
	right, isSynonym := l.fields.synonym(name)
	_, isSwitch := switchOff(name)
	what := fmt.Sprintf("%s does not recognize the field %s", l.client, quoted(name))
	switch {
	case name != "" && name == l.c.Client.RefusedToken:
		next := fmt.Sprintf(`store the token in an environment variable and specify its name: %s = "NAME"`, l.fields.BearerEnv)
		l.report("inline-bearer-token", n, "the file contains the token itself", next)
	case isSwitch:
		l.foreignSwitch(name, n, what)
	case isSynonym:
		l.synonym(name, right, n, in)
	default:
		switch near := nearest(name, known); {
		case near != "" && !has(l.outer, near) && !has(l.node, near):
			l.report("unknown-field", n, fmt.Sprintf("%s; did you mean %q?", what, near), "rename the field", rename(near, in, name))
		case near != "" || l.fields.Exact:
			l.report("unknown-field", n, what, "remove the field, or check its spelling")
		}
	}
}

// synonym returns the client's own name for a field that others call name, or "" if the client has
// no such field.
func (f Fields) synonym(name string) (string, bool) {
	own, c := []string{f.Command, f.Args, f.Env, f.URL, f.Headers, f.Cwd, f.Types.Field}, common()
	for i, names := range [][]string{c.Command, c.Args, c.Env, c.URL, c.Headers, c.Cwd, c.Type} {
		if slices.Contains(names, name) {
			return own[i], true
		}
	}
	return "", false
}

// synonym reports a field that the client calls right.
func (l entryLinter) synonym(name, right string, n splice.Node, in []any) {
	f := l.fields
	ignores := fmt.Sprintf("%s ignores the field %s", l.client, quoted(name))
	switch {
	case right == f.Headers && f.NoRemote: // the URL is the problem
	case right == "" && (f.Argv || name == "type" || name == "transport" || name == "protocol"):
		// reported with the command, or harmless: the command or URL determines the transport
	case right == "":
		l.report("unknown-field", n, fmt.Sprintf("%s does not support the field %s", l.client, quoted(name)), "remove the field")
	case has(l.node, right):
		l.report("unknown-field", n, fmt.Sprintf("%s; the entry also has %q", ignores, right), "keep one of the two fields")
	case !l.canTake(right, n):
		l.report("unknown-field", n, ignores, "if the field is only a note, no change is needed")
	default:
		fix := Edit{rename(right, in, name)}
		if strings.Contains(right, "/") {
			fix = Edit{set(n.Value(), in, steps(right)...), remove(in, name)}
		} else if right == f.Command && n.Kind() == splice.MapKind {
			fix = nil
		}
		what := fmt.Sprintf("%s is named %s in %s", quoted(name), quoted(strings.ReplaceAll(right, "/", " > ")), l.client)
		p := l.report("field-name", n, what, "rename the field", fix...)
		p.needsReview() // it changes what is run or reached
		if f.RejectsFile && (right == f.Command || right == f.URL) {
			p.Why += rejectsFile
		}
	}
}

// canTake reports whether the entry has no such field yet and the value would fit there. An extra
// field in an entry that works is a note.
func (l entryLinter) canTake(right string, n splice.Node) bool {
	f, kind := l.fields, n.Kind()
	startable := l.e.Spec.Command != "" || l.e.Spec.URL != ""
	switch right {
	case f.Command, f.URL:
		return !startable
	case f.Args:
		return kind == splice.ListKind || kind == splice.StringKind && !startable
	case f.Env, f.Headers:
		return kind == splice.MapKind || kind == splice.ListKind
	case f.Types.Field:
		word, ok := text(n)
		return ok && (transportOf(word) != "" || slices.Contains(common().OtherTransports, fold(word)))
	}
	return true
}

// renamed reports whether a field is present under another client's name.
func (l entryLinter) renamed(right string) bool {
	for name := range l.node.Members() {
		if r, ok := l.fields.synonym(name); ok && r == right && name != right && right != "" {
			return true
		}
	}
	return false
}

// foreignSwitch reports a field of another client that would disable the server.
func (l entryLinter) foreignSwitch(name string, n splice.Node, what string) {
	f := l.fields
	off, _ := switchOff(name)
	if value, is := boolean(n); !is || value != off {
		return // it enables the server, which is the default
	}
	var fix Edit
	next := "disable the server in the app, or remove the entry"
	if own, value := f.switchedOff(); own != "" && !has(l.outer, f.Disabled) && !has(l.outer, f.Enabled) {
		fix, next = Edit{rename(own, l.e.Path, name), set(value, l.e.Path, own)}, "use the client's own name for the field"
	}
	l.report("switch-unknown", n, what+", so the server stays enabled", next, fix...)
}

// switchedOff returns the client's field that disables a server, and its value.
func (f Fields) switchedOff() (name string, value bool) {
	if f.Enabled != "" {
		return f.Enabled, false
	}
	return f.Disabled, true
}

// outdated reports fields that the client still reads but no longer recommends.
func (l entryLinter) outdated(name string, n splice.Node) {
	f := l.fields
	for _, old := range f.Old {
		own, _ := f.synonym(old.Now)
		switch {
		case name != old.Field || old.Now == "" || has(l.outer, own) || l.e.src.nested():
		case old.Now == "nothing":
			if has(l.outer, f.Command) || has(l.outer, f.URL) {
				l.report("needless-field", n, fmt.Sprintf("the entry has a %q field", name), "remove the field", remove(l.e.Path, name))
			}
		case old.Type == "":
			l.report("old-field", n, fmt.Sprintf("%q is the old name of %q", name, own), "rename the field", rename(own, l.e.Path, name))
		default:
			fix := Edit{rename(own, l.e.Path, name)}
			if !has(l.outer, f.Types.Field) {
				fix = append(fix, set(old.Type, l.e.Path, f.Types.Field))
			}
			what := fmt.Sprintf("%q is the old form of %q combined with %q: %q", name, own, f.Types.Field, old.Type)
			l.report("old-field", n, what, "use the new form", fix...)
		}
	}
}

// nearest returns the known name that differs by a typing mistake.
func nearest(name string, known []string) string {
	const maxNameLen = 40
	if len(name) > maxNameLen || len(name) < 3 {
		return ""
	}
	best, least, folded := "", 3, fold(name)
	for _, k := range known {
		d := plaintext.Typos(folded, fold(k))
		if d < least && d <= max(1, len(k)/4) {
			best, least = k, d
		}
	}
	return best
}
