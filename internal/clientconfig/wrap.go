package clientconfig

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/splice"
)

// Skipped is why an entry is left as it is.
type Skipped string

func (s Skipped) Error() string { return string(s) }

// WrapOptions says how far to go.
type WrapOptions struct {
	Gauze  string // our program; empty: gauze
	Remote bool   // also servers behind a URL, whose login the client may hold
}

// Wrap puts gauze run in front of a server. Nothing that was there is lost:
// the words of the old command stay as they are written, behind ours, and Unwrap
// gives back every byte. The edit is proven both ways before it is handed out.
func (c *Config) Wrap(e *Entry, o WrapOptions) (Edit, error) {
	if o.Gauze == "" {
		o.Gauze = "gauze"
	}
	if why := c.unfit(e); why != "" {
		return nil, Skipped(why)
	}
	var edit Edit
	var why string
	switch {
	case e.Spec.URL == "":
		edit, why = c.wrapCommand(e, o.Gauze)
	case !o.Remote:
		why = "it is behind a URL, and the client may hold its login"
	default:
		edit, why = c.wrapURL(e, o.Gauze)
	}
	if why != "" {
		return nil, Skipped(why)
	}
	if !c.provenBothWays(e, edit) {
		return nil, Skipped("it is written in a way that could not be given back exactly")
	}
	return edit, nil
}

// unfit says why an entry is not wrapped.
func (c *Config) unfit(e *Entry) string {
	switch {
	case c.Strict != nil || c.Doc == nil:
		return "the client cannot read its file"
	case !utf8.Valid(c.Text):
		return "the file is not written in UTF-8"
	case c.Place.Old != "":
		return "the client does not read this file any more"
	case c.Place.Scope == Managed || c.Place.Scope == System:
		return "the file is the administrator's"
	case e.Builtin != "":
		return "it is a part of the client (" + e.Builtin + ")"
	case e.Wrapped:
		return "it is wrapped already"
	case isGauze(e.Spec.Command):
		return "it is gauze itself"
	case e.Disabled:
		return "it is switched off"
	case e.Spec.Command == "" && e.Spec.URL == "":
		return "it has nothing to start"
	}
	return ""
}

// Unwrap takes gauze run out again.
func (c *Config) Unwrap(e *Entry) (Edit, error) {
	if !e.Wrapped || e.Inner == nil {
		return nil, Skipped("it is not wrapped")
	}
	if c.Strict != nil || !utf8.Valid(c.Text) {
		return nil, Skipped("the client cannot read its file")
	}
	if e.Inner.URL != "" && e.fields.NoRemote {
		return nil, Skipped("the client takes no URL in this file")
	}
	exact := c.unwrapCommand(e)
	if e.Inner.URL != "" {
		exact = c.unwrapURL(e)
	}
	if exact != nil && c.leads(e, exact, func(now *Entry) bool {
		return !now.Wrapped && sameWords(now, e.Inner.Command, e.Inner.Args) && now.Spec.URL == e.Inner.URL
	}) {
		return exact, nil
	}
	if e.Inner.URL != "" || e.Inner.Command == "" {
		return nil, Skipped("it was wrapped by hand: the entry has to be written anew by hand, too")
	}
	return c.unwrapByHand(e), nil // wrapped by a person, with flags of their own
}

func sameWords(e *Entry, command string, args []string) bool {
	return e.Spec.Command == command && slices.Equal(e.Spec.Args, args)
}

// leads tells whether an edit makes of an entry what is wanted.
func (c *Config) leads(e *Entry, edit Edit, wanted func(*Entry) bool) bool {
	file, err := edit.Apply(c.Format(), c.Text)
	if err != nil {
		return false
	}
	now := c.Home.ReadText(c.File, file)
	again := now.at(e.Path)
	return now.Strict == nil && again != nil && len(now.Entries) == len(c.Entries) && wanted(again)
}

func (c *Config) at(path []any) *Entry {
	i := slices.IndexFunc(c.Entries, func(e Entry) bool { return slices.Equal(e.Path, path) })
	if i < 0 {
		return nil
	}
	return &c.Entries[i]
}

