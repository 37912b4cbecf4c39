package clientconfig

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// entryLinter checks one server of a file.
type entryLinter struct {
	*linter
	e           *Entry
	node, outer splice.Node // as in its source
	fields      Fields
	client      string // its name
	code        int    // the index of the first argument that is, or introduces, program code
}

func (l entryLinter) lint() {
	if l.e.Builtin != "" {
		return
	}
	if l.outer.Kind() != splice.MapKind {
		l.report("entry-not-an-object", l.outer, "the entry is not an object", "")
		return
	}
	for _, check := range []func(){l.names, l.command, l.address, l.kind, l.required, l.name, l.environment,
		l.values, l.paths, l.program, l.gauze, l.docker, l.timeouts, l.slowStart, l.approval} {
		check()
	}
}

// report records a problem at a node of this entry.
func (l entryLinter) report(code Code, at splice.Node, what, next string, fix ...Change) *Problem {
	return l.add(code, &at, l.e, what, next, fix...)
}

// command checks how the program and its arguments are written.
func (l entryLinter) command() {
	f := l.fields
	command, ok := member(l.node, f.Command)
	args, hasArgs := member(l.node, f.Args)
	argv, line := words(command), textOf(l.node, f.Command)
	split := commandLine(line)
	switch kind := command.Kind(); {
	case !ok:
	case kind == splice.ListKind && f.Argv:
		l.argvItems(command, f.Command)
	case kind == splice.ListKind:
		var fix Edit
		if areWords(command) && len(argv) > 0 && !hasArgs {
			fix = Edit{set(argv[0], l.e.at(f.Command)), set(list(argv[1:]), l.e.at(f.Args))}
		}
		what := fmt.Sprintf("the command is a list, but %s expects a string", l.client)
		l.report("command-is-a-list", command, what, "move the arguments to "+quoted(f.Args), fix...)
	case kind == splice.MapKind && textOf(command, "path") != "":
		l.oldCommand(command)
	case kind != splice.StringKind:
		l.report("nothing-to-start", command, "the command is not a string", "use the program's name, as a string")
	case f.Argv:
		l.intoArgv(command, line, split)
	default:
		if line == "" {
			l.report("nothing-to-start", command, "the command is empty", "add the program's name")
		}
		if len(split) > 1 {
			more, splits := argWords(args, hasArgs)
			fix := when(splits, set(split[0], l.e.at(f.Command)), set(list(append(split[1:], more...)), l.e.at(f.Args)))
			next := "move the arguments to " + quoted(f.Args) + ", one string each"
			l.report("command-line-in-command", command, "the command includes its arguments", next, fix...)
		}
		if hasArgs {
			l.args(args)
		}
	}
}

// argWords returns the arguments of an entry, also of one that has none or has them in one string. It
// returns false if it cannot tell what they are.
func argWords(args splice.Node, has bool) (all []string, ok bool) {
	switch {
	case !has || args.Kind() == splice.NullKind:
		return nil, true
	case args.Kind() == splice.StringKind:
		line, _ := text(args)
		return shellWords(line)
	}
	return words(args), areWords(args)
}

func (l entryLinter) args(args splice.Node) {
	path, next := l.e.at(l.fields.Args), "use a list of strings for the arguments"
	switch args.Kind() {
	case splice.ListKind:
		l.argvItems(args, l.fields.Args)
	case splice.StringKind:
		line, _ := text(args)
		split, ok := shellWords(line)
		l.report("args-not-a-list", args, "the arguments are a single string", next, when(ok, set(list(split), path))...)
	case splice.NullKind:
		l.report("args-not-a-list", args, "the arguments are null", "remove "+quoted(l.fields.Args), remove(path))
	default:
		l.report("args-not-a-list", args, "the arguments are not a list", next)
	}
}

// argvItems checks that all items are strings.
func (l entryLinter) argvItems(args splice.Node, field string) {
	for i, item := range args.Items() {
		if l.textual("arg-not-text", fmt.Sprintf("argument %d", i+1), item, l.e.at(field, i)) {
			return // one is enough
		}
	}
}

// textual reports a value that is not a string.
func (l entryLinter) textual(code Code, what string, value splice.Node, path []any) bool {
	if value.Kind() == splice.StringKind || l.c.Client.ID == UpID { // gauze up takes numbers as they are
		return false
	}
	s, ok := plain(value)
	if p := l.report(code, value, what+" is not a string", "put the value in quotes", when(ok, set(s, path))...); !oneSpelling(s) {
		p.needsReview()
	}
	return true
}

// intoArgv is for clients that expect the program and its arguments in one list.
func (l entryLinter) intoArgv(command splice.Node, line string, split []string) {
	if len(split) == 0 {
		split = []string{line}
	}
	const usualArgs = "args"
	args, hasArgs := member(l.node, usualArgs)
	fix := Edit{set(list(append(split, words(args)...)), l.e.at(l.fields.Command))}
	switch {
	case hasArgs && !areWords(args):
		fix = nil
	case hasArgs:
		fix = append(fix, remove(l.e.at(usualArgs)))
	}
	what := fmt.Sprintf("the command is a string, but %s expects a list with the program and its arguments", l.client)
	p := l.report("command-not-a-list", command, what, "use one list for the program and its arguments", fix...)
	if len(split) > 1 {
		p.needsReview()
	}
}

