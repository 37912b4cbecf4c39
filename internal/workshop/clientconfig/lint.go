package clientconfig

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
)

// linter checks one file.
type linter struct {
	c       *Config
	all     []Problem
	answers *answers // approvals of the project's servers, read on first use
}

// Lint returns the problems that the client will have with a file, in file order. Across finds
// those that only several files together show.
func (c *Config) Lint() []Problem {
	l := &linter{c: c}
	if c.Err != nil {
		next := ""
		if errors.Is(c.Err, errOutside) {
			next = "if the servers in the linked file belong to the project, replace the link with a copy of that file"
		}
		l.add("not-readable", nil, nil, "cannot read the file: "+quoted(files.Reason(c.Err)), next)
		return l.all
	}
	l.syntax()
	if c.Doc == nil {
		return l.all
	}
	l.topLevel()
	for i := range c.Entries {
		e := &c.Entries[i]
		entryLinter{l, e, e.src.node, e.src.outer, e.src.fields, c.Client.Name, e.src.codeFrom()}.lint()
	}
	sortProblems(l.all)
	return l.all
}

// add records a problem at a node, or of the whole file.
func (l *linter) add(code Code, at *splice.Node, e *Entry, what, next string, fix ...Change) *Problem {
	k := kindOf(code)
	p := Problem{Code: code, Severity: k.Severity, Client: l.c.Client, File: l.c.Path, What: what, Why: k.Why, Fix: fix, Consent: k.Consent,
		Next: cmp.Or(next, k.Remedy)}
	if l.c.Place.Borrowed && (e != nil || len(fix) > 0) {
		// The file is written for its owner, which reads it differently.
		p.Fix, p.Severity, p.Next = nil, Warning, "leave the entry as it is, or add one to a file that belongs to "+l.c.Client.Name
	}
	const maxProblems = 1000
	if len(l.all) == maxProblems {
		return &p // enough for any reader, and it bounds the work on a hostile file
	}
	if at != nil {
		p.Line, p.Column = at.Place()
	}
	if e != nil {
		p.Server, p.entry = strings.Trim(quoted(e.Name), "“”"), e.Path
		if l.c.fields.RejectsFile && k.RejectsFile {
			p.Why += rejectsFile
		}
	}
	if len(p.Fix) > 0 && (l.c.shared() || l.touchesLoading(fix)) {
		p.needsReview()
	}
	l.all = append(l.all, p)
	return &l.all[len(l.all)-1]
}

const rejectsFile = "; until this is fixed, the client does not load any servers from the file"

// touchesLoading reports whether a fix touches a variable that controls what code runs, what it
// trusts or where it connects.
func (l *linter) touchesLoading(fix Edit) bool {
	return slices.ContainsFunc(fix, func(c Change) bool {
		last := len(c.Path) - 1
		return last > 0 && c.Path[last-1] == any(l.c.fields.Env) && matches(fmt.Sprint(c.Path[last]), common().Loading)
	})
}

// InProject reports whether the file belongs to a project.
func (c *Config) InProject() bool { return c.Place.inProject() }

func (p Place) inProject() bool { return strings.HasPrefix(p.Linux, "./") }

// shared reports whether others also use the file.
func (c *Config) shared() bool { return c.InProject() && !c.Place.Private }

// syntax checks the file as text.
func (l *linter) syntax() {
	text, client, format := string(l.c.Text), l.c.Client, l.c.Format()
	isJSON := format == splice.JSON || format == splice.JSONC
	if isJSON && l.c.marked() && client.Mark != Yes {
		fix := cut(text, []span{{0, len(byteOrderMark)}})
		what, next := "the file starts with a byte order mark", "save the file as UTF-8 without a byte order mark"
		p := l.add("byte-order-mark", nil, nil, what, next, fix...)
		if client.Mark == No {
			p.Severity = Error
		}
	}
	switch {
	case isJSON && strings.TrimSpace(strings.TrimPrefix(text, byteOrderMark)) == "":
		l.add("empty-file", nil, nil, "the file is empty", "")
		return
	case l.c.Doc == nil:
		if isJSON && client.Comments != Yes {
			format = splice.JSON
		}
		p := l.add("broken-syntax", nil, nil, "the file is not valid "+format.String(), "")
		var wrong *splice.SyntaxError
		if errors.As(l.c.Strict, &wrong) {
			p.Line, p.Column = wrong.Line, wrong.Column
			p.What += ": " + wrong.What
			p.Next = cmp.Or(wrong.Hint, p.Next)
		}
		return
	case isJSON:
		l.loose(text)
	}
	for _, twice := range l.c.Doc.Duplicates() {
		what := fmt.Sprintf("the key %s appears twice in the same object; the client ignores the first one", quoted(twice.Name))
		p := l.add("duplicate-key", nil, nil, what, "")
		p.Line, p.Column = twice.Line, 1
	}
}

