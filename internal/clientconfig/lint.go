package clientconfig

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/splice"
)

// linter checks one file.
type linter struct {
	code map[*Entry]int // index of the first argument that is program code, by entry
	*Config
	all     []Problem
	answers []answers // approvals of the project's servers, read on first use
}

// Lint returns the problems that the client will have with a file, in file order. Across finds
// those that only several files together show.
func (c *Config) Lint() []Problem {
	l := &linter{Config: c}
	if c.Err != nil {
		next := ""
		if errors.Is(c.Err, errOutside) {
			next = "if the servers in the linked file belong to the project, replace the link with a copy of that file"
		}
		l.add("not-readable", nil, nil, "cannot read the file: "+quoted(reason(c.Err)), next)
		return l.all
	}
	l.syntax()
	if c.Doc == nil {
		return l.all
	}
	l.topLevel()
	for i := range c.Entries {
		entryLinter{l, &c.Entries[i]}.lint()
	}
	sortProblems(l.all)
	return l.all
}

// reason returns the innermost error message, without the path.
func reason(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err.Error()
}

// add records a problem at a node, or of the whole file.
func (l *linter) add(code Code, at *splice.Node, e *Entry, what, next string, fix ...Change) *Problem {
	k, known := catalogue[code]
	if !known {
		panic("clientconfig: unknown code " + string(code))
	}
	p := Problem{Code: code, Severity: k.severity, Client: l.Client, File: l.Path, What: what, Why: k.why, Fix: fix, Consent: k.consent, Next: cmp.Or(next, k.remedy)}
	if l.Place.Borrowed && (e != nil || len(fix) > 0) {
		// The file is written for its owner, which reads it differently.
		p.Fix, p.Severity, p.Next = nil, Warning, "leave the entry as it is, or add one to a file that belongs to "+l.Client.Name
		fix = nil
	}
	const maxProblems = 1000
	if len(l.all) == maxProblems {
		return &p // enough for any reader, and it bounds the work on a hostile file
	}
	if at != nil {
		p.Line, p.Column = at.Place()
	}
	if e != nil {
		p.Server, p.entry = shownName(e.Name), e.Path
		if l.fields.RejectsFile && slices.Contains(fileRejecting, code) {
			p.Why += rejectsFile
		}
	}
	if len(fix) > 0 && (l.shared() || l.touchesLoading(fix)) {
		p.Consent = max(p.Consent, Shown)
	}
	l.all = append(l.all, p)
	return &l.all[len(l.all)-1]
}

// fileRejecting are the problems for which some clients reject the whole file.
var fileRejecting = []Code{"entry-not-an-object", "nothing-to-start", "command-and-url", "url-without-type", "type-missing", "type-unknown", "type-spelling", "type-contradicts", "command-is-a-list", "command-not-a-list",
	"args-not-a-list", "arg-not-text", "env-value-not-text", "env-not-a-map", "header-value-not-text", "inline-bearer-token", "timeout-negative", "timeout-not-a-number"}

const rejectsFile = "; until this is fixed, the client loads no servers from the file"

// touchesLoading reports whether a fix touches a variable that controls what code runs, what it
// trusts or where it connects.
func (l *linter) touchesLoading(fix Edit) bool {
	return slices.ContainsFunc(fix, func(c Change) bool {
		name, ok := "", false
		if len(c.Path) > 1 && c.Path[len(c.Path)-2] == any(l.fields.Env) {
			name, ok = c.Path[len(c.Path)-1].(string)
		}
		return ok && controlsLoading(name)
	})
}

func controlsLoading(name string) bool {
	upper := strings.ToUpper(name)
	for _, start := range []string{"LD_", "DYLD_", "NODE_", "PYTHON", "NPM_CONFIG_", "PIP_", "UV_", "SSL_", "GIT_", "DOCKER_", "BASH_", "RUBY", "JAVA_TOOL", "JDK_JAVA", "PERL5"} {
		if strings.HasPrefix(upper, start) {
			return true
		}
	}
	for _, end := range []string{"_PROXY", "_BASE_URL", "_CA_BUNDLE", "PATH"} {
		if strings.HasSuffix(upper, end) {
			return true
		}
	}
	return false
}

// shownName returns a server's name, cleaned for display.
func shownName(name string) string { return strings.Trim(quoted(name), "“”") }

// InProject reports whether the file belongs to a project.
func (c *Config) InProject() bool { return c.Place.inProject() }

func (p Place) inProject() bool { return strings.HasPrefix(p.Linux, "./") }

// shared reports whether others also use the file.
func (c *Config) shared() bool { return c.InProject() && !c.Place.Private }

