package splice

import (
	"slices"
	"strings"
)

// Edits between brackets, which are the same in JSON, TOML and YAML: entries,
// commas, and comments around them. A new entry begins a line if its neighbour
// does.

// trivia skips white space and comments.
func (d *Document) trivia(at int) int { return skipTrivia(d.format, d.text, at) }

func skipTrivia(f Format, text string, at int) int {
	for {
		at = skipWhite(text, at)
		end := skipComment(f, text, at)
		if end == at {
			return at
		}
		at = end
	}
}

// skipComment returns the end of the comment at a position, or the position if there is none that ends.
func skipComment(f Format, text string, at int) int {
	rest := text[min(at, len(text)):]
	switch isJSON := f == JSON || f == JSONC; {
	case isJSON && strings.HasPrefix(rest, "/*"):
		if end := strings.Index(rest[2:], "*/"); end >= 0 {
			return at + 2 + end + 2
		}
	case isJSON && strings.HasPrefix(rest, "//"):
		if end := strings.IndexAny(rest, "\r\n"); end >= 0 {
			return at + end
		}
		return len(text)
	case !isJSON && strings.HasPrefix(rest, "#"):
		return lineEnd(text, at)
	}
	return at
}

// trimmedTail returns the end of what is on the line, if only white space and comments
// follow; otherwise it returns at.
func (d *Document) trimmedTail(at int) (int, bool) {
	for p := at; ; {
		p = skipSpace(d.text, p)
		if endsLine(d.text, p) {
			return at + len(strings.TrimRight(d.text[at:p], " \t")), true
		}
		end := skipComment(d.format, d.text, p)
		if end == p || strings.Contains(d.text[p:end], "\n") {
			return at, false
		}
		p = end
	}
}

// commaAfter returns the position of the comma after an entry, or -1.
func (d *Document) commaAfter(c *child) int {
	if at := d.trivia(c.node.end); at < len(d.text) && d.text[at] == ',' {
		return at
	}
	return -1
}

func (e *editor) insertBracketed(at *place, index int, fresh Map) {
	n, text := at.node, e.d.text
	n.refuseDotted()
	p := e.printer(n)
	if len(n.children) == 0 {
		e.insertFirst(at, p, fresh)
		return
	}
	beside := &n.children[min(index, len(n.children)-1)]
	indent, ownLine := margin(text, beside.start)
	entries := p.entries(n.filledWith(fresh), n, indent, ownLine && e.d.isJSON())
	lead := p.style.gap
	if ownLine {
		lead = p.nl + indent
	}
	switch {
	case index < len(n.children):
		// Insert after the previous entry, so that a comment above beside stays
		// with it.
		from := n.start + 1
		if index > 0 {
			from = e.d.commaAfter(&n.children[index-1]) + 1
		}
		if end, clean := e.d.trimmedTail(from); clean && ownLine {
			e.patch(end, end, lead+strings.Join(entries, ","+lead)+",")
		} else {
			e.patch(beside.start, beside.start, strings.Join(entries, ","+lead)+","+lead)
		}
	case e.d.commaFirst(beside) && e.d.commaAfter(beside) < 0:
		lead = p.nl + text[lineStart(text, beside.start):beside.start]
		end, _ := e.d.trimmedTail(beside.node.end)
		e.patch(end, end, lead+strings.Join(entries, lead))
	default:
		comma := e.d.commaAfter(beside)
		from := beside.node.end
		if comma >= 0 {
			from = comma + 1
		} else {
			e.patch(from, from, ",")
		}
		if ownLine {
			from, _ = e.d.trimmedTail(from)
		}
		with := lead + strings.Join(entries, ","+lead)
		if comma >= 0 {
			with += ","
		}
		e.patch(from, from, with)
	}
}

// reasonDottedInline is why inline tables with dotted keys are not edited.
const reasonDottedInline = "the value is in an inline table with dotted keys"

func (n *node) refuseDotted() {
	if slices.ContainsFunc(n.children, func(c child) bool { return c.node.scattered }) {
		refuse(reasonDottedInline)
	}
}

