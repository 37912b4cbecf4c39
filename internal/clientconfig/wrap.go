package clientconfig

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/gauze-mcp/gauze/internal/splice"
)

// Skipped is the reason why an entry is not changed.
type Skipped string

func (s Skipped) Error() string { return string(s) }

// ErrRemote reports a server that is not wrapped because it is remote.
const ErrRemote = Skipped("the server is remote, and the client may be logged in to it")

// WrapOptions configure Wrap.
type WrapOptions struct {
	Gauze  string // path of gauze; empty for gauze. A shared file has the name only: see Program
	Remote bool   // include remote servers; the client's own login is not used then
}

// Wrap runs a server through gauze run. Nothing is lost: the old command stays as written, after
// ours, and Unwrap restores every byte. The edit is verified in both directions before it is
// returned.
func (c *Config) Wrap(e *Entry, o WrapOptions) (Edit, error) {
	edit, skipped := c.WrapAll([]*Entry{e}, o)
	return edit, skipped[0]
}

// WrapAll is Wrap for several entries. It returns one edit for all that can be wrapped and, for
// each entry, nil or the reason why it is not.
func (c *Config) WrapAll(entries []*Entry, o WrapOptions) (Edit, []error) {
	return c.together(entries, func(e *Entry) (Edit, error) { return c.wrapping(e, o) }, c.verifiedBothWays)
}

// wrapping returns the edit that wraps an entry, not yet verified.
func (c *Config) wrapping(e *Entry, o WrapOptions) (edit Edit, err error) {
	o.Gauze = c.Program(o.Gauze)
	why := c.whyNotWrapped(e)
	switch {
	case why != "":
	case e.Spec.URL == "":
		edit, why = c.wrapCommand(e, o.Gauze)
	default:
		if edit, why = c.wrapURL(e, o.Gauze); !o.Remote && why == "" {
			return nil, ErrRemote
		}
		if !o.Remote {
			why = "the server is remote, and cannot be wrapped: " + why
		}
	}
	if why != "" {
		return nil, Skipped(why)
	}
	return edit, nil
}

// Program returns how the file refers to the gauze at a path: by name if others also use the file,
// because theirs is elsewhere.
func (c *Config) Program(gauze string) string {
	if gauze == "" || c.shared() {
		return "gauze"
	}
	return gauze
}

// ByName reports whether the entries of a shared file need gauze on the PATH of everyone who uses
// it.
func (c *Config) ByName() bool {
	return c.shared() && slices.ContainsFunc(c.Entries, func(e Entry) bool { return e.Wrapped && e.Spec.Command == "gauze" })
}

// Reasons why a program cannot change an entry.
const (
	notReversible = "the entry is written in a form that gauze could not restore exactly"
	sharesAlias   = "the entry shares values with another entry through a YAML alias"
)

// whyNotWrapped returns why an entry cannot be wrapped, or "".
func (c *Config) whyNotWrapped(e *Entry) string {
	switch {
	case c.Strict != nil || c.Doc == nil:
		return "the client cannot parse this file"
	case !c.utf8:
		return "the file is not valid UTF-8"
	case c.Place.Old != "":
		return "the client no longer reads this file"
	case c.Place.Scope == Managed || c.Place.Scope == System:
		return "the file is managed by the administrator"
	case e.Builtin != "":
		return "the server is built into the client (" + e.Builtin + ")"
	case e.Wrapped:
		return "the server is already wrapped"
	case e.runs != nil:
		return "the entry runs a program called gauze that may belong to the project"
	case isGauze(e.Spec.Command):
		return "the server is gauze itself"
	case e.Disabled:
		return "the server is disabled"
	case e.Spec.Command == "" && e.Spec.URL == "":
		return "the entry has neither a command nor a URL"
	case c.aliased(e):
		return sharesAlias
	}
	return ""
}

// Unwraps reports whether Unwrap may find a server in the entry.
func (e Entry) Unwraps() bool { return e.runs != nil }

// Unwrap undoes Wrap.
func (c *Config) Unwrap(e *Entry) (Edit, error) {
	edit, skipped := c.UnwrapAll([]*Entry{e})
	if skipped[0] == errByHand {
		return c.UnwrapByHand(e)
	}
	return edit, skipped[0]
}

