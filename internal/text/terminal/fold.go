package terminal

import (
	"strings"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// columns is the number of columns that every terminal has.
const columns = 80

// Fold wraps text at spaces for every terminal, after an indent of four.
func Fold(text string) string { return plaintext.Fold(text, columns-4) }

// FoldAfter wraps text for every terminal; every line but the first begins with margin, which begins
// with a newline.
func FoldAfter(text, margin string) string {
	return strings.ReplaceAll(plaintext.Fold(text, max(20, columns+1-utf8.RuneCountInString(margin))), "\n", margin)
}

// Indent puts four spaces before every line.
func Indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

// FoldList breaks a list after its commas into lines of a width.
func FoldList(list, indent string, width int) string {
	var b strings.Builder
	used := 0
	for i, part := range strings.Split(list, ", ") {
		n := utf8.RuneCountInString(part)
		switch {
		case i == 0:
			b.WriteString(indent)
			used = len(indent)
		case used+len(", ")+n+len(",") > width:
			b.WriteString(",\n" + indent)
			used = len(indent)
		default:
			b.WriteString(", ")
			used += len(", ")
		}
		b.WriteString(part)
		used += n
	}
	return b.String()
}

// Short returns at most a number of characters of a text, marked with an ellipsis if it is cut.
func Short(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
