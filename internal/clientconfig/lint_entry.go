package clientconfig

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/splice"
)

// entryLinter checks one server of a file.
type entryLinter struct {
	*linter
	e *Entry
}

func (l entryLinter) lint() {
	if l.e.Builtin != "" {
		return
	}
	if l.e.outer.Kind() != splice.MapKind {
		l.report("entry-not-an-object", l.e.outer, "the entry is not an object", "")
		return
	}
	l.names()
	l.command()
	l.address()
	l.kind()
	l.required()
	l.environment()
	l.values()
	l.paths()
	l.docker()
	l.timeouts()
	l.approval()
}

// report records a problem at a node of this entry.
func (l entryLinter) report(code Code, at splice.Node, what, next string, fix ...Change) *Problem {
	return l.add(code, &at, l.e, what, next, fix...)
}

// at returns the path of a field that the client reads in this entry, inside Nest if the entry has
// that.
func (l entryLinter) at(more ...any) []any {
	path := l.e.Path
	if l.nested() {
		path = below(path, l.e.fields.Nest)
	}
	return below(path, more...)
}

func (l entryLinter) nested() bool {
	inner, ok := member(l.e.outer, l.e.fields.Nest)
	return ok && inner.Kind() == splice.MapKind
}

// command checks how the program and its arguments are written.
func (l entryLinter) command() {
	f, n := l.e.fields, l.e.node
	command, ok := member(n, f.Command)
	if !ok {
		return
	}
	args, hasArgs := member(n, f.Args)
	hasArgs = hasArgs && f.Args != ""
	switch command.Kind() {
	case splice.ListKind:
		argv := words(command)
		if f.Argv {
			l.argvItems(command, l.at(f.Command))
			return
		}
		var fix Edit
		if len(argv) > 0 && len(argv) == len(command.Items()) && !hasArgs {
			fix = Edit{set(argv[0], l.at(f.Command)), set(list(argv[1:]), l.at(f.Args))}
		}
		l.report("command-is-a-list", command, fmt.Sprintf("the command is a list, but %s expects a string", l.Client.Name), "move the arguments to "+quoted(f.Args), fix...)
		return
	case splice.MapKind:
		l.oldCommand(command)
		return
	case splice.StringKind:
	default:
		l.report("nothing-to-start", command, "the command is not a string", "write the program's name as a string")
		return
	}
	line, _ := text(command)
	split := commandLine(line)
	if f.Argv {
		l.intoArgv(command, line, split)
		return
	}
	if line == "" {
		l.report("nothing-to-start", command, "the command is empty", "write the program's name")
	}
	if len(split) > 1 {
		fix := Edit{set(split[0], l.at(f.Command)), set(list(append(slices.Clone(split[1:]), words(args)...)), l.at(f.Args))}
		if hasArgs && len(words(args)) != len(args.Items()) {
			fix = nil
		}
		l.report("command-line-in-command", command, "the command includes its arguments", "move the arguments to "+quoted(f.Args)+", one string each", fix...)
	}
	if hasArgs {
		l.args(args)
	}
}

func (l entryLinter) args(args splice.Node) {
	f := l.e.fields
	switch args.Kind() {
	case splice.ListKind:
		l.argvItems(args, l.at(f.Args))
	case splice.StringKind:
		line, _ := text(args)
		var fix Edit
		if split, ok := shellWords(line); ok {
			fix = Edit{set(list(split), l.at(f.Args))}
		}
		l.report("args-not-a-list", args, "the arguments are a single string", "write the arguments as a list of strings", fix...)
	case splice.NullKind:
		l.report("args-not-a-list", args, "the arguments are null", "remove "+quoted(f.Args), remove(l.at(f.Args)))
	default:
		l.report("args-not-a-list", args, "the arguments are not a list", "write the arguments as a list of strings")
	}
}

// argvItems checks that all items are strings.
func (l entryLinter) argvItems(args splice.Node, path []any) {
	for i, item := range args.Items() {
		if item.Kind() == splice.StringKind {
			continue
		}
		var fix Edit
		s, ok := plain(item)
		if ok {
			fix = Edit{set(s, path, i)}
		}
		p := l.report("arg-not-text", item, fmt.Sprintf("argument %d is not a string", i+1), "put the value in quotes", fix...)
		if !oneSpelling(s) {
			p.needsReview()
		}
		return
	}
}

// intoArgv is for clients that expect the program and its arguments in one list.
func (l entryLinter) intoArgv(command splice.Node, line string, split []string) {
	if len(split) == 0 {
		split = []string{line}
	}
	const usualArgs = "args"
	args, hasArgs := member(l.e.node, usualArgs)
	fix := Edit{set(list(append(split, words(args)...)), l.at(l.e.fields.Command))}
	switch {
	case hasArgs && (args.Kind() != splice.ListKind || len(words(args)) != len(args.Items())):
		fix = nil
	case hasArgs:
		fix = append(fix, remove(l.at(usualArgs)))
	}
	p := l.report("command-not-a-list", command, fmt.Sprintf("the command is a string, but %s expects a list with the program and its arguments", l.Client.Name), "write the program and its arguments as one list", fix...)
	if len(split) > 1 {
		p.needsReview()
	}
}