// errByHand reports an entry that is wrapped, but not as Wrap would have written it.
var errByHand = Skipped("the server was wrapped by hand; edit the entry by hand")

// UnwrapAll is Unwrap for several entries that Wrap has wrapped. It returns one edit for all of
// them and, for each entry, nil or the reason why it is not changed. ByHand identifies those that
// need UnwrapByHand.
func (c *Config) UnwrapAll(entries []*Entry) (Edit, []error) {
	return c.together(entries, c.unwrapping, func(entries []*Entry, edit Edit) string {
		if c.hasEffect(entries, edit, func(e, now *Entry) bool {
			return !now.Wrapped && sameWords(now, e.runs.Command, e.runs.Args) && now.Spec.URL == e.runs.URL
		}) {
			return ""
		}
		return string(errByHand)
	})
}

// ByHand reports whether an error of UnwrapAll concerns an entry that was wrapped by hand.
func ByHand(err error) bool { return err == errByHand }

// UnwrapByHand unwraps an entry that was wrapped by hand.
func (c *Config) UnwrapByHand(e *Entry) (Edit, error) {
	if e.runs.URL != "" || e.runs.Command == "" {
		return nil, errByHand
	}
	if flag := meaningful(e); flag != "" {
		return nil, Skipped("the server was wrapped by hand with " + flag + ", which would be lost; edit the entry by hand")
	}
	return c.unwrapByHand(e), nil
}

// unwrapping returns the edit that undoes Wrap, not yet verified.
func (c *Config) unwrapping(e *Entry) (exact Edit, err error) {
	switch {
	case e.runs == nil:
		return nil, Skipped("the server is not wrapped")
	case c.Strict != nil || !c.utf8:
		return nil, Skipped("the client cannot parse this file")
	case e.runs.URL != "" && e.fields.NoRemote:
		return nil, Skipped("the client does not support URLs in this file")
	case c.aliased(e):
		return nil, Skipped(sharesAlias)
	case e.runs.URL != "":
		exact = c.unwrapURL(e)
	default:
		exact = c.unwrapCommand(e)
	}
	if exact == nil {
		return nil, errByHand
	}
	return exact, nil
}

// meaningful returns a flag between run and the command that is more than a setting of gauze run:
// without it, a different server would start.
func meaningful(e *Entry) string {
	for _, word := range e.wrap.flags {
		if name, _, _ := strings.Cut(word, "="); name == "--cwd" || strings.HasPrefix(name, "--header") {
			return name
		}
	}
	return ""
}

func sameWords(e *Entry, command string, args []string) bool {
	return e.Spec.Command == command && slices.Equal(e.Spec.Args, args)
}

// together returns one edit for several entries. Each has its own edit, and the result is verified
// as a whole; proof returns why it fails. If it fails, the halves are tried separately, so that an
// entry that cannot be changed does not affect the others, and many entries cost little more than
// one.
func (c *Config) together(entries []*Entry, edit func(*Entry) (Edit, error), proof func([]*Entry, Edit) string) (Edit, []error) {
	skipped := make([]error, len(entries))
	edits := make([]Edit, len(entries))
	var candidates []int
	for i, e := range entries {
		if edits[i], skipped[i] = edit(e); skipped[i] == nil {
			candidates = append(candidates, i)
		}
	}
	var proven Edit
	var accepted []int
	var add func(candidates []int)
	add = func(candidates []int) {
		if len(candidates) == 0 {
			return
		}
		var all Edit
		var chosen []*Entry
		for _, i := range slices.Concat(accepted, candidates) {
			all, chosen = append(all, edits[i]...), append(chosen, entries[i])
		}
		why := proof(chosen, backwards(all))
		switch {
		case why == "":
			proven, accepted = all, append(accepted, candidates...)
		case len(candidates) == 1:
			skipped[candidates[0]] = Skipped(why)
		default:
			add(candidates[:len(candidates)/2])
			add(candidates[len(candidates)/2:])
		}
	}
	add(candidates)
	return proven, skipped
}

// hasEffect reports whether an edit has the intended effect on the entries and none on anything
// else.
func (c *Config) hasEffect(entries []*Entry, edit Edit, wanted func(e, now *Entry) bool) bool {
	file, err := edit.Apply(c.Format(), c.Text)
	if err != nil {
		return false
	}
	now := c.Home.ReadText(c.File, file)
	if now.Strict != nil || len(now.Entries) != len(c.Entries) {
		return false
	}
	for _, e := range entries {
		if again := now.At(e.Path); again == nil || !wanted(e, again) {
			return false
		}
	}
	return c.sameBeside(now, pathsOf(entries)...)
}

