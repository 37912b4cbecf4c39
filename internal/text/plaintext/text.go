package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Width is the width of a line that fits every terminal.
const Width = 78

// Wrap breaks prose at spaces into lines that fit every terminal, each after an indent. Words
// longer than a line stay whole: a broken path cannot be copied.
func Wrap(s, indent string) string {
	folded := Fold(s, Width-len(indent))
	if folded == "" {
		return ""
	}
	return indent + strings.ReplaceAll(folded, "\n", "\n"+indent)
}

// Fold breaks prose at spaces into lines of at most width characters, unless a word is longer.
func Fold(s string, width int) string {
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case at == 0:
		case at+1+n > width:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// Count returns a number with its noun: "1 tool", "2 tools".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// UpperFirst returns s with its first letter in upper case.
func UpperFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if first == utf8.RuneError {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

// Cap returns at most limit bytes of s, cut between characters and marked with an ellipsis.
func Cap(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimRight(s[:end], " ") + "…"
}
