package terminal

import (
	"strings"
	"unicode/utf8"
)

// Table returns rows of cells as lines with aligned columns, and the width of the widest line. style
// is nil, or colors a cell of a row.
func Table(rows [][]string, style func(row, column int, cell string) string) (text string, widest int) {
	const gap = 2
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, width := range widths {
		widest += width + gap
	}
	var b strings.Builder
	for n, row := range rows {
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+gap)
			if i == len(row)-1 {
				padding = ""
			}
			if style != nil {
				cell = style(n, i, cell)
			}
			b.WriteString(cell + padding)
		}
		b.WriteByte('\n')
	}
	return b.String(), max(0, widest-gap)
}
