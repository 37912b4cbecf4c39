package clientconfig

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Add adds a server to the file, or replaces the one with the same name. The entry is what Render
// returned for this client.
func (c *Config) Add(name string, entry splice.Map) Edit {
	if e := c.Entry(name); e != nil {
		return Edit{set(entry, e.Path)}
	}
	at := c.servers
	if at == nil {
		at = c.keys()[len(c.keys())-1]
		if len(at) == 0 {
			at = c.keys()[0]
		}
	}
	if c.Place.List {
		return Edit{set(entry, at, len(c.Entries))}
	}
	return Edit{set(entry, at, name)}
}

// Entry returns the first server with this name, or nil.
func (c *Config) Entry(name string) *Entry {
	i := slices.IndexFunc(c.Entries, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Entries[i]
}

// Fields returns the field names of this file.
func (c *Config) Fields() Fields { return c.fields }

// Remove removes a server from the file.
func (c *Config) Remove(e *Entry) Edit { return Edit{remove(e.Path)} }

// ToURL makes an entry that starts a command reach a URL instead, in the client's own form; gauze is the
// path of gauze, for clients without URLs. What is not about the command stays. It returns false if the
// client would not read the entry that way.
func (c *Config) ToURL(e *Entry, address string, spoken Transport, gauze string) (edit Edit, ok bool) {
	if c.unparsed() || e.Wrapped || e.Spec.URL != "" {
		return nil, false
	}
	fields := c.Fields()
	options := RenderOptions{Fields: &fields, Name: e.Name, Transport: spoken, Gauze: c.Program(gauze)}
	entry, err := c.Client.Render(launch.Spec{URL: address}, options)
	if err != nil {
		return nil, false
	}
	f := e.src.fields
	for _, name := range []string{f.Command, f.Args, f.Env, f.EnvNames, f.Cwd, f.Types.Field, f.Nest} {
		written := slices.ContainsFunc(entry, func(m splice.Member) bool { return m.Name == name })
		if name != "" && has(e.src.outer, name) && !written {
			edit = append(edit, remove(e.Path, name))
		}
	}
	for _, m := range entry {
		edit = append(edit, set(m.Value, e.Path, m.Name))
	}
	return edit, c.hasEffect([]*Entry{e}, edit, func(_, now *Entry) bool {
		return now.Spec.URL == address || now.Inner != nil && now.Inner.URL == address
	})
}

// Healed writes what made a server work into its entry: a different program, arguments before its
// own, a URL, variables (only those in Env), a transport. Fields that need not change stay as they
// are, including references. It returns false if it cannot express the change this way.
func (c *Config) Healed(e *Entry, s launch.Spec, spoken Transport) (edit Edit, ok bool) {
	f, path := e.src.fields, e.at()
	switch {
	case c.Doc == nil || e.Wrapped:
		return nil, false
	case s.URL != "" && s.URL != e.Spec.URL:
		if e.Spec.URL == "" || e.src.url() != e.Spec.URL { // a program or a reference needs a manual change
			return nil, false
		}
		edit = append(edit, set(s.URL, path, e.src.urlField()))
	case c.shared() && s.Command != e.Spec.Command && filepath.IsAbs(s.Command):
		return nil, false // where one person has the program
	case s.Command != "" && (s.Command != e.Spec.Command || !slices.Equal(s.Args, e.Spec.Args)):
		more, ok := e.healedWords(s)
		if !ok {
			return nil, false
		}
		edit = append(edit, more...)
	}
	for _, pair := range s.Env {
		name, value, _ := strings.Cut(pair, "=")
		if f.Env == "" {
			return nil, false
		}
		edit = append(edit, set(value, path, append(steps(f.Env), name)...))
	}
	if words := map[Transport][]string{HTTP: f.Types.HTTP, SSE: f.Types.SSE}[spoken]; spoken != "" && f.Types.Field != "" && len(words) > 0 {
		edit = append(edit, set(words[0], path, f.Types.Field))
	}
	return edit, len(edit) > 0
}

// healedWords changes the command. Existing arguments stay as written, at the end.
func (e *Entry) healedWords(s launch.Spec) (Edit, bool) {
	added := len(s.Args) - len(e.Spec.Args)
	old := e.src.argv()
	if added < 0 || !slices.Equal(s.Args[added:], e.Spec.Args) || !e.plainCommand() || len(old) == 0 {
		return nil, false
	}
	edit := e.setWords(s.Command, slices.Concat(s.Args[:added], old[1:]))
	if added == 0 {
		edit = edit[:1]
	}
	return edit, true
}

// plainCommand reports whether the command is a list where the client expects one, and otherwise a string.
func (e *Entry) plainCommand() bool {
	kind := splice.StringKind
	if e.src.fields.Argv {
		kind = splice.ListKind
	}
	command, ok := member(e.src.node, e.src.fields.Command)
	return ok && command.Kind() == kind
}

// ReplaceSpec replaces the command or the URL of an entry and leaves its other fields unchanged. It
// returns false if a command would have to become a URL or vice versa.
func (c *Config) ReplaceSpec(e *Entry, s launch.Spec) (edit Edit, ok bool) {
	switch {
	case c.Doc == nil || e.Wrapped || (s.URL == "") != (e.Spec.URL == ""):
		return nil, false
	case s.URL != "":
		return Edit{set(s.URL, e.at(), e.src.urlField())}, true
	case !e.plainCommand():
		return nil, false
	case e.src.fields.Argv:
		return e.setWords(s.Command, s.Args), true
	}
	changed := []bool{s.Command != e.Spec.Command, !slices.Equal(s.Args, e.Spec.Args)}
	for i, change := range e.setWords(s.Command, s.Args) {
		if changed[i] {
			edit = append(edit, change)
		}
	}
	return edit, len(edit) > 0
}

// Revalue changes single arguments and variables of an entry, which may be wrapped. was and now are
// the server itself, without gauze run, as Written returns it. It returns false if something else
// differs, or if a value is not written in the entry in a form that can be replaced.
func (c *Config) Revalue(e *Entry, was, now launch.Spec) (edit Edit, ok bool) {
	if c.unparsed() || was.Command != now.Command || was.URL != now.URL || was.Dir != now.Dir || len(was.Args) != len(now.Args) {
		return nil, false
	}
	path := e.at()
	field := e.src.fields.Args
	if e.src.fields.Argv {
		field = e.src.fields.Command
	}
	args, _ := member(e.src.node, field)
	old := words(args)
	shift := len(old) - len(was.Args)
	for i, word := range now.Args {
		if word == was.Args[i] {
			continue
		}
		if shift < 0 || len(args.Items()) != len(old) || !slices.Equal(old[shift:], was.Args) {
			return nil, false
		}
		edit = append(edit, set(word, path, field, shift+i))
	}
	env, _ := member(e.src.node, e.src.fields.Env)
	for _, pair := range now.Env {
		name, value, _ := strings.Cut(pair, "=")
		if slices.Contains(was.Env, pair) {
			continue
		}
		if e.src.fields.Env == "" || !slices.Contains(was.Env, name+"="+textOf(env, name)) {
			return nil, false
		}
		edit = append(edit, set(value, path, append(steps(e.src.fields.Env), name)...))
	}
	return edit, len(edit) > 0
}

// SlowStart lets a client wait at least this long for a server to start. It returns false if the
// client has no setting for that, or already waits as long.
func (c *Config) SlowStart(e *Entry, wait time.Duration) (edit Edit, ok bool) {
	t, has := e.src.fields.start()
	if c.unparsed() || !has || e.Start >= wait {
		return nil, false
	}
	if m, set := member(e.src.outer, t.Field); set && m.Kind() == splice.MapKind {
		return nil, false
	}
	return Edit{set(t.count(wait), e.Path, t.Field)}, true
}

// start returns the timeout for the start of a server.
func (f Fields) start() (Timeout, bool) {
	i := slices.IndexFunc(f.Timeouts, func(t Timeout) bool { return t.Start })
	if i < 0 {
		return Timeout{}, false
	}
	return f.Timeouts[i], true
}

// CallTimeout returns how long the client waits for an answer without a timeout in the entry, zero if unknown.
func (f Fields) CallTimeout() time.Duration {
	i := slices.IndexFunc(f.Timeouts, func(t Timeout) bool { return !t.Start })
	if i < 0 {
		return 0
	}
	return f.Timeouts[i].Default
}

// count returns a duration in the units of the timeout, rounded up.
func (t Timeout) count(limit time.Duration) int {
	if t.Max > 0 {
		limit = min(limit, t.Max)
	}
	return int((limit + t.Unit - 1) / t.Unit)
}
