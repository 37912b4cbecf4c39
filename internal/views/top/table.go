package top

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
)

// column is one column of a table.
type column struct {
	title  string
	right  bool // aligned to the right
	rank   int  // how soon the column is left out if the terminal is narrow; 0: never
	least  int  // the width to which the column can shrink; 0: it does not
	hidden bool // the column is left out
}

// table is rows of cells, one for each column.
type table struct {
	columns []column
	rows    [][]string
}

const (
	gap    = 2 // between two columns, and before the first, where the selected row is marked
	marker = "> "
)

// widths returns the width of each column so that a line fits; 0: the column is left out.
func (t table) widths(width int) []int {
	natural := make([]int, len(t.columns))
	for i, c := range t.columns {
		if c.hidden {
			continue
		}
		natural[i] = ansi.StringWidth(c.title)
		for _, row := range t.rows {
			natural[i] = max(natural[i], ansi.StringWidth(row[i]))
		}
	}
	out := slices.Clone(natural)
	used := 0
	for i, c := range t.columns {
		if c.least > 0 {
			out[i] = min(natural[i], c.least)
		}
		if !c.hidden {
			used += gap + out[i]
		}
	}
	for used > width {
		last := -1
		for i, c := range t.columns {
			if out[i] > 0 && c.rank > 0 && (last < 0 || c.rank > t.columns[last].rank) {
				last = i
			}
		}
		if last < 0 {
			break
		}
		used -= gap + out[last]
		out[last] = 0
	}
	for grown := true; grown && used < width; { // what is left goes to those that were shortened
		grown = false
		for i := range out {
			if out[i] > 0 && out[i] < natural[i] && used < width {
				out[i]++
				used++
				grown = true
			}
		}
	}
	return out
}

// line returns one row. style may color a cell of the given column.
func (t table) line(widths []int, row []string, style func(column int, cell string) string) string {
	var b strings.Builder
	for i, cell := range row {
		if widths[i] == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		cell = fit(cell, widths[i], t.columns[i].right)
		if style != nil {
			cell = style(i, cell)
		}
		b.WriteString(cell)
	}
	return b.String()
}

// window returns which of n rows to show so that row at is visible.
func window(at, n, height int) (first, end int) {
	first = max(0, min(at-height/2, n-height))
	return first, min(n, first+height)
}

// head returns the line of titles.
func (t table) head(widths []int) string {
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	return t.line(widths, titles, nil)
}

// fit pads or shortens a text to a width.
func fit(text string, width int, right bool) string {
	text = short(text, width)
	padding := strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
	if right {
		return padding + text
	}
	return text + padding
}

func short(text string, width int) string { return ansi.Truncate(text, max(0, width), "…") }

// clean makes foreign text safe to show in a cell.
func clean(text string) string { return plaintext.Clean(text) }

// cleanLines makes foreign text of several lines safe, and breaks lines that are too long.
func cleanLines(text, indent string, width int) (lines []string) {
	for line := range strings.Lines(text) {
		inner := line[:len(line)-len(strings.TrimLeft(line, " "))]
		inner = indent + inner[:min(len(inner), 8)]
		wrapped := ansi.Wrap(clean(line), max(1, width-len(inner)), "")
		for part := range strings.SplitSeq(wrapped, "\n") {
			lines = append(lines, strings.TrimRight(inner+part, " "))
		}
	}
	return lines
}

// in returns a text in a style. Lines leaves out the colors if the user does not want any.
func in(style terminal.Style, text string) string {
	if text == "" {
		return ""
	}
	return terminal.Paint(true).In(style, text)
}