func (c *Config) provenBothWays(e *Entry, edit Edit) bool {
	file, err := edit.Apply(c.Format(), c.Text)
	if err != nil {
		return false
	}
	wrapped := c.Home.ReadText(c.File, file)
	again := wrapped.at(e.Path)
	if wrapped.Strict != nil || again == nil || !again.Wrapped || again.Inner == nil || len(wrapped.Entries) != len(c.Entries) {
		return false
	}
	if again.Inner.Command != e.Spec.Command || !slices.Equal(again.Inner.Args, e.Spec.Args) || again.Inner.URL != e.Spec.URL {
		return false
	}
	back, err := wrapped.Unwrap(again)
	if err != nil {
		return false
	}
	original, err := back.Apply(c.Format(), file)
	return err == nil && bytes.Equal(original, c.Text)
}

// located is a value with its place in the file.
type located struct {
	splice.Node
	from, to int
}

func (c *Config) locate(n splice.Node, ok bool) (located, bool) {
	if !ok || n.Raw() == "" {
		return located{}, false
	}
	line, column := n.Place()
	from := offset(string(c.Text), line, column)
	l := located{n, from, from + len(n.Raw())}
	return l, l.to <= len(c.Text) && string(c.Text[l.from:l.to]) == n.Raw()
}

func (c *Config) items(list located) (all []located, ok bool) {
	for _, n := range list.Items() {
		item, ok := c.locate(n, true)
		if !ok {
			return nil, false
		}
		all = append(all, item)
	}
	return all, true
}

func (c *Config) put(from, to int, text string) Change {
	return Change{Do: Put, From: from, To: to, Old: string(c.Text[from:to]), Text: text}
}

// backwards sorts changes so that each leaves the places of the next alone.
func backwards(e Edit) Edit {
	slices.SortFunc(e, func(a, b Change) int { return b.From - a.From })
	return e
}

