package doctor

import (
	"regexp"
	"strings"
	"sync"
)

// reference is a reference to a variable, in the syntax of one of the clients or shells.
type reference struct {
	from, to int
	name     string
	fallback string // ${NAME:-fallback}
	asked    bool   // ${input:NAME}: the client should have asked the user for it
	bare     bool   // $NAME, which may also be part of a password
}

var referenceShape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][\w.]*)(?::?-([^}]*))?\}` + // Claude, VS Code, Cursor, compose
		`|\$?\{input:([\w.-]+)\}` + // VS Code
		`|\{env:([A-Za-z_]\w*)\}` + // OpenCode
		`|\{\{\s*(?:env\.)?([A-Za-z_]\w*)\s*\}\}` +
		`|%([A-Za-z_]\w+)%` + // cmd.exe
		`|\$(?:env:)?([A-Za-z_]\w*)`) // shells
})

// references returns the references in a string, at most 32.
func references(text string) []reference {
	if !strings.ContainsAny(text, "${%") {
		return nil
	}
	var all []reference
	for _, at := range referenceShape().FindAllStringSubmatchIndex(text, 32) {
		group := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return text[at[2*n]:at[2*n+1]]
		}
		r := reference{from: at[0], to: at[1], fallback: group(2), asked: group(3) != "", bare: group(7) != ""}
		for _, n := range []int{1, 3, 4, 5, 6, 7} {
			r.name += group(n)
		}
		// A bare reference counts only where a whole value is expected.
		if before := text[:r.from]; r.bare && (r.to < len(text) && !strings.ContainsRune(`/\: `, rune(text[r.to])) || before != "" && !strings.ContainsRune("=: ", rune(before[len(before)-1]))) {
			continue
		}
		all = append(all, r)
	}
	return all
}

// expand replaces the known references in a string and leaves the others.
func expand(text string, known func(reference) (string, bool)) string {
	var b strings.Builder
	last := 0
	for _, r := range references(text) {
		if value, ok := known(r); ok {
			b.WriteString(text[last:r.from])
			b.WriteString(value)
			last = r.to
		}
	}
	b.WriteString(text[last:])
	return b.String()
}

// expandPlain expands as compose does: a reference becomes its variable or its fallback.
func expandPlain(text string, variable func(string) string) string {
	return expand(text, func(r reference) (string, bool) {
		if value := variable(r.name); value != "" {
			return value, true
		}
		return r.fallback, true
	})
}