// oldCommand checks Zed's old form, {path, args, env} in one field.
func (l entryLinter) oldCommand(command splice.Node) {
	program := textOf(command, "path")
	f := l.e.fields
	if program == "" {
		l.report("nothing-to-start", command, "the command is not a string", "write the program's name as a string")
		return
	}
	var fix Edit
	if !has(l.e.node, f.Args) && !has(l.e.node, f.Env) {
		fix = Edit{set(program, l.at(f.Command))}
		if args, ok := member(command, "args"); ok {
			fix = append(fix, set(args.Value(), l.at(f.Args)))
		}
		if env, ok := member(command, "env"); ok {
			fix = append(fix, set(env.Value(), l.at(f.Env)))
		}
	}
	l.report("old-form", command, "the command is an object with path, args and env", "move path, args and env into the entry itself", fix...)
}

// address checks the URL.
func (l entryLinter) address() {
	f, n := l.e.fields, l.e.node
	hasCommand := has(n, f.Command)
	where, address := l.urlMember()
	switch {
	case address == "" && !hasCommand:
		if !l.renamed(f.Command) && !l.renamed(f.URL) && !has(n, "tcp") { // an older Gemini field
			l.report("nothing-to-start", l.e.outer, "the entry has neither a command nor a URL", fmt.Sprintf("add %q or %q", f.Command, f.URL))
		}
		return
	case address == "":
		return
	case f.NoRemote:
		l.noRemote(where)
		return
	case hasCommand:
		p := l.report("command-and-url", where, "the entry has both a command and a URL", "")
		if !f.BothRefused {
			p.Severity = Warning
		}
		return
	}
	if strings.HasPrefix(address, "ws://") || strings.HasPrefix(address, "wss://") {
		return // some clients support it, with their own type
	}
	if l.Client.ID == "vscode" && (strings.HasPrefix(address, "unix://") || strings.HasPrefix(address, "pipe://")) {
		return
	}
	if len(l.e.Unset)+len(l.e.Waiting) == 0 && len(l.dialect().Foreign(address, reference.URL)) == 0 {
		if _, err := url.Parse(l.e.Spec.URL); err != nil {
			l.report("bad-url", where, "the URL is not valid", "")
		} else if err := launch.CheckURL(l.e.Spec.URL); err != nil {
			l.report("bad-url", where, quoted(err.Error()), "")
		}
	}
	for _, h := range l.e.Spec.Header {
		switch {
		case h.Name == "" || strings.ContainsFunc(h.Name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }):
			l.report("bad-header", where, quoted(h.Name)+" is not a valid header name", "correct the name")
		case strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			l.report("bad-header", where, "the value of the header "+quoted(h.Name)+" contains a line break or another control character", "remove the character")
		}
	}
}

func (l entryLinter) urlMember() (splice.Node, string) {
	for _, name := range append([]string{l.e.fields.URL}, l.e.fields.OtherURLs...) {
		if m, ok := member(l.e.node, name); ok {
			s, _ := text(m)
			return m, s
		}
	}
	return splice.Node{}, ""
}

// noRemote offers to run the same server through gauze.
func (l entryLinter) noRemote(where splice.Node) {
	var fix Edit
	if rendered, err := l.Client.Render(l.e.written(), RenderOptions{Fields: &l.e.fields}); err == nil {
		fix = Edit{set(rendered, l.e.Path)}
	}
	l.report("remote-not-supported", where, fmt.Sprintf("%s does not support URLs in this file", l.Client.Name), "start the server with gauze run --url, or add it in the app", fix...)
}

// kind checks the transport type.
func (l entryLinter) kind() {
	f, n := l.e.fields, l.e.node
	if f.Type == "" {
		return
	}
	_, address := l.urlMember()
	hasCommand := has(n, f.Command)
	if address == "" && !hasCommand {
		return
	}
	given, ok := member(n, f.Type)
	if !ok {
		l.withoutType(address)
		return
	}
	word, isText := text(given)
	means := transportOf(word)
	switch {
	case !isText:
		l.report("type-unknown", given, "the type is not a string", "use one of: "+spellings(f))
	case l.Client.ID == "goose" && word == "sse":
		l.report("transport-gone", given, "goose no longer supports SSE", "use the server's streamable_http endpoint, which usually has a different path")
	case slices.Contains(f.Stdio, word), slices.Contains(f.HTTP, word), slices.Contains(f.SSE, word):
		l.contradiction(given, means, address, hasCommand)
	case means != "" && len(f.spelled(means)) > 0:
		p := l.report("type-spelling", given, fmt.Sprintf("the type is %s, but %s calls this transport %q", quoted(word), l.Client.Name, f.spelled(means)[0]), fmt.Sprintf("use %q", f.spelled(means)[0]), set(f.spelled(means)[0], l.at(f.Type)))
		if word == "remote" {
			p.needsReview() // it could be either transport
		}
	case l.Client.ID == "claude-code" && (word == "ws" || word == "sdk"):
	default:
		l.report("type-unknown", given, fmt.Sprintf("%s does not support the type %s", l.Client.Name, shownWord(word)), "use one of: "+spellings(f))
	}
}

