package clientconfig

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

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
	if why := c.provenBothWays(e, edit); why != "" {
		return nil, Skipped(why)
	}
	return edit, nil
}

// Reasons why an entry is nothing for a program to change.
const (
	odd     = "it is written in a way that could not be given back exactly"
	sharing = "it shares a part with another entry (alias)"
)

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
	case c.aliased(e):
		return sharing
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
	if c.aliased(e) {
		return nil, Skipped(sharing)
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
	if flag := meaningful(e); flag != "" {
		return nil, Skipped("it was wrapped by hand with " + flag + ", which would be lost: write the entry anew by hand")
	}
	return c.unwrapByHand(e), nil // wrapped by a person, with flags of their own
}

// meaningful is a flag of a person's between run and the command that is more
// than a setting of the wrap: without it, another server would be started.
func meaningful(e *Entry) string {
	for _, word := range e.Spec.Args {
		if word == "--" {
			break
		}
		if name, _, _ := strings.Cut(word, "="); name == "--cwd" || name == "--url" || strings.HasPrefix(name, "--header") {
			return name
		}
	}
	return ""
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
	again := now.At(e.Path)
	return now.Strict == nil && again != nil && len(now.Entries) == len(c.Entries) && wanted(again) && c.sameBeside(now, e.Path)
}

// At is the entry at a place of the document; nil: there is none.
func (c *Config) At(path []any) *Entry {
	i := slices.IndexFunc(c.Entries, func(e Entry) bool { return slices.Equal(e.Path, path) })
	if i < 0 {
		return nil
	}
	return &c.Entries[i]
}

// provenBothWays says why an edit is not one that wraps an entry, leaves all
// else as it is, and can be taken back to the byte.
func (c *Config) provenBothWays(e *Entry, edit Edit) (why string) {
	file, err := edit.Apply(c.Format(), c.Text)
	if err != nil {
		return odd
	}
	wrapped := c.Home.ReadText(c.File, file)
	again := wrapped.At(e.Path)
	switch {
	case wrapped.Strict != nil:
		return odd
	case !c.sameBeside(wrapped, e.Path):
		return sharing
	case again == nil || !again.Wrapped || again.Inner == nil || len(wrapped.Entries) != len(c.Entries):
		return odd
	case again.Inner.Command != e.Spec.Command || !slices.Equal(again.Inner.Args, e.Spec.Args) || again.Inner.URL != e.Spec.URL:
		return odd
	}
	back, err := wrapped.Unwrap(again)
	if err != nil {
		return odd
	}
	original, err := back.Apply(c.Format(), file)
	if err != nil || !bytes.Equal(original, c.Text) {
		return odd
	}
	return ""
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