// syntax checks the file as text.
func (l *linter) syntax() {
	text, isJSON := string(l.Text), l.Format() == splice.JSON || l.Format() == splice.JSONC
	if isJSON && l.marked() && l.Client.Mark != Yes {
		p := l.add("byte-order-mark", nil, nil, "the file starts with a byte order mark", "save the file as UTF-8 without a byte order mark", cut(text, []span{{0, len("\ufeff")}})...)
		if l.Client.Mark == No {
			p.Severity = Error
		}
	}
	if isJSON && strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")) == "" {
		l.add("empty-file", nil, nil, "the file is empty", "")
		return
	}
	if l.Doc == nil {
		format := l.Format()
		if isJSON && l.Client.Comments != Yes {
			format = splice.JSON
		}
		p := l.add("broken-syntax", nil, nil, "the file is not valid "+format.String(), "")
		var wrong *splice.SyntaxError
		if errors.As(l.Strict, &wrong) {
			p.Line, p.Column = wrong.Line, wrong.Column
			p.What += ": " + wrong.What
			if wrong.Hint != "" {
				p.Next = wrong.Hint
			}
		}
		return
	}
	if isJSON {
		l.loose(text)
	}
	for _, twice := range l.Doc.Duplicates() {
		p := l.add("duplicate-key", nil, nil, fmt.Sprintf("the key %s appears twice in the same object; the client ignores the first one", quoted(twice.Name)), "")
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
	place := func(p *Problem, at int) {
		before := text[:at]
		p.Line = strings.Count(before, "\n") + 1
		p.Column = len([]rune(strings.TrimPrefix(before[strings.LastIndexByte(before, '\n')+1:], "\ufeff"))) + 1
	}
	if len(comments) > 0 && l.Client.Comments != Yes {
		pieces := make([]span, len(comments))
		for i, c := range comments {
			pieces[i] = wholeLine(text, c)
		}
		p := l.add("comment", nil, nil, hasComment, "remove the comments", cut(text, pieces)...)
		place(p, comments[0].from)
		l.weaken(p, l.Client.Comments)
		if l.Client.Comments == Unknown {
			p.needsReview() // a comment may matter to its author
		}
	}
	if len(commas) > 0 && l.Client.Commas != Yes {
		pieces := make([]span, len(commas))
		for i, at := range commas {
			pieces[i] = span{at, at + 1}
		}
		p := l.add("trailing-comma", nil, nil, hasTrailingComma, "remove the comma", cut(text, pieces)...)
		place(p, commas[0])
		l.weaken(p, l.Client.Commas)
	}
}

// weaken weakens a problem if the client's behavior is unknown.
func (l *linter) weaken(p *Problem, known Answer) {
	if known == Unknown {
		p.Severity, p.Why = Warning, "many clients reject the whole file because of this; the behavior of "+l.Client.Name+" is not documented"
	}
}

// topLevel checks where the servers are in the file.
func (l *linter) topLevel() {
	if len(l.Entries) > 0 && l.Place.Old != "" {
		l.add("old-place", nil, nil, l.Place.Old, "")
	}
	if len(l.Entries) > 0 && (l.Client.Status == Ended || l.Client.Status == Superseded) {
		l.add("client-ended", nil, nil, l.Client.Message, "")
	}
	if l.servers == nil {
		l.misplaced()
		return
	}
	l.beside()
	servers, _ := l.Doc.At(l.servers...)
	switch want := servers.Kind(); {
	case l.Place.List && want == splice.MapKind && len(l.Entries) > 0:
		l.add("servers-not-a-list", &servers, nil, "the servers are an object, but "+l.Client.Name+" expects a list", "write each server as an item of a list, with a name field", l.asList(servers)...)
	case !l.Place.List && want == splice.ListKind:
		l.add("servers-not-a-map", &servers, nil, "the servers are a list, but "+l.Client.Name+" expects an object", "list each server under its own name", l.asMap(servers)...)
	case want != splice.MapKind && want != splice.ListKind && want != splice.NullKind:
		l.add("servers-not-a-map", &servers, nil, keyName(l.servers)+" is not an object that contains servers", "list each server under its own name")
	}
}

func keyName(path []any) string {
	names := make([]string, len(path))
	for i, step := range path {
		names[i] = fmt.Sprint(step)
	}
	return quoted(strings.Join(names, " > "))
}

func (l *linter) asList(servers splice.Node) (fix Edit) {
	if l.Format() == splice.TOML {
		return l.asTables()
	}
	var items []any
	for name, n := range servers.Members() {
		m, ok := n.Value().(splice.Map)
		if !ok {
			return nil
		}
		items = append(items, append(splice.Map{{Name: "name", Value: name}}, slices.DeleteFunc(m, func(m splice.Member) bool { return m.Name == "name" })...))
	}
	return Edit{set(items, l.servers)}
}

