package clientconfig

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/splice"
)

// Healed writes what made a server work into its entry: a different program, arguments before its
// own, a URL, variables (only those in Env), a transport. Fields that need not change stay as they
// are, including references. It returns false if it cannot express the change this way.
func (c *Config) Healed(e *Entry, s launch.Spec, spoken Transport) (edit Edit, ok bool) {
	f, path := e.fields, e.Path
	if inner, nested := member(e.outer, f.Nest); nested && inner.Kind() == splice.MapKind {
		path = below(path, f.Nest)
	}
	switch {
	case c.Doc == nil || e.Wrapped:
		return nil, false
	case s.URL != "" && s.URL != e.Spec.URL:
		if e.Spec.URL == "" || e.url() != e.Spec.URL { // a program or a reference needs a manual change
			return nil, false
		}
		edit = append(edit, set(s.URL, path, e.urlField()))
	case c.shared() && s.Command != e.Spec.Command && filepath.IsAbs(s.Command):
		return nil, false // where one person has the program
	case s.Command != "" && (s.Command != e.Spec.Command || !slices.Equal(s.Args, e.Spec.Args)):
		more, ok := c.healedWords(e, s, path)
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
	if words := map[Transport][]string{HTTP: f.HTTP, SSE: f.SSE}[spoken]; spoken != "" && f.Type != "" && len(words) > 0 {
		edit = append(edit, set(words[0], path, f.Type))
	}
	return edit, len(edit) > 0
}

// healedWords changes the command. Existing arguments stay as written, at the end.
func (c *Config) healedWords(e *Entry, s launch.Spec, path []any) (Edit, bool) {
	added := len(s.Args) - len(e.Spec.Args)
	if added < 0 || !slices.Equal(s.Args[added:], e.Spec.Args) {
		return nil, false
	}
	front := append([]string{s.Command}, s.Args[:added]...)
	command, _ := member(e.node, e.fields.Command)
	if e.fields.Argv {
		old := words(command)
		if command.Kind() != splice.ListKind || len(old) == 0 {
			return nil, false
		}
		return Edit{set(list(append(front, old[1:]...)), path, e.fields.Command)}, true
	}
	if command.Kind() != splice.StringKind {
		return nil, false
	}
	edit := Edit{set(front[0], path, e.fields.Command)}
	if added > 0 {
		args, _ := member(e.node, e.fields.Args)
		edit = append(edit, set(list(append(front[1:], words(args)...)), path, e.fields.Args))
	}
	return edit, true
}

// ReplaceSpec replaces the command or the URL of an entry and leaves its other fields unchanged. It
// returns false if a command would have to become a URL or vice versa.
func (c *Config) ReplaceSpec(e *Entry, s launch.Spec) (edit Edit, ok bool) {
	f, path := e.fields, e.Path
	if inner, nested := member(e.outer, f.Nest); nested && inner.Kind() == splice.MapKind {
		path = below(path, f.Nest)
	}
	command, _ := member(e.node, f.Command)
	switch {
	case c.Doc == nil || e.Wrapped || (s.URL == "") != (e.Spec.URL == ""):
		return nil, false
	case s.URL != "":
		return Edit{set(s.URL, path, e.urlField())}, true
	case f.Argv && command.Kind() == splice.ListKind:
		return Edit{set(list(append([]string{s.Command}, s.Args...)), path, f.Command)}, true
	case command.Kind() != splice.StringKind:
		return nil, false
	}
	if s.Command != e.Spec.Command {
		edit = append(edit, set(s.Command, path, f.Command))
	}
	if !slices.Equal(s.Args, e.Spec.Args) {
		edit = append(edit, set(list(s.Args), path, f.Args))
	}
	return edit, len(edit) > 0
}