// oldCommand checks Zed's old form, {path, args, env} in one field.
func (l entryLinter) oldCommand(command splice.Node) {
	f := l.fields
	var fix Edit
	if !has(l.node, f.Args) && !has(l.node, f.Env) {
		fix = Edit{set(textOf(command, "path"), l.e.at(f.Command))}
		for i, name := range []string{"args", "env"} {
			if value, ok := member(command, name); ok {
				fix = append(fix, set(value.Value(), l.e.at([]any{f.Args, f.Env}[i])))
			}
		}
	}
	next := "move path, args and env into the entry itself"
	l.report("old-form", command, "the command is an object with path, args and env", next, fix...)
}

// address checks the URL.
func (l entryLinter) address() {
	f, hasCommand := l.fields, has(l.node, l.fields.Command)
	where, address := l.urlMember()
	scheme, _, isURL := strings.Cut(address, "://")
	startsAlone := func(old oldField) bool { return old.Now == "" && has(l.node, old.Field) }
	switch {
	case address == "" && hasCommand:
	case address == "":
		if !l.renamed(f.Command) && !l.renamed(f.URL) && !slices.ContainsFunc(f.Old, startsAlone) {
			next := fmt.Sprintf("add %q or %q", f.Command, f.URL)
			l.report("nothing-to-start", l.outer, "the entry has neither a command nor a URL", next)
		}
	case f.NoRemote: // the same server can be run through gauze
		asRemote := *l.e
		asRemote.src.fields.NoRemote, asRemote.Transport, asRemote.Wrapped = false, Auto, false
		gauze := l.c.Program(l.c.Home.Gauze)
		rendered, err := l.c.Client.Render(l.c.Written(&asRemote), RenderOptions{Fields: &f, Gauze: gauze})
		usable := err == nil && (scheme == "http" || scheme == "https" || strings.HasPrefix(address, "$"))
		what, next := l.client+" does not support URLs in this file", "start the server with gauze run --url, or add it in the app"
		l.report("remote-not-supported", where, what, next, when(usable, set(rendered, l.e.Path))...)
	case hasCommand:
		p := l.report("command-and-url", where, "the entry has both a command and a URL", "")
		if !f.BothRefused {
			p.Severity = Warning
		}
	case isURL && (scheme == "ws" || scheme == "wss" || slices.Contains(f.Schemes, scheme)): // some clients support it
	default:
		l.reachable(where, address)
	}
}

// reachable checks what is sent, and where.
func (l entryLinter) reachable(where splice.Node, address string) {
	if len(l.e.Unset)+len(l.e.Waiting) == 0 && len(l.dialect().Foreign(address, reference.URL)) == 0 {
		if _, err := url.Parse(l.e.Spec.URL); err != nil {
			l.report("bad-url", where, "the URL is not valid", "")
		} else if err := launch.CheckURL(l.e.Spec.URL); err != nil {
			l.report("bad-url", where, quoted(err.Error()), "")
		}
	}
	outside := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	for _, h := range l.e.Spec.Header {
		switch {
		case h.Name == "" || strings.ContainsFunc(h.Name, outside):
			l.report("bad-header", where, quoted(h.Name)+" is not a valid header name", "correct the name")
		case strings.ContainsFunc(h.Value, control):
			what := "the value of header " + quoted(h.Name) + " contains a line break or another control character"
			l.report("bad-header", where, what, "remove the character")
		}
	}
}

func (l entryLinter) urlMember() (splice.Node, string) {
	for _, name := range l.fields.urls() {
		if m, ok := member(l.node, name); ok {
			s, _ := text(m)
			return m, s
		}
	}
	return splice.Node{}, ""
}

