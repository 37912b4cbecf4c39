package plaintext

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Visible makes visible what a terminal or dialog would not show: invisible characters, gaps that could
// draw lines of their own, and letters of another script that look like Latin ones in a Latin word.
// Different texts stay different.
func Visible(text string) string { return visibleParts().ReplaceAllStringFunc(text, visiblePart) }

// visibleParts matches words, gaps, and all other characters one by one.
var visibleParts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)[\pL\pM\pN]+| {3,}|.`) })

func visiblePart(part string) string {
	if strings.HasPrefix(part, "   ") {
		return fmt.Sprintf("‹%d spaces›", len(part))
	}
	latin := strings.ContainsFunc(part, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
	var b strings.Builder
	for i, r := range part {
		alone := i == 0 && unicode.IsMark(r) // it would be drawn on what is before the word
		if r == '‹' || alone || Unseen(r) || latin && unicode.In(r, likeLatin...) {
			fmt.Fprintf(&b, "‹U+%04X›", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// likeLatin are the scripts with letters that look like Latin ones.
var likeLatin = []*unicode.RangeTable{unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu}
