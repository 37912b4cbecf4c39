package clientconfig

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/gauze-mcp/gauze/internal/text/sorting"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
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
			why = "the server is remote and cannot be wrapped: " + why
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
	notReversible = "gauze could not restore an entry of this form exactly"
	sharesAlias   = "the entry shares values with another entry through a YAML alias"
)

// whyNotWrapped returns why an entry cannot be wrapped, or "".
func (c *Config) whyNotWrapped(e *Entry) string {
	switch {
	case c.unparsed():
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
	case e.wrap != nil:
		return "the entry runs a program named gauze that may belong to the project"
	case isGauze(e.Spec.Command):
		return "the server is gauze itself"
	case e.Disabled:
		return "the server is disabled"
	case e.Spec.Command == "" && e.Spec.URL == "":
		return "the entry has neither a command nor a URL"
	case e.src.aliased():
		return sharesAlias
	}
	return ""
}

// Unwraps reports whether Unwrap may find a server in the entry.
func (e Entry) Unwraps() bool { return e.wrap != nil }

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
			return !now.Wrapped && e.wrap.runsServer(now.Spec)
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
	if e.wrap.runs.URL != "" || e.wrap.runs.Command == "" {
		return nil, errByHand
	}
	if flag := meaningful(e); flag != "" {
		return nil, Skipped("the server was wrapped by hand with " + flag + ", which would be lost; edit the entry by hand")
	}
	all := e.src.argv()[1+e.wrap.server:]
	return e.setWords(all[0], all[1:]), nil
}

// setWords writes a command and its arguments.
func (e *Entry) setWords(command string, args []string) Edit {
	if e.src.fields.Argv {
		return Edit{set(list(append([]string{command}, args...)), e.at(e.src.fields.Command))}
	}
	return Edit{set(command, e.at(e.src.fields.Command)), set(list(args), e.at(e.src.fields.Args))}
}

// unwrapping returns the edit that undoes Wrap, not yet verified.
func (c *Config) unwrapping(e *Entry) (exact Edit, err error) {
	switch {
	case e.wrap == nil:
		return nil, Skipped("the server is not wrapped")
	case c.Strict != nil || !c.utf8:
		return nil, Skipped("the client cannot parse this file")
	case e.wrap.runs.URL != "" && e.src.fields.NoRemote:
		return nil, Skipped("the client does not support URLs in this file")
	case e.src.aliased():
		return nil, Skipped(sharesAlias)
	case e.wrap.runs.URL != "":
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

// after returns the file after an edit that changes nothing but these entries, or the reason why the
// edit is not made.
func (c *Config) after(entries []*Entry, edit Edit) (now *Config, why string) {
	file, err := edit.Apply(c.Format(), c.Text)
	if err != nil {
		return nil, notReversible
	}
	var paths [][]any
	for _, e := range entries {
		paths = append(paths, e.Path)
	}
	switch now = c.Home.ReadText(c.File, file); {
	case now.Strict != nil:
		return nil, notReversible
	case !c.sameBeside(now, paths...):
		return nil, sharesAlias
	case len(now.Entries) != len(c.Entries):
		return nil, notReversible
	}
	return now, ""
}

// hasEffect reports whether an edit has the intended effect on the entries and none on anything
// else.
func (c *Config) hasEffect(entries []*Entry, edit Edit, wanted func(e, now *Entry) bool) bool {
	now, why := c.after(entries, edit)
	return why == "" && !slices.ContainsFunc(entries, func(e *Entry) bool {
		again := now.At(e.Path)
		return again == nil || !wanted(e, again)
	})
}

// verifiedBothWays returns why an edit does not wrap the entries, changes something else or cannot
// be reverted exactly, or "".
func (c *Config) verifiedBothWays(entries []*Entry, edit Edit) string {
	wrapped, why := c.after(entries, edit)
	if why != "" {
		return why
	}
	var back Edit
	for _, e := range entries {
		again := wrapped.At(e.Path)
		if again == nil || again.wrap == nil || !again.wrap.runsServer(e.Spec) {
			return notReversible
		}
		// The bytes below show that this leads back to the old entry.
		exact, err := wrapped.unwrapping(again)
		if err != nil {
			return notReversible
		}
		back = append(back, exact...)
	}
	original, err := backwards(back).Apply(c.Format(), wrapped.Text)
	if err != nil || !bytes.Equal(original, c.Text) {
		return notReversible
	}
	return ""
}

// runsServer reports whether a wrapped entry starts or reaches a server in the same way.
func (w *wrap) runsServer(s launch.Spec) bool {
	return w.runs.Command == s.Command && slices.Equal(w.runs.Args, s.Args) && w.runs.URL == s.URL
}

// backwards sorts changes so that none shifts the next.
func backwards(e Edit) Edit {
	sorting.Stable(e, func(a, b Change) int { return b.From - a.From })
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
	t := c.layout
	command, ok := t.locate(member(e.src.node, e.src.fields.Command))
	if !ok {
		return nil, notReversible
	}
	if e.src.fields.Argv {
		inserted, ok := t.insertion(command, slices.Concat([]string{quote(gauze), `"run"`}, e.named(), []string{`"--"`})...)
		if !ok {
			return nil, notReversible
		}
		return Edit{inserted}, ""
	}
	if command.Kind() != splice.StringKind {
		return nil, notReversible
	}
	edit := Edit{t.put(command.from, command.to, quote(gauze))}
	if args, there := member(e.src.node, e.src.fields.Args); there {
		list, ok := t.locate(args, args.Kind() == splice.ListKind)
		inserted, fits := t.insertion(list, slices.Concat([]string{`"run"`}, e.named(), []string{`"--"`, command.Raw()})...)
		if !ok || !fits {
			return nil, notReversible
		}
		return backwards(append(edit, inserted)), ""
	}
	name, between, ok := t.neighbour(e, command, e.src.fields.Command, e.src.fields.Args)
	if !ok {
		return nil, notReversible
	}
	edit[0].Text += between + name + "[" + strings.Join(slices.Concat([]string{`"run"`}, e.named(), []string{command.Raw()}), ", ") + "]"
	return edit, ""
}

// unwrapCommand reverts wrapCommand.
func (c *Config) unwrapCommand(e *Entry) Edit {
	t := c.layout
	command, ok := t.locate(member(e.src.node, e.src.fields.Command))
	if !ok {
		return nil
	}
	if e.src.fields.Argv {
		items, ok := t.items(command)
		dashes := afterName(items, 2)
		if !ok || len(items) <= dashes+1 || !isWord(items[dashes], "--") {
			return nil
		}
		return Edit{t.put(items[0].from, items[dashes+1].from, "")}
	}
	args, ok := t.locate(member(e.src.node, e.src.fields.Args))
	if !ok || command.Kind() != splice.StringKind {
		return nil
	}
	items, ok := t.items(args)
	at := afterName(items, 1) // of the dashes, or of the command if the entry had no arguments
	switch {
	case !ok || len(items) <= at:
		return nil
	case isWord(items[at], "--") && len(items) > at+1:
		end := items[at+1].to
		if len(items) > at+2 {
			end = items[at+2].from
		}
		return backwards(Edit{t.put(command.from, command.to, items[at+1].Raw()), t.put(items[0].from, end, "")})
	case len(items) == at+1 && args.from > command.to:
		start, _, ok := t.key(args, e.src.fields.Args)
		if !ok || strings.Trim(string(t.text[command.to:start]), ", \t\r\n") != "" {
			return nil
		}
		return Edit{t.put(command.from, args.to, items[at].Raw())}
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
