package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Reader collects the problems of a file while it is read. A value with a problem is read as a zero
// value.
type Reader struct{ Problems Problems }

// Report adds a problem.
func (r *Reader) Report(at Position, format string, args ...any) {
	r.Problems = append(r.Problems, problemAt(at, fmt.Sprintf(format, args...)))
}

// Expect reports whether a node is of this kind, and adds a problem if not.
func (r *Reader) Expect(n *Node, want Kind, what, example string) bool {
	if n.Kind == want && (want != IsScalar || n.Scalar != nil) {
		return true
	}
	r.Report(n.Position, "%s must be %s, not %s", what, example, n.Says())
	return false
}

// Text returns a string that must not be empty.
func (r *Reader) Text(n *Node, what string) string {
	s, ok := n.Scalar.(string)
	if n.Kind == IsScalar && ok && strings.TrimSpace(s) == "" {
		r.Report(n.Position, "%s must not be empty", what)
		return ""
	}
	if n.Kind != IsScalar || !ok {
		r.Report(n.Position, "%s must be a string, not %s", what, n.Says())
		return ""
	}
	return s
}

// FieldsOf calls the function for each key of a mapping. Unknown keys are reported with the closest
// match.
func (r *Reader) FieldsOf(n *Node, what string, read map[string]func(*Node)) (seen map[string]bool) {
	seen = map[string]bool{}
	if !r.Expect(n, IsMapping, what, "a mapping") {
		return seen
	}
	known := slices.Sorted(maps.Keys(read))
	for _, f := range n.Fields {
		if read[f.Name] == nil {
			if hint := DidYouMean(f.Name, known); hint != "" {
				r.Report(f.Position, "unknown key %q in %s%s", redact.Quote(f.Name), what, hint)
			} else {
				r.Report(f.Position, "unknown key %q in %s: must be one of %s", redact.Quote(f.Name), what, strings.Join(known, ", "))
			}
			for _, near := range plaintext.Nearest(f.Name, known) {
				seen[near] = true // one report for one mistake
			}
			continue
		}
		seen[f.Name] = true
		read[f.Name](f.Value)
	}
	return seen
}

// Words returns a list of strings that is not empty.
func (r *Reader) Words(n *Node, what, example string) (words []string) {
	switch {
	case n.Kind != IsList:
		r.Report(n.Position, "%s must be a list of strings such as %s, not %s", what, example, n.Says())
	case len(n.Items) == 0:
		r.Report(n.Position, "%s is empty: it must be a list of strings such as %s", what, example)
	}
	for _, item := range n.Items {
		switch v := item.Scalar.(type) {
		case string:
			words = append(words, v)
		case json.Number:
			words = append(words, v.String())
		default:
			r.Report(item.Position, "%s must contain only strings, not %s: put the value in quotes", what, item.Says())
		}
	}
	return words
}

// Count returns a whole number of at least 1.
func (r *Reader) Count(n *Node, what string, most int) int {
	number, ok := n.Scalar.(json.Number)
	value, err := number.Int64()
	if isWhole := ok && err == nil; !isWhole || value < 1 || value > int64(most) {
		r.Report(n.Position, "invalid %s: must be a whole number between 1 and %d", what, most)
		return 0
	}
	return int(value)
}

// Duration returns a time that is longer than 0.
func (r *Reader) Duration(n *Node, what string) time.Duration {
	text, _ := n.Scalar.(string)
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		r.Report(n.Position, "invalid %s: must be a duration such as 90s, 10m or 2h", what)
		return 0
	}
	return d
}

// OneOf returns which words are allowed, with a suggestion if there are several.
func OneOf(word string, choices []string) string {
	if len(choices) == 1 {
		return "must be " + choices[0]
	}
	return "must be one of " + strings.Join(choices, ", ") + DidYouMean(word, choices)
}

// DidYouMean returns a suggestion to add to a message, or nothing.
func DidYouMean(word string, choices []string) string {
	choices = slices.DeleteFunc(slices.Clone(choices), func(c string) bool { return c == "" })
	if near := plaintext.Nearest(word, choices); len(near) > 0 {
		return fmt.Sprintf("; did you mean %q?", near[0])
	}
	return ""
}