// insertFirst adds entries to empty brackets.
func (e *editor) insertFirst(at *place, p *printer, fresh Map) {
	n, text := at.node, e.d.text
	inner := text[n.start+1 : n.end-1]
	indent := indentOf(text, n.start)
	want := n.filledWith(fresh)
	if strings.Contains(inner, "\n") {
		lead := p.nl + indent + p.style.unit
		from := n.start + 1
		if _, own := margin(text, n.end-1); own {
			from = max(from, prevLineEnd(text, lineStart(text, n.end-1)))
		} else {
			from, _ = e.d.trimmedTail(from)
		}
		e.patch(from, from, lead+strings.Join(p.entries(want, n, indent+p.style.unit, e.d.isJSON()), ","+lead))
		return
	}
	if strings.TrimSpace(inner) != "" { // a comment
		end := n.start + 1 + len(strings.TrimRight(inner, " \t"))
		e.patch(end, end, " "+strings.Join(p.entries(want, n, indent, false), ","+p.style.gap))
		return
	}
	var model *node
	wide := e.d.format != YAML && !p.inInline(at)
	if at.parent != nil {
		model = at.parent.model(want, at.child().name)
		_, own := margin(text, at.child().start)
		wide = wide && own
	}
	if inner != "" && !wide {
		p.style.pad, p.style.listPad = inner, inner
	}
	e.patch(n.start, n.end, p.flow(want, model, indent, wide))
}

func (e *editor) removeBracketed(n *node, gone []int) {
	d, text := e.d, e.d.text
	n.refuseDotted()
	if len(gone) == len(n.children) && !d.commented(n) {
		e.patch(n.start+1, n.end-1, "")
		return
	}
	stays := len(n.children) - 1 // the last entry that stays
	for at := len(gone) - 1; at >= 0 && gone[at] == stays; at-- {
		stays--
	}
	for _, i := range gone {
		c := &n.children[i]
		comma := d.commaAfter(c)
		end := c.node.end
		if comma >= 0 && strings.TrimSpace(text[end:comma]) == "" {
			end = comma + 1
		}
		_, ownLine := margin(text, c.start)
		lineEnd, clean := d.trimmedTail(end)
		if after, alone := d.trimmedTail(c.node.end); alone && d.commaFirst(c) {
			// Remove the comma before it. The one after it belongs to the next entry.
			e.dropLines(c.start, after)
			continue
		}
		if comma > end {
			e.patch(comma, comma+1, "")
		}
		switch {
		case ownLine && clean:
			e.dropLines(c.start, lineEnd)
		case i < stays:
			if clean && lineEnd > end {
				e.patch(c.start, lineEnd, "")
			} else {
				e.patch(c.start, skipWhite(text, end), "")
			}
		default:
			start, from := c.start, n.start+1
			if i > 0 {
				from = n.children[i-1].node.end
			}
			commented := !d.blankOrComma(from, c.start) // a comment may need its newline
			for start > from && isBlank(text[start-1]) && !(commented && text[start-1] == '\n') {
				start--
			}
			e.patch(start, end, "")
		}
	}
	last := len(n.children) - 1
	if stays >= 0 && stays < last && d.commaAfter(&n.children[last]) < 0 {
		comma := d.commaAfter(&n.children[stays])
		e.patch(comma, comma+1, "")
	}
}

// commaFirst reports whether the line of an entry begins with a comma.
func (d *Document) commaFirst(c *child) bool {
	before, _ := margin(d.text, c.start)
	at := c.start - len(before)
	if at == 0 || d.text[at-1] != ',' {
		return false
	}
	_, own := margin(d.text, at-1)
	return own
}

// blankOrComma reports whether there is at most a comma, and so no comment,
// between two positions.
func (d *Document) blankOrComma(from, to int) bool {
	between := strings.TrimSpace(d.text[from:to])
	return between == "" || between == ","
}

// commented reports whether there is a comment between the entries of n.
func (d *Document) commented(n *node) bool {
	at := n.start + 1
	for i := range n.children {
		if !d.blankOrComma(at, n.children[i].start) {
			return true
		}
		at = n.children[i].node.end
	}
	return !d.blankOrComma(at, n.end-1)
}