// quote writes a word as all four formats read it.
func quote(word string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(word) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// wrapCommand inserts ours before the first word. Arguments that were there
// begin behind "run" and "--"; without the dashes there were none at all, not
// even an empty list.
func (c *Config) wrapCommand(e *Entry, gauze string) (Edit, string) {
	const odd = "it is written in a way that could not be given back exactly"
	command, ok := c.locate(member(e.node, e.fields.Command))
	if !ok {
		return nil, odd
	}
	if e.fields.Argv {
		inserted, ok := c.insertion(command, quote(gauze), `"run"`, `"--"`)
		if !ok {
			return nil, odd
		}
		return Edit{inserted}, ""
	}
	if command.Kind() != splice.StringKind {
		return nil, odd
	}
	edit := Edit{c.put(command.from, command.to, quote(gauze))}
	if args, there := member(e.node, e.fields.Args); there {
		list, ok := c.locate(args, args.Kind() == splice.ListKind)
		inserted, fits := c.insertion(list, `"run"`, `"--"`, command.Raw())
		if !ok || !fits {
			return nil, odd
		}
		return backwards(append(edit, inserted)), ""
	}
	name, between, ok := c.neighbour(e, command, e.fields.Command, e.fields.Args)
	if !ok {
		return nil, odd
	}
	edit[0].Text += between + name + `["run", ` + command.Raw() + "]"
	return edit, ""
}

// insertion puts words before the first of a list, in the list's own style.
func (c *Config) insertion(list located, words ...string) (Change, bool) {
	if list.to == 0 {
		return Change{}, false
	}
	items, ok := c.items(list)
	text := string(c.Text)
	bracketed := text[list.from] == '['
	switch {
	case !ok || len(items) == 0 && !bracketed:
		return Change{}, false
	case len(items) == 0:
		return c.put(list.from+1, list.from+1, strings.Join(words, ", ")), true
	}
	first := items[0].from
	start := strings.LastIndexByte(text[:first], '\n') + 1
	margin := text[start:first]
	gap := ", "
	switch alone := strings.TrimSpace(margin) == ""; {
	case !bracketed && strings.Trim(margin, " ") == "-":
		gap = c.newline() + margin
	case !bracketed:
		return Change{}, false
	case alone:
		gap = "," + c.newline() + margin
	case len(items) > 1:
		if between := text[items[0].to:items[1].from]; strings.Trim(between, " \t") == "," && between[0] == ',' {
			gap = between
		}
	}
	return c.put(first, first, strings.Join(words, gap)+gap), true
}

func (c *Config) newline() string {
	if bytes.Contains(c.Text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// neighbour is how a new member is written behind an old one: its key, and
// what comes between them.
func (c *Config) neighbour(e *Entry, value located, key, name string) (written, between string, ok bool) {
	start, sign, ok := c.key(value, key)
	if !ok {
		return "", "", false
	}
	text := string(c.Text)
	raw := e.node.Raw()
	inBraces := strings.HasPrefix(raw, "{")
	written = name + sign
	if c.Format() == splice.JSON || c.Format() == splice.JSONC {
		written = quote(name) + sign
	}
	line := strings.LastIndexByte(text[:start], '\n') + 1
	margin := text[line:start]
	alone := strings.Trim(margin, " \t-") == ""
	indent := strings.ReplaceAll(margin, "-", " ")
	switch {
	case inBraces && alone:
		return written, "," + c.newline() + indent, true
	case inBraces:
		return written, ", ", true
	case alone:
		return written, c.newline() + indent, true
	}
	return "", "", false
}

// key is where the key of a value begins, and what stands between the two.
func (c *Config) key(value located, name string) (start int, sign string, ok bool) {
	before := string(c.Text[:value.from])
	trimmed := strings.TrimRight(before, " \t\r\n:=")
	sign = before[len(trimmed):]
	for _, written := range []string{quote(name), name} {
		if strings.HasSuffix(trimmed, written) {
			return len(trimmed) - len(written), sign, strings.Trim(sign, " \t") == ":" || strings.Trim(sign, " \t") == "="
		}
	}
	return 0, "", false
}

// unwrapCommand is the way back.
func (c *Config) unwrapCommand(e *Entry) Edit {
	command, ok := c.locate(member(e.node, e.fields.Command))
	if !ok {
		return nil
	}
	const ours = 3
	if e.fields.Argv {
		items, ok := c.items(command)
		if !ok || len(items) <= ours || !isWord(items[2], "--") {
			return nil
		}
		return Edit{c.put(items[0].from, items[ours].from, "")}
	}
	args, ok := c.locate(member(e.node, e.fields.Args))
	if !ok || command.Kind() != splice.StringKind {
		return nil
	}
	items, ok := c.items(args)
	switch {
	case !ok || len(items) < 2:
		return nil
	case isWord(items[1], "--") && len(items) > ours:
		return backwards(Edit{c.put(command.from, command.to, items[2].Raw()), c.put(items[0].from, items[ours].from, "")})
	case isWord(items[1], "--") && len(items) == ours:
		return backwards(Edit{c.put(command.from, command.to, items[2].Raw()), c.put(items[0].from, items[2].to, "")})
	case len(items) == 2 && args.from > command.to:
		start, _, ok := c.key(args, e.fields.Args)
		if !ok || strings.Trim(string(c.Text[command.to:start]), ", \t\r\n") != "" {
			return nil
		}
		return Edit{c.put(command.from, args.to, items[1].Raw())}
	}
	return nil
}

func isWord(n located, word string) bool {
	s, ok := text(n.Node)
	return ok && s == word
}

// unwrapByHand writes what stands behind our words into the entry.
func (c *Config) unwrapByHand(e *Entry) Edit {
	path := e.Path
	if inner, ok := member(e.outer, e.fields.Nest); ok && inner.Kind() == splice.MapKind {
		path = below(path, e.fields.Nest)
	}
	all := words(mustMember(e.node, e.fields.Args))
	if e.fields.Argv {
		all = words(mustMember(e.node, e.fields.Command))
	}
	if at := slices.Index(all, "--"); at >= 0 {
		all = all[at+1:]
	} else {
		all = all[slices.Index(all, "run")+1:]
	}
	if e.fields.Argv {
		return Edit{set(list(all), path, e.fields.Command)}
	}
	return Edit{set(all[0], path, e.fields.Command), set(list(all[1:]), path, e.fields.Args)}
}

func mustMember(n splice.Node, name string) splice.Node {
	m, _ := member(n, name)
	return m
}

// wrapURL makes a program of an address: the members stay where they are and
// change their names. The values of headers go through the environment.
func (c *Config) wrapURL(e *Entry, gauze string) (Edit, string) {
	f, d := e.fields, e.Client.Dialect
	address, ok := c.locate(member(e.node, f.URL))
	start, sign, keyed := c.key(address, f.URL)
	kind, hasType := c.locate(member(e.node, f.Type))
	switch {
	case c.Format() != splice.JSON && c.Format() != splice.JSONC:
		return nil, "it is behind a URL, and such entries are wrapped in JSON only"
	case !ok || !keyed || has(e.node, f.Command) || f.Args != "" && has(e.node, f.Args) || has(e.node, f.Env):
		return nil, "it has members of a program and of a URL"
	case slices.ContainsFunc([]string{"oauth", "auth", "headersHelper", "oidc", "oauthClient", "oauthClientId", "apiKey"}, func(name string) bool { return has(e.outer, name) }):
		return nil, "the client logs in for it"
	case hasType && !isWord(kind, f.HTTP[0]):
		return nil, "its type could not be given back"
	case d.In&reference.Args == 0 && len(reference.Find(e.url())) > 0 && d.In&reference.URL != 0:
		return nil, "the client expands references in URLs, but not in arguments"
	}
	var edit Edit
	flags := ""
	if headers, there := member(e.node, f.Headers); there {
		located, ok := c.locate(headers, headers.Kind() == splice.MapKind)
		from, _, keyed := c.key(located, f.Headers)
		if !ok || !keyed || d.In&reference.Headers != 0 && d.In&reference.Environment == 0 {
			return nil, "its headers could not be given back"
		}
		edit = append(edit, c.put(from, from+len(quote(f.Headers)), quote(f.Env)))
		i := 0
		for name, n := range headers.Members() {
			value, ok := c.locate(n, n.Kind() == splice.StringKind)
			from, _, keyed := c.key(value, name)
			if !ok || !keyed {
				return nil, "its headers could not be given back"
			}
			edit = append(edit, c.put(from, from+len(quote(name)), quote(headerVariable(i))))
			flags += `"--header-env", ` + quote(name+"="+headerVariable(i)) + ", "
			i++
		}
	}
	if hasType {
		edit = append(edit, c.put(kind.from, kind.to, quote(f.Stdio[0])))
	}
	if f.Argv {
		edit = append(edit, c.put(start, address.to, quote(f.Command)+sign+"["+quote(gauze)+`, "run", `+flags+`"--url", `+address.Raw()+"]"))
	} else {
		edit = append(edit, c.put(start, address.to, quote(f.Command)+sign+quote(gauze)+", "+quote(f.Args)+sign+`["run", `+flags+`"--url", `+address.Raw()+"]"))
	}
	return backwards(edit), ""
}

// unwrapURL is the way back, for what wrapURL wrote.
func (c *Config) unwrapURL(e *Entry) Edit {
	f := e.fields
	command, ok := c.locate(member(e.node, f.Command))
	argv := command
	if !f.Argv {
		argv, ok = c.locate(member(e.node, f.Args))
	}
	start, sign, keyed := c.key(command, f.Command)
	items, all := c.items(argv)
	if !ok || !keyed || !all || len(items) < 3 || !isWord(items[len(items)-2], "--url") {
		return nil
	}
	edit := Edit{c.put(start, argv.to, quote(f.URL)+sign+items[len(items)-1].Raw())}
	if kind, there := c.locate(member(e.node, f.Type)); there && f.Type != "" {
		edit = append(edit, c.put(kind.from, kind.to, quote(f.HTTP[0])))
	}
	env, there := member(e.node, f.Env)
	if !there {
		return backwards(edit)
	}
	located, ok := c.locate(env, true)
	from, _, keyed := c.key(located, f.Env)
	if !ok || !keyed {
		return nil
	}
	edit = append(edit, c.put(from, from+len(quote(f.Env)), quote(f.Headers)))
	names := map[string]string{}
	for i, item := range items[:len(items)-1] {
		if isWord(item, "--header-env") {
			pair, _ := text(items[i+1].Node)
			name, variable, _ := cutLast(pair, "=")
			names[variable] = name
		}
	}
	for variable, n := range env.Members() {
		value, ok := c.locate(n, true)
		from, _, keyed := c.key(value, variable)
		name, ours := names[variable]
		if !ok || !keyed || !ours {
			return nil
		}
		edit = append(edit, c.put(from, from+len(quote(variable)), quote(name)))
	}
	return backwards(edit)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
