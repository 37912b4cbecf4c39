package clientconfig

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/splice"
)

// Reword changes single arguments and variables of an entry from what they are in one Spec to what
// they are in another, also inside gauze run. It returns false if the Specs differ in anything else,
// or if the file does not contain a value as the client uses it, such as when it is a reference.
func (c *Config) Reword(e *Entry, from, to launch.Spec) (edit Edit, ok bool) {
	if c.Doc == nil || from.Command != to.Command || from.URL != to.URL || len(from.Args) != len(to.Args) {
		return nil, false
	}
	f, path := e.fields, e.Path
	if inner, nested := member(e.outer, f.Nest); nested && inner.Kind() == splice.MapKind {
		path = below(path, f.Nest)
	}
	field := f.Args
	if f.Argv {
		field = f.Command
	}
	written, _ := member(e.node, field)
	for i, word := range from.Args {
		if word == to.Args[i] {
			continue
		}
		at, only := onlyIndex(written, word)
		if !only {
			return nil, false
		}
		edit = append(edit, set(to.Args[i], path, append(steps(field), at)...))
	}
	variables, _ := member(e.node, f.Env)
	for _, pair := range to.Environment() {
		name, value, _ := strings.Cut(pair, "=")
		if slices.Contains(from.Environment(), pair) {
			continue
		}
		if was := textOf(variables, name); f.Env == "" || was == "" || !slices.Contains(from.Environment(), name+"="+was) {
			return nil, false
		}
		edit = append(edit, set(value, path, append(steps(f.Env), name)...))
	}
	return edit, len(edit) > 0
}

// onlyIndex returns where a list contains a string, and whether it does so exactly once.
func onlyIndex(list splice.Node, word string) (at int, only bool) {
	found := 0
	for i, item := range list.Items() {
		if s, ok := text(item); ok && s == word {
			at = i
			found++
		}
	}
	return at, found == 1
}
