package repair

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// ToolName returns the tool that was meant by a name that no tool has. The names must be equal
// except for case and separators, or one must be the other in a namespace (github.create_issue),
// and only one tool may match. A similar name is never enough; see SimilarNames.
func ToolName(called string, tools []string) (name string, ok bool) {
	for _, fits := range []func(called, tool string) bool{SameName, sameInNamespace} {
		var found []string
		for _, tool := range tools {
			if fits(called, tool) && !slices.Contains(found, tool) {
				found = append(found, tool)
			}
		}
		if len(found) > 0 {
			return found[0], len(found) == 1
		}
	}
	return "", false
}

// SameName reports whether two names of tools differ only in case and separators.
func SameName(called, tool string) bool {
	return foldKey(called) != "" && foldKey(called) == foldKey(tool)
}

func sameTail(called, tool string) bool {
	a, b := segments(called), segments(tool)
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) > 0 && slices.Equal(a, b[len(b)-len(a):])
}

// sameInNamespace reports whether one name is the other with a namespace. A prefix that is only a
// word may be a verb: delete_user is not user.
func sameInNamespace(called, tool string) bool {
	if len(called) > len(tool) {
		called, tool = tool, called
	}
	for i := range tool {
		if rest := cutNamespace(tool[i:]); rest != "" && i > 0 && slices.Equal(segments(called), segments(rest)) {
			return len(segments(called)) > 0 && !slices.ContainsFunc(segments(tool[:i]), isAction)
		}
	}
	return false
}

// isAction reports whether a word names an action or negates one, and so cannot be a namespace.
func isAction(word string) bool { return actions[word] }

var actions = wordSet(`delete drop remove destroy erase clear purge wipe reset revoke cancel close archive unarchive
	create add insert new make build write save update edit patch put set change modify replace rename move copy merge append
	get list read find search fetch show view query count describe check validate verify
	send post publish submit share upload download import export sync push pull commit
	run execute exec start stop restart kill pause resume enable disable lock unlock approve reject accept decline
	buy sell pay refund charge order book transfer grant deny invite
	undo redo un no not non never dry test preview draft simulate mock fake try what if bulk all force`)

// cutNamespace returns the text after a namespace separator at its start, or nothing.
func cutNamespace(text string) string {
	for _, separator := range []string{"__", ".", ":", "/"} {
		if rest, ok := strings.CutPrefix(text, separator); ok {
			return rest
		}
	}
	return ""
}

// segments splits a name into words, at separators and before an upper-case letter that follows a
// lower-case one.
func segments(name string) []string {
	var b strings.Builder
	small := false
	for _, r := range name {
		if unicode.IsUpper(r) && small {
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r) || unicode.IsDigit(r)
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		} else {
			b.WriteByte(' ')
		}
	}
	return strings.Fields(b.String())
}

// SimilarNames returns up to n names that a name may be a misspelling of, or that share a word with
// it which fewer than half of the names have, the most similar first. A name that says the opposite
// is not similar.
func SimilarNames(called string, names []string, n int) []string {
	common := make(map[string]int)
	for _, name := range names {
		for _, word := range nameWords(name) {
			common[word]++
		}
	}
	words := slices.DeleteFunc(nameWords(called), func(word string) bool {
		return len(word) < 3 || isAction(word) || 2*common[word] >= len(names)
	})
	similar := func(name string) bool {
		if hasOpposite(called, name) || negates(called, name) {
			return false
		}
		misspelled := distance(fold(called), fold(name)) <= len(fold(called))/3
		return misspelled || slices.ContainsFunc(nameWords(name), func(word string) bool { return slices.Contains(words, word) })
	}
	return NearestNames(called, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !similar(name) }), n)
}

// negates reports whether one name has a word of the other with a prefix that reverses it.
func negates(a, b string) bool {
	x, y := segments(a), segments(b)
	reverses := func(words []string) func(string) bool {
		return func(word string) bool {
			return slices.ContainsFunc([]string{"un", "dis", "de"}, func(prefix string) bool { return slices.Contains(words, prefix+word) })
		}
	}
	return slices.ContainsFunc(x, reverses(y)) || slices.ContainsFunc(y, reverses(x))
}

// NearestNames returns the n names that are most similar to a name.
func NearestNames(called string, names []string, n int) []string {
	far := make(map[string]int, len(names))
	for _, name := range names {
		far[name] = distance(fold(called), fold(name))
		if words := segments(name); len(words) > 1 && len(names) <= 1000 { // without its first word, or namespace
			far[name] = min(far[name], 1+distance(fold(called), strings.Join(words[1:], "")))
		}
	}
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(a, b string) int {
		return cmp.Or(far[a]-far[b], strings.Compare(a, b))
	})
	return sorted[:min(n, len(sorted))]
}

// distance returns the edit distance of two strings, of which only the beginnings count.
func distance(a, b string) int { return plaintext.Distance(bounded(a, 64), bounded(b, 64)) }