func pathsOf(entries []*Entry) (all [][]any) {
	for _, e := range entries {
		all = append(all, e.Path)
	}
	return all
}

// verifiedBothWays returns why an edit does not wrap the entries, changes something else or cannot
// be reverted exactly, or "".
func (c *Config) verifiedBothWays(entries []*Entry, edit Edit) (why string) {
	file, err := edit.Apply(c.Format(), c.Text)
	if err != nil {
		return notReversible
	}
	wrapped := c.Home.ReadText(c.File, file)
	switch {
	case wrapped.Strict != nil:
		return notReversible
	case !c.sameBeside(wrapped, pathsOf(entries)...):
		return sharesAlias
	case len(wrapped.Entries) != len(c.Entries):
		return notReversible
	}
	var back Edit
	for _, e := range entries {
		again := wrapped.At(e.Path)
		if again == nil || again.runs == nil ||
			again.runs.Command != e.Spec.Command || !slices.Equal(again.runs.Args, e.Spec.Args) || again.runs.URL != e.Spec.URL {
			return notReversible
		}
		// The bytes below show that this leads back to the old entry.
		exact, err := wrapped.unwrapping(again)
		if err != nil {
			return notReversible
		}
		back = append(back, exact...)
	}
	original, err := backwards(back).Apply(c.Format(), file)
	if err != nil || !bytes.Equal(original, c.Text) {
		return notReversible
	}
	return ""
}

// backwards sorts changes so that none shifts the next.
func backwards(e Edit) Edit {
	slices.SortFunc(e, func(a, b Change) int { return b.From - a.From })
	return e
}

// quote writes a string in a form that all four formats accept.
func quote(word string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(word) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// nameFlag is the flag with which gauze run is told the name of the entry.
const nameFlag = "--name="

// named returns the words of gauze run that give the server the name of its entry: none if a client, or
// the shell in which some clients start servers, could read more than a name in it.
func (e *Entry) named() []string {
	special := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-@/:+", r)
	}
	if e.Name == "" || strings.ContainsFunc(e.Name, special) {
		return nil
	}
	return []string{quote(nameFlag + e.Name)}
}

// wrapCommand inserts gauze run before the command. The original arguments follow "run", the name and
// "--"; without the dashes, the entry had no list of arguments at all.
func (c *Config) wrapCommand(e *Entry, gauze string) (Edit, string) {
	command, ok := c.locate(member(e.node, e.fields.Command))
	if !ok {
		return nil, notReversible
	}
	if e.fields.Argv {
		inserted, ok := c.insertion(command, slices.Concat([]string{quote(gauze), `"run"`}, e.named(), []string{`"--"`})...)
		if !ok {
			return nil, notReversible
		}
		return Edit{inserted}, ""
	}
	if command.Kind() != splice.StringKind {
		return nil, notReversible
	}
	edit := Edit{c.put(command.from, command.to, quote(gauze))}
	if args, there := member(e.node, e.fields.Args); there {
		list, ok := c.locate(args, args.Kind() == splice.ListKind)
		inserted, fits := c.insertion(list, slices.Concat([]string{`"run"`}, e.named(), []string{`"--"`, command.Raw()})...)
		if !ok || !fits {
			return nil, notReversible
		}
		return backwards(append(edit, inserted)), ""
	}
	name, between, ok := c.neighbour(e, command, e.fields.Command, e.fields.Args)
	if !ok {
		return nil, notReversible
	}
	edit[0].Text += between + name + "[" + strings.Join(slices.Concat([]string{`"run"`}, e.named(), []string{command.Raw()}), ", ") + "]"
	return edit, ""
}