// shownWord returns a word for display if it looks like one: a misplaced value may be anything,
// even a secret.
func shownWord(word string) string {
	const maxWordLen = 20
	if len(word) > maxWordLen || strings.ContainsFunc(word, func(r rune) bool { return !(r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') }) {
		return "in this entry"
	}
	return quoted(word)
}

func spellings(f Fields) string {
	return strings.Join(slices.Concat(f.Stdio, f.HTTP, f.SSE), ", ")
}

// spelled returns the client's names for a transport.
func (f Fields) spelled(t Transport) []string {
	switch t {
	case Stdio:
		return f.Stdio
	case HTTP, Auto:
		return f.HTTP
	}
	if len(f.SSE) == 0 && slices.Contains(f.HTTP, "remote") {
		return f.HTTP // one name for both
	}
	return f.SSE
}

// transportOf returns what a type means in any client.
func transportOf(word string) Transport {
	switch strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(word)) {
	case "stdio", "local", "command", "process":
		return Stdio
	case "http", "https", "streamablehttp", "httpstream", "streamable", "remote", "streamablehttps":
		return HTTP
	case "sse", "httpsse":
		return SSE
	}
	return ""
}

// guessed returns the transport that a URL suggests.
func guessed(address string) Transport {
	u, err := url.Parse(address)
	if err == nil && strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/sse") {
		return SSE
	}
	return HTTP
}

func (l entryLinter) withoutType(address string) {
	f := l.e.fields
	if l.renamed(f.Type) {
		return
	}
	switch {
	case address == "":
		if f.TypeFor == ForAll {
			l.report("type-missing", l.e.outer, "the entry has no type", fmt.Sprintf("add %q: %q", f.Type, f.Stdio[0]), set(f.Stdio[0], l.at(f.Type)))
		}
	case f.TypeFor == Optional, f.BareURL == AssumesSSE && guessed(address) == SSE, f.BareURL == AssumesHTTP && guessed(address) == HTTP, f.NoRemote:
	default:
		word := f.HTTP[0]
		if choices := f.spelled(guessed(address)); len(choices) > 0 {
			word = choices[0]
		}
		at := l.e.outer
		if m, ok := member(l.e.node, f.URL); ok {
			at = m
		}
		what := fmt.Sprintf("the entry has a URL but no %q", f.Type)
		if f.BareURL == AssumesSSE {
			what += ", so " + l.Client.Name + " uses SSE"
		}
		p := l.report("url-without-type", at, what, fmt.Sprintf("add %q: %q", f.Type, word), set(word, l.at(f.Type)))
		if f.BareURL == AssumesSSE || f.BareURL == AssumesHTTP {
			p.needsReview() // it may work today with the client's default
		}
	}
}

// contradiction checks that the type matches the entry.
func (l entryLinter) contradiction(given splice.Node, means Transport, address string, hasCommand bool) {
	f := l.e.fields
	switch {
	case means == Stdio && !hasCommand && address != "":
		want := f.HTTP[0]
		if s := f.spelled(guessed(address)); len(s) > 0 {
			want = s[0]
		}
		l.report("type-contradicts", given, "the type is for a command, but the entry has only a URL", fmt.Sprintf("use %q", want), set(want, l.at(f.Type)))
	case means != Stdio && hasCommand && address == "":
		change := remove(l.at(f.Type))
		if len(f.Stdio) > 0 {
			change = set(f.Stdio[0], l.at(f.Type))
		}
		l.report("type-contradicts", given, "the type is for a URL, but the entry has only a command", "use the type for commands", change)
	}
}

// required checks the required fields.
func (l entryLinter) required() {
	for _, name := range l.e.fields.Must {
		if has(l.e.outer, name) || l.Place.Borrowed {
			continue
		}
		switch name {
		case "tools":
			l.report("tools-missing", l.e.outer, "the entry does not list the allowed tools", `add "tools": ["*"] to allow all tools`, set([]any{"*"}, l.e.Path, "tools"))
		case "args":
			if has(l.e.node, l.e.fields.Command) && !l.renamed("args") {
				l.report("field-missing", l.e.outer, "the entry has no list of arguments", `add "args": []`, set([]any{}, l.at("args")))
			}
		case "name":
			var fix Edit
			if l.e.Name != "" && !l.Place.List {
				fix = Edit{set(l.e.Name, l.e.Path, "name")}
			}
			l.report("field-missing", l.e.outer, "the entry has no name field", "add the name", fix...)
		}
	}
	l.name()
}

// name checks the server's name.
func (l entryLinter) name() {
	allowed := func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}
	switch l.Client.ID {
	case "claude-code", "codex":
		if strings.Map(allowed, l.e.Name) != l.e.Name {
			l.report("name-refused", l.e.outer, fmt.Sprintf("the name contains characters that %s's own commands reject", l.Client.Name), "")
		}
	case "gemini-cli":
		if strings.Contains(l.e.Name, "__") || strings.Count(l.e.Name, "_") > 1 {
			l.report("name-underscores", l.e.outer, "the name contains several underscores", "")
		}
	}
}