// asTables turns [mcp_servers.name] into [[mcp_servers]], which only changes header lines.
func (l *linter) asTables() (fix Edit) {
	text, key := string(l.Text), fmt.Sprint(l.servers[len(l.servers)-1])
	var headers []Change
	at := 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		inner, isTable := strings.CutPrefix(trimmed, "["+key+".")
		name, closed := strings.CutSuffix(inner, "]")
		if isTable {
			if !closed || strings.ContainsAny(name, `"'.#[]`) && !slices.ContainsFunc(l.Entries, func(e Entry) bool { return strings.HasPrefix(name, e.Name+".") }) {
				return nil
			}
			from := at + strings.Index(line, "[")
			c := Change{Do: Put, From: from, To: from + len(trimmed), Old: trimmed, Text: "[[" + key + "]]\nname = \"" + name + "\""}
			if _, rest, nested := strings.Cut(name, "."); nested {
				c.Text = "[" + key + "." + rest + "]"
			}
			headers = append(headers, c)
		}
		at += len(line)
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
		byName = append(byName, splice.Member{Name: name, Value: slices.DeleteFunc(m, func(m splice.Member) bool { return m.Name == "name" })})
	}
	if len(byName) == 0 || l.Format() == splice.TOML {
		return nil
	}
	return Edit{set(byName, l.servers)}
}

// misplaced looks for the servers under the keys of other clients.
func (l *linter) misplaced() {
	if l.Place.Borrowed || l.Place.Old != "" || slices.Contains(l.Place.Keys[0], inProject) {
		return
	}
	want := l.Place.Keys[len(l.Place.Keys)-1]
	if len(want) == 0 {
		want = l.Place.Keys[0]
	}
	if outer, inner, dotted := strings.Cut(want[0], "."); dotted {
		if n, ok := l.Doc.At(outer, inner); ok && looksLikeServers(n) {
			l.add("dotted-key", &n, nil, fmt.Sprintf("the servers are under %s inside %s", quoted(inner), quoted(outer)), fmt.Sprintf("use the single key %q", want[0]), l.joinKeys(outer, inner, want[0])...)
			return
		}
	}
	for name, n := range l.Doc.Root().Members() {
		if inner, ok := member(n, "servers"); ok && name == "mcp" && looksLikeServers(inner) {
			l.add("wrong-top-level-key", &inner, nil, fmt.Sprintf("the servers are under %q inside %q, but %s reads %q", "servers", "mcp", l.Client.Name, want[0]), fmt.Sprintf("move the servers to %q", want[0]))
			return
		}
		if foldedKey(name) && looksLikeServers(n) {
			l.add("wrong-top-level-key", &n, nil, fmt.Sprintf("the servers are under %s, but %s reads %q", quoted(name), l.Client.Name, want[0]), "rename the key", rename(want[0], nil, name))
			return
		}
	}
}

// beside reports servers under a key of another client next to the key that this one reads.
func (l *linter) beside() {
	if l.Place.Borrowed || l.Place.Old != "" || len(l.servers) != 1 {
		return
	}
	for name, n := range l.Doc.Root().Members() {
		if any(name) == l.servers[0] || !foldedKey(name) || !looksLikeServers(n) || l.readElsewhere(name) {
			continue
		}
		what := fmt.Sprintf("%s does not read the servers under %s, only those under %q", l.Client.Name, quoted(name), l.servers[0])
		l.add("wrong-top-level-key", &n, nil, what, fmt.Sprintf("move the servers to %q", l.servers[0]))
	}
}

// readElsewhere reports whether any client reads servers under this key of the same file.
func (l *linter) readElsewhere(name string) bool {
	for _, c := range clients {
		for _, p := range c.Places {
			if p.Linux == l.Place.Linux && slices.ContainsFunc(p.Keys, func(w []string) bool { return len(w) > 0 && w[0] == name }) {
				return true
			}
		}
	}
	return false
}

// foldedKey reports whether any client uses this key, ignoring case and punctuation.
func foldedKey(name string) bool {
	switch strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(strings.ToLower(name)) {
	case "mcpservers", "mcpserver", "servers", "contextservers", "mcp", "extensions", "ampmcpservers":
		return true
	}
	return false
}

// looksLikeServers reports whether a value is a collection of servers.
func looksLikeServers(n splice.Node) bool {
	entries := n.Items()
	for _, m := range n.Members() {
		entries = append(entries, m)
	}
	for _, m := range entries {
		if !slices.ContainsFunc([]string{"command", "cmd", "url", "uri", "serverUrl", "httpUrl"}, func(name string) bool { return has(m, name) }) {
			return false
		}
	}
	return len(entries) > 0
}

// joinKeys merges two nested keys into one, if the outer one contains nothing else.
func (l *linter) joinKeys(outer, inner, joined string) Edit {
	both, ok := l.locate(l.Doc.At(outer))
	value, there := l.locate(l.Doc.At(outer, inner))
	start, sign, keyed := l.key(both, outer)
	if !ok || !there || !keyed {
		return nil
	}
	if members, _ := both.Value().(splice.Map); len(members) != 1 {
		return nil
	}
	return Edit{l.put(value.to, both.to, ""), l.put(start, value.from, quote(joined)+sign)}
}