// insertion inserts words at the start of a list, in the list's own style.
func (c *Config) insertion(list located, words ...string) (Change, bool) {
	if list.to == 0 {
		return Change{}, false
	}
	items, ok := c.items(list)
	text := c.Text
	bracketed := text[list.from] == '['
	switch {
	case !ok || len(items) == 0 && !bracketed:
		return Change{}, false
	case len(items) == 0:
		return c.put(list.from+1, list.from+1, strings.Join(words, ", ")), true
	}
	first := items[0].from
	margin := c.margin(first)
	gap := ", "
	switch alone := strings.TrimSpace(margin) == ""; {
	case !bracketed && strings.Trim(margin, " ") == "-":
		gap = c.newline() + margin
	case !bracketed:
		return Change{}, false
	case alone:
		gap = "," + c.newline() + margin
	case len(items) > 1:
		if between := string(text[items[0].to:items[1].from]); strings.Trim(between, " \t") == "," && between[0] == ',' {
			gap = between
		}
	}
	return c.put(first, first, strings.Join(words, gap)+gap), true
}

func (c *Config) newline() string {
	if c.crlf {
		return "\r\n"
	}
	return "\n"
}

// margin returns the text before a position on its line, if it consists of blanks and dashes only.
func (c *Config) margin(at int) string {
	start := at
	for start > 0 && strings.IndexByte(" \t\r-", c.Text[start-1]) >= 0 {
		start--
	}
	if start > 0 && c.Text[start-1] != '\n' {
		return "..."
	}
	return string(c.Text[start:at])
}

// neighbour returns how to write a new field after an existing one: the key, and the text between
// them.
func (c *Config) neighbour(e *Entry, value located, key, name string) (written, between string, ok bool) {
	start, sign, ok := c.key(value, key)
	if !ok {
		return "", "", false
	}
	raw := e.node.Raw()
	inBraces := strings.HasPrefix(raw, "{")
	written = name + sign
	if c.Format() == splice.JSON || c.Format() == splice.JSONC {
		written = quote(name) + sign
	}
	margin := c.margin(start)
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

// unwrapCommand reverts wrapCommand.
func (c *Config) unwrapCommand(e *Entry) Edit {
	command, ok := c.locate(member(e.node, e.fields.Command))
	if !ok {
		return nil
	}
	if e.fields.Argv {
		items, ok := c.items(command)
		dashes := afterName(items, 2)
		if !ok || len(items) <= dashes+1 || !isWord(items[dashes], "--") {
			return nil
		}
		return Edit{c.put(items[0].from, items[dashes+1].from, "")}
	}
	args, ok := c.locate(member(e.node, e.fields.Args))
	if !ok || command.Kind() != splice.StringKind {
		return nil
	}
	items, ok := c.items(args)
	at := afterName(items, 1) // of the dashes, or of the command if the entry had no arguments
	switch {
	case !ok || len(items) <= at:
		return nil
	case isWord(items[at], "--") && len(items) > at+2:
		return backwards(Edit{c.put(command.from, command.to, items[at+1].Raw()), c.put(items[0].from, items[at+2].from, "")})
	case isWord(items[at], "--") && len(items) == at+2:
		return backwards(Edit{c.put(command.from, command.to, items[at+1].Raw()), c.put(items[0].from, items[at+1].to, "")})
	case len(items) == at+1 && args.from > command.to:
		start, _, ok := c.key(args, e.fields.Args)
		if !ok || strings.Trim(string(c.Text[command.to:start]), ", \t\r\n") != "" {
			return nil
		}
		return Edit{c.put(command.from, args.to, items[at].Raw())}
	}
	return nil
}

// afterName returns the position after the name of the server, which is at position at if the entry
// has it.
func afterName(items []located, at int) int {
	if at < len(items) {
		if word, ok := text(items[at].Node); ok && strings.HasPrefix(word, nameFlag) {
			return at + 1
		}
	}
	return at
}

func isWord(n located, word string) bool {
	s, ok := text(n.Node)
	return ok && s == word
}

// unwrapByHand writes the wrapped command into the entry.
func (c *Config) unwrapByHand(e *Entry) Edit {
	path := e.Path
	if inner, ok := member(e.outer, e.fields.Nest); ok && inner.Kind() == splice.MapKind {
		path = below(path, e.fields.Nest)
	}
	all := e.argv()[1+e.wrap.server:]
	if e.fields.Argv {
		return Edit{set(list(all), path, e.fields.Command)}
	}
	return Edit{set(all[0], path, e.fields.Command), set(list(all[1:]), path, e.fields.Args)}
}

func mustMember(n splice.Node, name string) splice.Node {
	m, _ := member(n, name)
	return m
}