const (
	hasComment       = "the file contains a comment"
	hasTrailingComma = "there is a comma after the last item of a list or object"
)

// loose finds comments and trailing commas that the client does not accept.
func (l *linter) loose(text string) {
	comments, commas := looseParts(text)
	lines := make([]span, len(comments))
	for i, c := range comments {
		lines[i] = wholeLine(text, c)
	}
	report := func(code Code, parts, pieces []span, accepted Answer, what, next string) {
		if len(parts) == 0 || accepted == Yes {
			return
		}
		p, before := l.add(code, nil, nil, what, next, cut(text, pieces)...), text[:parts[0].from]
		p.Line = strings.Count(before, "\n") + 1
		p.Column = len([]rune(strings.TrimPrefix(before[strings.LastIndexByte(before, '\n')+1:], byteOrderMark))) + 1
		if accepted == Unknown {
			p.Severity = Warning
			p.Why = "many clients reject the whole file because of this; it is not documented whether " + l.c.Client.Name + " does"
		}
		if accepted == Unknown && code == "comment" {
			p.needsReview() // a comment may matter to its author
		}
	}
	report("comment", comments, lines, l.c.Client.Comments, hasComment, "remove the comments")
	report("trailing-comma", commas, commas, l.c.Client.Commas, hasTrailingComma, "remove the comma")
}

// topLevel checks where the servers are in the file.
func (l *linter) topLevel() {
	client, place := l.c.Client, l.c.Place
	if len(l.c.Entries) > 0 && place.Old != "" {
		l.add("old-place", nil, nil, place.Old, "")
	}
	if len(l.c.Entries) > 0 && (client.Status == "ended" || client.Status == "superseded") {
		l.add("client-ended", nil, nil, client.Message, "")
	}
	if l.c.servers == nil {
		l.misplaced()
		return
	}
	l.beside()
	servers, _ := l.c.Doc.At(l.c.servers...)
	next := "list each server under its own name"
	switch kind := servers.Kind(); {
	case place.List && kind == splice.MapKind && len(l.c.Entries) > 0:
		what := "the servers are an object, but " + client.Name + " expects a list"
		l.add("servers-not-a-list", &servers, nil, what, "make each server an item of a list, with a name field", l.asList(servers)...)
	case !place.List && kind == splice.ListKind:
		what := "the servers are a list, but " + client.Name + " expects an object"
		l.add("servers-not-a-map", &servers, nil, what, next, l.asMap(servers)...)
	case kind != splice.MapKind && kind != splice.ListKind && kind != splice.NullKind:
		names := make([]string, len(l.c.servers))
		for i, step := range l.c.servers {
			names[i] = fmt.Sprint(step)
		}
		what := quoted(strings.Join(names, " > ")) + " is not an object that contains servers"
		l.add("servers-not-a-map", &servers, nil, what, next)
	}
}

func (l *linter) asList(servers splice.Node) (fix Edit) {
	if l.c.Format() == splice.TOML {
		return l.asTables()
	}
	var items []any
	for name, n := range servers.Members() {
		m, ok := n.Value().(splice.Map)
		if !ok {
			return nil
		}
		items = append(items, append(splice.Map{{Name: "name", Value: name}}, unnamed(m)...))
	}
	return Edit{set(items, l.c.servers)}
}

// unnamed returns an entry without its name.
func unnamed(m splice.Map) splice.Map {
	return slices.DeleteFunc(m, func(m splice.Member) bool { return m.Name == "name" })
}

// asTables turns [mcp_servers.name] into [[mcp_servers]], which only changes header lines.
func (l *linter) asTables() (headers Edit) {
	key := fmt.Sprint(l.c.servers[len(l.c.servers)-1])
	at := 0
	for line := range strings.SplitAfterSeq(string(l.c.Text), "\n") {
		trimmed := strings.TrimSpace(line)
		inner, isTable := strings.CutPrefix(trimmed, "["+key+".")
		name, closed := strings.CutSuffix(inner, "]")
		_, rest, _ := strings.Cut(name, ".")
		from := at + strings.Index(line, "[")
		at += len(line)
		isNested := slices.ContainsFunc(l.c.Entries, func(e Entry) bool { return strings.HasPrefix(name, e.Name+".") })
		c := Change{Do: Put, From: from, To: from + len(trimmed), Old: trimmed, Text: "[[" + key + "]]\nname = \"" + name + "\""}
		switch {
		case !isTable:
			continue
		case !closed || strings.ContainsAny(name, `"'.#[]`) && !isNested:
			return nil
		case rest != "":
			c.Text = "[" + key + "." + rest + "]"
		}
		headers = append(headers, c)
	}
	slices.Reverse(headers)
	return headers
}