// kind checks the transport type.
func (l entryLinter) kind() {
	types := l.fields.Types
	_, address := l.urlMember()
	hasCommand := has(l.node, l.fields.Command)
	if types.Field == "" || address == "" && !hasCommand {
		return
	}
	given, ok := member(l.node, types.Field)
	if !ok {
		l.withoutType(address)
		return
	}
	word, isText := text(given)
	means := transportOf(word)
	spelled := types.spelled(means)
	choices := "use one of: " + strings.Join(types.words(), ", ")
	switch {
	case !isText:
		l.report("type-unknown", given, "the type is not a string", choices)
	case slices.Contains(types.Gone, word):
		next := fmt.Sprintf("use the server's %s endpoint, which usually has a different path", types.HTTP[0])
		l.report("transport-gone", given, fmt.Sprintf("%s no longer supports %s", l.client, strings.ToUpper(word)), next)
	case slices.Contains(types.words(), word) && means == Stdio && !hasCommand:
		l.retype("type-contradicts", given, "the type is for a command, but the entry has only a URL", types.forURL(address))
	case slices.Contains(types.words(), word) && means != Stdio && address == "":
		what := "the type is for a URL, but the entry has only a command"
		l.report("type-contradicts", given, what, "use the type for commands", set(types.Stdio[0], l.e.at(types.Field)))
	case slices.Contains(types.words(), word), slices.Contains(types.Others, word) && len(spelled) == 0:
	case len(spelled) > 0:
		what := fmt.Sprintf("the type is %s, but %s calls this transport %q", quoted(word), l.client, spelled[0])
		if p := l.retype("type-spelling", given, what, spelled[0]); word == "remote" {
			p.needsReview() // it could be either transport
		}
	default:
		l.report("type-unknown", given, fmt.Sprintf("%s does not support the type %s", l.client, shownWord(word)), choices)
	}
}

// retype reports a type that should be a different word.
func (l entryLinter) retype(code Code, at splice.Node, what, word string) *Problem {
	return l.report(code, at, what, fmt.Sprintf("use %q", word), set(word, l.e.at(l.fields.Types.Field)))
}

// shownWord returns a word for display if it looks like one: a misplaced value may be anything,
// even a secret.
func shownWord(word string) string {
	const maxWordLen = 20
	if len(word) > maxWordLen || strings.ContainsAny(word, "0123456789") || plainName(word) != word {
		return "in this entry"
	}
	return quoted(word)
}

// plainName returns a name with - for everything but letters, digits, - and _.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, name)
}

// words returns all names of transports that the client accepts.
func (t Types) words() []string { return slices.Concat(t.Stdio, t.HTTP, t.SSE) }

// spelled returns the client's names for a transport.
func (t Types) spelled(transport Transport) []string {
	switch transport {
	case Stdio:
		return t.Stdio
	case HTTP, Auto:
		return t.HTTP
	case SSE:
		if len(t.SSE) == 0 && slices.Contains(t.HTTP, "remote") {
			return t.HTTP // one name for both
		}
		return t.SSE
	}
	return nil
}

// forURL returns the client's name for the transport that a URL suggests.
func (t Types) forURL(address string) string {
	return append(slices.Clone(t.spelled(guessed(address))), t.HTTP[0])[0]
}

// transportOf returns what a type means in any client.
func transportOf(word string) Transport {
	switch word = fold(word); {
	case slices.Contains(common().Stdio, word):
		return Stdio
	case slices.Contains(common().HTTP, word):
		return HTTP
	case slices.Contains(common().SSE, word):
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
	types := l.fields.Types
	assumed := map[string]Transport{"assumes sse": SSE, "assumes http": HTTP}[types.Bare]
	code, at, what, word := Code("type-missing"), l.outer, "the entry has no type", types.Stdio[0]
	switch {
	case l.renamed(types.Field), types.For == "", l.fields.NoRemote && address != "", address == "" && types.For != "always":
		return
	case address != "" && assumed == guessed(address):
		return
	case address != "":
		code, what, word = "url-without-type", fmt.Sprintf("the entry has a URL but no %q", types.Field), types.forURL(address)
		if m, ok := member(l.node, l.fields.URL); ok {
			at = m
		}
		if assumed == SSE {
			what += ", so " + l.client + " uses SSE"
		}
	}
	p := l.report(code, at, what, fmt.Sprintf("add %q: %q", types.Field, word), set(word, l.e.at(types.Field)))
	if address != "" && assumed != "" {
		p.needsReview() // it may work today with the client's default
	}
}

// required checks the required fields.
func (l entryLinter) required() {
	for _, name := range l.fields.Must {
		switch {
		case has(l.outer, name) || l.c.Place.Borrowed:
		case name == "tools":
			what, next := "the entry does not list the allowed tools", `add "tools": ["*"] to allow all tools`
			l.report("tools-missing", l.outer, what, next, set([]any{"*"}, l.e.Path, name))
		case name == "args" && has(l.node, l.fields.Command) && !l.renamed(name):
			l.report("field-missing", l.outer, "the entry has no list of arguments", `add "args": []`, set([]any{}, l.e.at(name)))
		case name == "name":
			fix := when(l.e.Name != "" && !l.c.Place.List, set(l.e.Name, l.e.Path, name))
			l.report("field-missing", l.outer, "the entry has no name field", "add the name", fix...)
		}
	}
}

// name checks the server's name.
func (l entryLinter) name() {
	switch rule := l.c.Client.Names; {
	case rule == "plain" && plainName(l.e.Name) != l.e.Name:
		l.report("name-refused", l.outer, fmt.Sprintf("the name contains characters that %s's own commands reject", l.client), "")
	case rule == "few underscores" && (strings.Contains(l.e.Name, "__") || strings.Count(l.e.Name, "_") > 1):
		l.report("name-underscores", l.outer, "the name contains several underscores", "")
	}
}
