package upfile

import (
	"path"
	"slices"
	"strings"
)

// Filter selects tools by globs over their names: * is any text, ? one character, [a-z] one of these.
type Filter struct {
	Allow []string // empty: all
	Deny  []string // takes precedence over Allow
}

// Admits reports whether a tool is selected.
func (f Filter) Admits(tool string) bool {
	return (len(f.Allow) == 0 || matches(f.Allow, tool)) && !matches(f.Deny, tool)
}

// matches reports whether one of the globs matches a name. A slash is a character like any other: a
// tool must not escape *delete* because its name has one.
func matches(globs []string, name string) bool {
	name = plain(name)
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, _ := path.Match(plain(glob), name) // Read has checked the syntax
		return ok
	})
}

func plain(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