func (l *linter) asMap(servers splice.Node) (fix Edit) {
	byName := splice.Map{}
	for _, n := range servers.Items() {
		m, ok := n.Value().(splice.Map)
		name := textOf(n, "name")
		if !ok || name == "" || slices.ContainsFunc(byName, func(m splice.Member) bool { return m.Name == name }) {
			return nil
		}
		byName = append(byName, splice.Member{Name: name, Value: unnamed(m)})
	}
	if len(byName) == 0 || l.c.Format() == splice.TOML {
		return nil
	}
	return Edit{set(byName, l.c.servers)}
}

// misplaced looks for the servers under the keys of other clients.
func (l *linter) misplaced() {
	keys, client := l.c.Place.Keys, l.c.Client.Name
	if l.c.Place.Borrowed || l.c.Place.Old != "" || slices.Contains(keys[0], inProject) {
		return
	}
	want := keys[len(keys)-1]
	if len(want) == 0 {
		want = keys[0]
	}
	if outer, inner, dotted := strings.Cut(want[0], "."); dotted {
		if n, ok := l.c.Doc.At(outer, inner); ok && looksLikeServers(n) {
			what := fmt.Sprintf("the servers are under %s inside %s", quoted(inner), quoted(outer))
			l.add("dotted-key", &n, nil, what, fmt.Sprintf("use the single key %q", want[0]), l.joinKeys(outer, inner, want[0])...)
			return
		}
	}
	for name, n := range l.c.Doc.Root().Members() {
		if inner, ok := member(n, "servers"); ok && name == "mcp" && looksLikeServers(inner) {
			what := fmt.Sprintf("the servers are under %q inside %q, but %s reads %q", "servers", "mcp", client, want[0])
			l.add("wrong-top-level-key", &inner, nil, what, fmt.Sprintf("move the servers to %q", want[0]))
			return
		}
		if foldedKey(name) && looksLikeServers(n) {
			what := fmt.Sprintf("the servers are under %s, but %s reads %q", quoted(name), client, want[0])
			l.add("wrong-top-level-key", &n, nil, what, "rename the key", rename(want[0], nil, name))
			return
		}
	}
}

// beside reports servers under a key of another client next to the key that this one reads.
func (l *linter) beside() {
	if l.c.Place.Borrowed || l.c.Place.Old != "" || len(l.c.servers) != 1 {
		return
	}
	for name, n := range l.c.Doc.Root().Members() {
		if any(name) == l.c.servers[0] || !foldedKey(name) || !looksLikeServers(n) || l.readElsewhere(name) {
			continue
		}
		what := fmt.Sprintf("%s does not read the servers under %s, only those under %q", l.c.Client.Name, quoted(name), l.c.servers[0])
		l.add("wrong-top-level-key", &n, nil, what, fmt.Sprintf("move the servers to %q", l.c.servers[0]))
	}
}

// readElsewhere reports whether any client reads servers under this key of the same file.
func (l *linter) readElsewhere(name string) bool {
	for p := range allPlaces {
		if p.Linux == l.c.Place.Linux && slices.ContainsFunc(p.Keys, func(w []string) bool { return len(w) > 0 && w[0] == name }) {
			return true
		}
	}
	return false
}

// foldedKey reports whether any client uses this key, ignoring case and punctuation, or it is a common
// mistake.
func foldedKey(name string) bool { return slices.Contains(serverKeys(), fold(name)) }

// fold returns a name without case and punctuation.
func fold(name string) string { return strings.ToLower(punctuation.Replace(name)) }

var punctuation = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

// looksLikeServers reports whether a value is a collection of servers.
func looksLikeServers(n splice.Node) bool {
	entries := n.Items()
	for _, m := range n.Members() {
		entries = append(entries, m)
	}
	isEntry := func(m splice.Node) bool {
		for p, c := range allPlaces {
			if f := p.fieldsOf(c); slices.ContainsFunc(append(f.urls(), f.Command), func(name string) bool { return has(m, name) }) {
				return true
			}
		}
		return false
	}
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(m splice.Node) bool { return !isEntry(m) })
}

// joinKeys merges two nested keys into one, if the outer one contains nothing else.
func (l *linter) joinKeys(outer, inner, joined string) Edit {
	t := l.c.layout
	both, ok := t.locate(t.doc.At(outer))
	value, there := t.locate(t.doc.At(outer, inner))
	start, sign, keyed := t.key(both, outer)
	if !ok || !there || !keyed {
		return nil
	}
	if members, _ := both.Value().(splice.Map); len(members) != 1 {
		return nil
	}
	return Edit{t.put(value.to, both.to, ""), t.put(start, value.from, quote(joined)+sign)}
}
