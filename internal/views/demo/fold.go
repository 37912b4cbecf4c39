package demo

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// width is the number of columns that every terminal has.
const width = 80

// fold wraps text at spaces so that it fits after margin columns. It keeps words and runs of spaces
// whole, and does not count color codes.
func fold(text string, margin int) string {
	var b strings.Builder
	column := margin
	for i, word := range strings.Split(text, " ") {
		n := ansi.StringWidth(word)
		switch {
		case i == 0:
		case column+1+n > width && column > margin:
			b.WriteString("\n" + strings.Repeat(" ", margin))
			column = margin
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
